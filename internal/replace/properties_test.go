// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Whatever order things happen in, however old the controller's view is and however often it is restarted: one deletion at most per
// request, the original host ID stays, no newcomer starts without it, labels go only after the join; and in the end it is over.
func TestAnyInterleavingKeepsThePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		steps := rapid.IntRange(0, 60).Draw(t, "steps")
		for range steps {
			switch rapid.SampledFrom([]string{
				"act", "act", "act", "stale", "kubelet", "statefulset", "scylla", "restart", "back", "dead", "unlabel", "unrecord",
			}).Draw(t, "what") {
			case "act":
				w.act(0)
			case "stale":
				w.act(rapid.IntRange(1, 12).Draw(t, "ago"))
			case "kubelet":
				w.kubelet()
			case "statefulset":
				w.statefulSet()
			case "scylla":
				w.scylla()
			case "restart":
				w.restart()
			case "back":
				w.comeback(matrix.Up)
			case "dead":
				w.comeback(matrix.Down)
			case "unlabel":
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					w.removeLabel(api.LabelReplace)
				}
			case "unrecord":
				// A person takes the internal label away while nothing can start.
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 && w.in.Self.Pod != nil && w.pods == 1 {
					w.removeLabel(api.LabelReplacingNodeHostID)
				}
			}
			promises(t, w)
		}
		w.comeback(matrix.Down)
		for range 60 {
			w.act(0)
			w.kubelet()
			w.statefulSet()
			w.scylla()
			promises(t, w)
		}
		if !w.over() {
			t.Fatalf("not over: %+v", Next(w.in))
		}
		last := RecordOf(w.in.Self).Last
		if last == nil {
			t.Fatal("no outcome is left behind")
		}
		if !w.userCut && (last.Outcome != OutcomeReplaced || last.HostID != hostOld || last.NewHostID != hostNew) {
			t.Fatalf("outcome is %+v", last)
		}
	})
}

func promises(t *rapid.T, w *world) {
	t.Helper()
	if len(w.problems) > 0 {
		t.Fatalf("%v", w.problems)
	}
	for request, uids := range w.deletions {
		if len(uids) > 1 || uids[0] != "pvc-1" {
			t.Fatalf("request %s deleted %v", request, uids)
		}
	}
	if len(w.deletions) > 1 {
		t.Fatalf("two requests deleted: %v", w.deletions)
	}
}

// Whatever the rows say, a claim is deleted only on a majority of fresh DOWN and no UP, and never while a row of another member is unclear
// about a third node.
func TestNoDeletionWithoutAMajorityOfFreshRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := recorded()
		statuses := []matrix.Status{matrix.Unknown, matrix.Down, matrix.Down, matrix.Down, matrix.Up, matrix.Missing}
		var fresh, downs, ups int
		eachRow(&in, func(i int, r *matrix.Row) {
			if i == 3 {
				return
			}
			if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
				r.Stale = matrix.Trouble{Code: words.PodGone}
			}
			s := rapid.SampledFrom(statuses).Draw(t, "status")
			r.Observed = append(without(r.Observed, hostOld), matrix.Observation{HostID: hostOld, Status: s, Since: t0.Add(-time.Hour)})
			if r.Stale.IsZero() {
				fresh++
				switch s {
				case matrix.Down:
					downs++
				case matrix.Up:
					ups++
				}
			}
		})
		skip := rapid.SliceOfDistinct(rapid.SampledFrom(CheckNames()), rapid.ID[string]).Draw(t, "skip")
		in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = joinList(skip)
		s := Next(in)
		if s.Action == ActionDeletePVC && (ups > 0 || downs*2 <= fresh) {
			t.Fatalf("deletes with %d of %d DOWN and %d UP", downs, fresh, ups)
		}
		if s.Action != ActionDeletePVC && s.Action != ActionRefuse {
			t.Fatalf("unexpected %s", s.Action)
		}
		if s.Action == ActionRefuse && len(s.Waiting) == 0 {
			t.Fatal("refused without a named blocker")
		}
	})
}

// The order of rows, members and operations changes nothing.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom([]func() Input{requested, recorded, newPod, joined, func() Input { return joining(matrix.StateReplacing, false) }}).Draw(t, "state")()
		in.Operations = []api.NodeOperation{{Type: "bootstrap", State: "running", HostID: hostA}, {Type: "replace", State: "failed", HostID: hostNew, Error: "x"}}
		a := Next(in)
		shuffled := in
		setRows(&shuffled, rapid.Permutation(rowsOf(in)).Draw(t, "rows"))
		shuffled.Others = rapid.Permutation(in.Others).Draw(t, "others")
		b := Next(shuffled)
		if a.Action != b.Action || all(a) != all(b) {
			t.Fatalf("%s %s became %s %s", a.Action, all(a), b.Action, all(b))
		}
	})
}

func joinList(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ","
		}
		out += s
	}
	return out
}

// Any text in labels and annotations is read without a panic, and never as a request that is not there.
func FuzzReadRecord(f *testing.F) {
	f.Add("", hostOld, "pvc-1,pvc-2", "1", "2026-11-21T10:00:00Z", `{"request":"x"}`, hostA)
	f.Add("10.0.0.1", "", "none", "x", "yesterday", `{`, ",,")
	f.Fuzz(func(t *testing.T, replace, original, uids, attempt, started, last, ignore string) {
		in := requested()
		in.Self.Service.Labels[api.LabelReplace] = replace
		in.Self.Service.Labels[api.LabelReplacingNodeHostID] = original
		for k, v := range map[string]string{
			api.AnnotationReplaceAccepted: "x", api.AnnotationReplacePVCUIDs: uids, api.AnnotationReplaceAttempt: attempt,
			api.AnnotationReplaceStartedAt: started, api.AnnotationReplaceLast: last, api.AnnotationReplaceIgnoreDead: ignore,
		} {
			in.Self.Service.Annotations[k] = v
		}
		s := Next(in)
		if s.Action == ActionDeletePVC && !slices.Contains(api.SplitList(uids), string(s.Claim.UID)) {
			t.Fatalf("deletes claim %s which is not in %q", s.Claim.UID, uids)
		}
		if s.Action == ActionFinish {
			t.Fatal("finished without a join")
		}
		if id, err := hostid.Parse(original); err == nil && s.Original != id {
			t.Fatalf("original %q became %q", original, s.Original)
		}
	})
}
