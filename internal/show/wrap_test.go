// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zäß世-]{1,12}`), 1, 40).Draw(t, "words"), " ")
		width := rapid.IntRange(1, 120).Draw(t, "width")
		got := show.Wrap(line, width, "    ")
		if strings.Join(strings.Fields(strings.Join(got, " ")), " ") != line {
			t.Errorf("%q became %q", line, got)
		}
		for i, l := range got {
			if show.Width(l) > width && strings.Contains(strings.TrimSpace(l), " ") {
				t.Errorf("line %d of %q is wider than %d", i, got, width)
			}
			if l != strings.TrimRight(l, " ") {
				t.Errorf("line %q ends in spaces", l)
			}
		}
	})
}
