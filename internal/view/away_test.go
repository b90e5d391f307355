// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// A receiver that was cut off sees a newer view when it is back, which may be as old as the interruption. Seed 2019 of the simulation: a member started by a view that had not been
// confirmed for 52 seconds.
func TestAViewAfterALongAbsenceHasNoAge(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var r Receiver
	look := func(seq int64, after time.Duration) (time.Duration, bool) {
		at = at.Add(after)
		r.Adopt(&api.StatusReportView{Epoch: 1, Seq: seq}, at)
		return r.Age(at)
	}
	look(1, 0)
	if age, seen := look(2, healthpolicy.ViewLimit); !seen || age != 0 {
		t.Fatalf("%v, %v: it was seen to advance", age, seen)
	}
	if _, seen := look(3, healthpolicy.ViewLimit+time.Second); seen {
		t.Error("a view that may have been made at any time of an absence has an age")
	}
	if age, seen := look(4, Renewal); !seen || age != 0 {
		t.Errorf("%v, %v: it was seen to advance again", age, seen)
	}
}

// What was handed on or confirmed meanwhile was the newest then: a view that is read afterwards is no older than that.
func TestAViewAfterOneThatWasHandedOnHasAnAge(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	one := func(seq int64) *api.StatusReportView { return &api.StatusReportView{Epoch: 1, Seq: seq} }
	for name, tc := range map[string]struct {
		meanwhile func(*Receiver)
		known     bool
	}{
		"nothing":       {func(*Receiver) {}, false},
		"handed on":     {func(r *Receiver) { r.Handed(one(2), time.Second, at.Add(time.Minute)) }, true},
		"confirmed":     {func(r *Receiver) { r.Confirm(Stamp{1, 1}, at.Add(time.Minute)) }, true},
		"handed on old": {func(r *Receiver) { r.Handed(one(2), time.Minute, at.Add(time.Minute)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r Receiver
			r.Adopt(one(1), at)
			tc.meanwhile(&r)
			if !r.Adopt(one(3), at.Add(time.Minute+5*time.Second)) {
				t.Fatal("a newer one is not taken")
			}
			if _, known := r.Age(at.Add(time.Minute + 5*time.Second)); known != tc.known {
				t.Errorf("its age is known: %v, want %v", known, tc.known)
			}
		})
	}
}
