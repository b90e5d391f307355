// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// sameDecoding compares the short way with the only other decoder of annotations, on a decoder that has seen before as well.
func sameDecoding(t interface {
	Helper()
	Fatalf(string, ...any)
}, d *Decoder, value string) {
	t.Helper()
	want, wantErr := api.DecodeNodeStatusReport(value)
	var cells api.SharedCells
	for _, text := range []api.RowText{{Rest: value}, {Rest: value}, cells.Split(api.RowText{Rest: value})} {
		got, err := d.Decode(text)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: error %v, want %v", value, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", value, diff)
		}
	}
}

var oddAnnotations = []string{
	``, `{}`, `null`, `[]`, `{"observedNodes":[]}`, `{"observedNodes":[]`, `{"observedNodes":[],}`, `{"observedNodes":[]} `, `{"observedNodes":[]}x`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"hostID":"x"}`,
	`{"observedNodes":[{"hostID":"a]","status":"UP"}],"hostID":"x"}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"observedNodes":[{"hostID":"b"}]}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"OBSERVEDNODES":null}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"observedNodeſ":null}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"\u006fbservedNodes":null}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}],"nodeStatusReport":{"hostID":"n","observedNodes":[]}}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}]"hostID":"x"}`,
	`{"observedNodes":[{"hostID":"a","status":"UP"}] , "hostID":"x"}`,
	`{"observedNodes":[{"hostID":"a","extra":[1],"status":"UP"}],"hostID":"x"}`,
	`{"observedNodes":[7],"hostID":"x"}`, `{"observedNodes":[{"hostID":"a"}],"hostID":7}`, `{"observedNodes":[],,"hostID":"x"}`,
	`{"error":"refused"}`, `{"observedNodes":[],"error":"ſ K"}`,
}

func TestDecoderIsTheCodec(t *testing.T) {
	t.Parallel()
	d := &Decoder{}
	for _, v := range oddAnnotations {
		v = stage.UUIDs(v)
		sameDecoding(t, d, v)
		sameDecoding(t, &Decoder{}, v)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, v := range oddAnnotations {
		v = stage.UUIDs(v)
		f.Add(v)
	}
	d := &Decoder{}
	f.Fuzz(func(t *testing.T, value string) { sameDecoding(t, d, value) })
}

// TestSharedRowsAreTheRows: rows that share what they have in common say, cell by cell, what each says alone.
func TestSharedRowsAreTheRows(t *testing.T) {
	t.Parallel()
	cell := rapid.Custom(func(t *rapid.T) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{
			HostID: hostid.ID(rapid.SampledFrom([]string{stage.UUID("a"), stage.UUID("b"), stage.UUID("c"), stage.UUID("d"), ""}).Draw(t, "id")),
			Status: rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "DOWN", "UNKNOWN", "up"}).Draw(t, "status"),
			State:  rapid.SampledFrom([]api.NodeState{"", "", "JOINING", "LEAVING"}).Draw(t, "state"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SliceOfN(cell, 0, 6), 1, 4).Draw(t, "kinds")
		d := &Decoder{}
		var reports []*api.NodeStatusReport
		for range rapid.IntRange(1, 8).Draw(t, "rows") {
			r := &api.NodeStatusReport{ObservedNodes: rapid.SampledFrom(kinds).Draw(t, "kind"), HostID: hostid.ID(rapid.SampledFrom([]string{"", stage.UUID("a"), stage.UUID("z")}).Draw(t, "host"))}
			if rapid.Bool().Draw(t, "failed") {
				r.Error = new("refused")
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			sameDecoding(t, d, string(b))
			if r, err = d.Decode(api.RowText{Rest: string(b)}); err != nil {
				t.Fatal(err)
			}
			reports = append(reports, r)
		}
		for i, got := range RowsOf(reports) {
			want := RowsOf(reports[i : i+1])[0]
			a, b := cells(want), cells(got)
			want.Base, want.Observed, got.Base, got.Observed = nil, nil, nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("row (-alone +shared):\n%s", diff)
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Fatalf("cells (-alone +shared):\n%s", diff)
			}
		}
	})
}

func cells(r matrix.Row) map[string][]matrix.Observation {
	out := map[string][]matrix.Observation{}
	for o := range r.Each() {
		out[string(o.HostID)] = append(out[string(o.HostID)], o)
	}
	return out
}

func TestSteadyAnnotationsAreSharedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3, 10).cluster(SourceAnnotation)
	bases := map[*matrix.Membership]bool{}
	for _, r := range s.Rows() {
		bases[r.Base] = true
		if len(r.Observed) != 0 {
			t.Errorf("row of %s has %d exceptions", r.Reporter.Member, len(r.Observed))
		}
	}
	if len(bases) != 1 || bases[nil] {
		t.Errorf("30 nodes that say the same have %d memberships", len(slices.Collect(maps.Keys(bases))))
	}
	if h := s.Matrix().Health(); !h.AllUp || h.Nodes != 30 || strings.Contains(words.Text(s.SourceReason()), "no Pod") {
		t.Errorf("health %+v", h)
	}
}
