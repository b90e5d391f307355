// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

func TestPlace(t *testing.T) {
	labels := map[string]string{api.LabelDatacenter: "dc1", api.LabelRack: "rack1"}
	tests := map[string]struct {
		name   string
		labels map[string]string
		want   matrix.Ref
	}{
		"all there":              {"demo-rack1-2", labels, matrix.Ref{Member: "demo-rack1-2", Datacenter: "dc1", Rack: "rack1", Ordinal: new(int32(2))}},
		"leading zeros":          {"demo-007", labels, matrix.Ref{Member: "demo-007", Datacenter: "dc1", Rack: "rack1", Ordinal: new(int32(7))}},
		"the largest ordinal":    {"demo-2147483647", nil, matrix.Ref{Member: "demo-2147483647", Ordinal: new(int32(2147483647))}},
		"one more":               {"demo-2147483648", nil, matrix.Ref{Member: "demo-2147483648"}},
		"wrapping around":        {"demo-4294967297", nil, matrix.Ref{Member: "demo-4294967297"}},
		"no dash":                {"7", nil, matrix.Ref{Member: "7"}},
		"no digits":              {"demo-", nil, matrix.Ref{Member: "demo-"}},
		"words":                  {"demo-x", nil, matrix.Ref{Member: "demo-x"}},
		"a sign is not a number": {"demo-+1", nil, matrix.Ref{Member: "demo-+1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Place(tc.name, tc.labels)); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzPlace: a place is read from any Service name, and only from digits after a dash.
func FuzzPlace(f *testing.F) {
	for _, name := range []string{"demo-rack1-0", "demo", "demo-", "demo-007", "demo-4294967297", "demo--1", "-5", "demo-٣"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r := Place(name, nil)
		if r.Ordinal == nil {
			return
		}
		if *r.Ordinal < 0 {
			t.Errorf("Place(%q) has ordinal %d", name, *r.Ordinal)
		}
	})
}
