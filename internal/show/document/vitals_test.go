// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"math"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 13314398617: "12.4 GiB", 3 << 40: "3.0 TiB", math.MaxInt64: "8.0 EiB",
	} {
		if got := document.Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestVitalsAreNotInvented: what a node did not say is empty, and nothing is something else.
func TestVitalsAreNotInvented(t *testing.T) {
	if up, load, tokens := document.VitalsTexts(cluster.Vitals{}); up+load+tokens != "" {
		t.Errorf("nothing said: %q %q %q", up, load, tokens)
	}
	v := cluster.Vitals{UptimeSeconds: new(int64(0)), LoadBytes: new(int64(0)), Tokens: new(0)}
	if up, load, tokens := document.VitalsTexts(v); up != "0s" || load != "0 B" || tokens != "0" {
		t.Errorf("zero said: %q %q %q", up, load, tokens)
	}
}
