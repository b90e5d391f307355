// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

var (
	genHostID = rapid.Map(rapid.SampledFrom([]string{"h0", "h1", "h2", "h3", "h4", ""}), hostIDOf)
	genStatus = rapid.SampledFrom([]matrix.Status{matrix.Up, matrix.Up, matrix.Up, matrix.Up, matrix.Up, matrix.Up, matrix.Down, matrix.Unknown})
	genState  = rapid.SampledFrom([]matrix.State{
		matrix.StateNormal, matrix.StateNormal, matrix.StateNormal, matrix.StateNormal, matrix.StateJoining, matrix.StateLeaving,
		matrix.StateReplacing, matrix.StateBeingReplaced, matrix.StateDecommissioned,
	})
	genMaybe = rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false)})
)

// hostIDOf is the host ID that a name stands for.
func hostIDOf(name string) string {
	if name == "" {
		return ""
	}
	return hostids.UUID(name)
}

func genRef(t *rapid.T) matrix.Ref {
	r := matrix.Ref{HostID: hostid.ID(genHostID.Draw(t, "host ID")), Datacenter: "dc1", Rack: rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "rack")}
	r.Ordinal = ptr(rapid.Int32Range(0, 1).Draw(t, "ordinal"))
	r.Member = fmt.Sprintf("demo-%s-%d", r.Rack, *r.Ordinal)
	return r
}

func genRows(t *rapid.T) []matrix.Row {
	ids := []string{hostIDOf("h0"), hostIDOf("h1"), hostIDOf("h2")}[:rapid.IntRange(0, 3).Draw(t, "nodes")]
	var rows []matrix.Row
	for i, id := range ids {
		r := matrix.Row{Reporter: matrix.Ref{HostID: hostid.ID(id), Datacenter: "dc1", Rack: fmt.Sprintf("r%d", i+1), Ordinal: new(int32)}, Reported: true}
		for _, o := range ids {
			r.Observed = append(r.Observed, matrix.Observation{HostID: hostid.ID(o), Status: matrix.Up})
		}
		for range rapid.IntRange(0, 2).Draw(t, "extra cells") {
			r.Observed = append(r.Observed, matrix.Observation{
				HostID: hostid.ID(genHostID.Draw(t, "observed")), Status: genStatus.Draw(t, "status"), State: genState.Draw(t, "state"),
			})
		}
		switch rapid.IntRange(0, 15).Draw(t, "trouble") {
		case 0:
			r.Stale = matrix.Trouble{Code: words.PodGone}
		case 1:
			r.Trouble = matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: "connection refused"}
		case 2:
			r.Reported = false
		}
		rows = append(rows, r)
	}
	return rows
}

var genInput = rapid.Custom(func(t *rapid.T) world {
	w := world{rows: genRows(t)}
	w.Member = member(genRef(t), genMaybe.Draw(t, "self joined"))
	w.Disk = rapid.SampledFrom([]Bootstrapped{BootstrappedNo, BootstrappedNo, BootstrappedUnknown, BootstrappedYes, BootstrappedDecommissioned}).Draw(t, "disk")
	w.Reports = rapid.IntRange(0, 2).Draw(t, "reports")
	w.AllowNonReporting = rapid.IntRange(0, 4).Draw(t, "allow") == 0
	w.Volume = rapid.SampledFrom([]Volume{VolumeNotLooked, VolumeUsed, VolumeUsed, VolumeEmpty, VolumeUnreadable}).Draw(t, "volume")
	if rapid.IntRange(0, 9).Draw(t, "banned") == 0 {
		w.Banned = words.New("Removed")
	}
	if rapid.IntRange(0, 9).Draw(t, "silent") == 0 {
		w.ControllerSilent = words.New("Lease x")
	}
	if rapid.IntRange(0, 9).Draw(t, "not verified") == 0 {
		w.NotVerified = []string{"dc2"}
	}
	if rapid.IntRange(0, 5).Draw(t, "force") == 0 {
		w.Member.Service.Annotations[api.AnnotationForceProceed] = rapid.SampledFrom([]string{"true", "false", "", "TRUE"}).Draw(t, "force value")
	}
	if rapid.IntRange(0, 5).Draw(t, "replacing") == 0 {
		w.Member.Service.Labels[api.LabelReplacingNodeHostID] = genHostID.Draw(t, "target")
	}
	if rapid.IntRange(0, 9).Draw(t, "no place") == 0 {
		delete(w.Member.Service.Labels, api.LabelRack)
	}
	for range rapid.IntRange(0, 2).Draw(t, "peers") {
		w.Peers = append(w.Peers, member(genRef(t), genMaybe.Draw(t, "joined")))
	}
	w.Matrix = matrix.New(w.rows, matrix.Options{})
	return w
})

