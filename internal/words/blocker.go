// SPDX-License-Identifier: Apache-2.0

package words

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Blocker is a blocker in one line: "demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN since 12s". With a zero now the age is left out.
func Blocker(b matrix.Blocker, now time.Time) string { return Text(b.Message()) + Since(b.Since, now) }

// Group is a group in one line: "rack3-0 (1ffac2bb) is seen DOWN by rack1-0, rack2-0, rack2-1 and 7 more since 12s". With a zero now the age is left out.
func Group(g matrix.Group, now time.Time) string { return Text(g.Message()) + Since(g.Since, now) }

// Verdict is a verdict in one sentence that begins with the member's name: "demo-rack4-0 must wait: ...".
func Verdict(v bootstrap.Verdict) string { return v.Self.Name() + " " + Text(v.Summary) }