// world is an Input with its rows.
type world struct {
	Input
	rows []matrix.Row
}

func (w *world) forced() bool {
	return w.Member.Service.Annotations[api.AnnotationForceProceed] == "true"
}

// fresh yields the rows that count for Self.
func (w *world) fresh() []matrix.Row {
	return slices.DeleteFunc(slices.Clone(w.rows), func(r matrix.Row) bool {
		return !r.Reported || !r.Trouble.IsZero() || !r.Stale.IsZero() || (r.Reporter.Rack == w.Member.Service.Labels[api.LabelRack] && *r.Reporter.Ordinal == *w.Member.Ordinal)
	})
}

// TestNoNewcomerStartsWhileARowSaysDown is invariant 1. What may open beside a DOWN: the node has bootstrapped or is known as a
// member, it is forced, it replaces, or the DOWN is about a node that is gone for good or that an open replacement replaces.
func TestNoNewcomerStartsWhileARowSaysDown(t *testing.T) {
	opened, closed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		v := Decide(w.Input)
		if v.Satisfied {
			opened++
		} else {
			closed++
		}
		if v.Decision != DecisionAllUp && v.Decision != DecisionGenesis {
			return
		}
		for _, r := range w.fresh() {
			for _, o := range r.Observed {
				if o.Status != matrix.Down || o.State == matrix.StateDecommissioned {
					continue
				}
				t.Errorf("%s opens although %s says %s DOWN (%s)", v.Decision, r.Reporter, o.HostID, o.State)
			}
		}
	})
	if opened == 0 || closed == 0 {
		t.Errorf("%d verdicts open and %d do not, want some of each", opened, closed)
	}
}

// TestAMemberIsNeverBlocked is invariant 3: fresh rows that all have the recorded host ID as a normal member let it through, whichever nodes are DOWN and whatever its disk has.
func TestAMemberIsNeverBlocked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		w.Banned, w.Member.Joined, w.Volume = words.Message{}, ptr(true), rapid.SampledFrom([]Volume{VolumeNotLooked, VolumeUsed}).Draw(t, "its volume")
		if w.Disk == BootstrappedDecommissioned {
			w.Disk = BootstrappedNo
		}
		record(w.Member, idOwn)
		for i := range w.rows {
			w.rows[i].Observed = append(w.rows[i].Observed, matrix.Observation{HostID: idOwn, Status: genStatus.Draw(t, "status of mine")})
		}
		w.Matrix = matrix.New(w.rows, matrix.Options{})
		if len(w.fresh()) == 0 {
			t.Skip("nobody reports")
		}
		if v := Decide(w.Input); !v.Satisfied {
			t.Errorf("%s: %s", v.Decision, words.Of(v.Self.Name(), v.Summary))
		}
	})
}

func TestVerdictHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		v := Decide(w.Input)
		switch {
		case words.Text(v.Summary) == "" || v.Decision == "":
			t.Errorf("a verdict without words: %+v", v)
		case !v.Satisfied && len(v.Blockers) == 0:
			t.Errorf("%s without a reason", v.Decision)
		case v.Satisfied && len(v.Blockers) > 0 && v.Decision != DecisionForced:
			t.Errorf("%s opens over %d blockers", v.Decision, len(v.Blockers))
		case v.Satisfied == (v.Decision == DecisionWait || v.Decision == DecisionRefuse):
			t.Errorf("satisfied = %v and decision %s", v.Satisfied, v.Decision)
		}
		for _, b := range v.Blockers {
			if words.Aging(b.Message(), b.Since, time.Time{}) == "" {
				t.Errorf("a blocker without words: %+v", b)
			}
		}
		again := Decide(w.Input)
		if words.Of(again.Self.Name(), again.Summary) != words.Of(v.Self.Name(), v.Summary) || len(again.Blockers) != len(v.Blockers) {
			t.Errorf("the same input decides differently: %q and %q", words.Of(v.Self.Name(), v.Summary), words.Of(again.Self.Name(), again.Summary))
		}
	})
}

// TestRemovingABlockerNeverCloses mends one thing at a time and sees the door open no later than before: what stood open stays open,
// and no mended blocker comes back.
func TestRemovingABlockerNeverCloses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		before := Decide(w.Input)
		mend := rapid.SampledFrom([]string{"controller", "force", "not verified", "place", "forced"}).Draw(t, "mend")
		switch mend {
		case "controller":
			w.ControllerSilent = words.Message{}
		case "force":
			if w.forced() {
				t.Skip("nothing to mend")
			}
			delete(w.Member.Service.Annotations, api.AnnotationForceProceed)
		case "not verified":
			w.NotVerified = nil
		case "place":
			if w.Member.Service.Labels[api.LabelRack] == "" {
				w.Member.Service.Labels[api.LabelRack] = "r9"
			}
		case "forced":
			w.Member.Service.Annotations[api.AnnotationForceProceed] = "true"
		}
		after := Decide(w.Input)
		if before.Satisfied && !after.Satisfied {
			t.Errorf("mending %s closes: %q, before %q", mend, words.Of(after.Self.Name(), after.Summary), words.Of(before.Self.Name(), before.Summary))
		}
		if !after.Satisfied && len(after.Blockers) > len(before.Blockers) {
			t.Errorf("mending %s adds a blocker: %d, before %d", mend, len(after.Blockers), len(before.Blockers))
		}
	})
}

func TestForceOpensWhateverTheOthersSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		v := Decide(w.Input)
		if w.forced() && !v.Satisfied && v.Decision != DecisionRefuse {
			t.Errorf("forced, and it waits: %s", words.Of(v.Self.Name(), v.Summary))
		}
	})
}

// FuzzParseQuery: whatever the tool prints, nothing fails, and only the word itself means yes.
func FuzzParseQuery(f *testing.F) {
	var cases []struct{ Input struct{ Stdout string } }
	vectors.Read(f, "sstable-bootstrapped-cases.json", &cases)
	for _, c := range cases {
		f.Add([]byte(c.Input.Stdout), 0)
	}
	f.Add([]byte(`[{"bootstrapped":null`), 139)
	f.Fuzz(func(t *testing.T, stdout []byte, exitCode int) {
		answer, detail := ParseQuery(stdout, exitCode)
		if words.Text(detail) == "" {
			t.Error("no detail")
		}
		if answer != BootstrappedUnknown && exitCode > 0 {
			t.Errorf("exit code %d gives %v", exitCode, answer)
		}
		var rows []struct{ Bootstrapped *string }
		known := json.Unmarshal(stdout, &rows) == nil
		completed := slices.ContainsFunc(rows, func(r struct{ Bootstrapped *string }) bool {
			return r.Bootstrapped != nil && *r.Bootstrapped == "COMPLETED"
		})
		if want := known && completed && exitCode <= 0; (answer == BootstrappedYes) != want {
			t.Errorf("answer %v (%s), COMPLETED %v", answer, words.Text(detail), want)
		}
	})
}
