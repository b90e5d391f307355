// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"net/http"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// The state of the log of group 0 is sent beside the number, and the row is the same: nothing is written because of it.
func TestTheLogTravelsBesideTheNumber(t *testing.T) {
	const row = `{"hostID":"a"}`
	var b heartbeat.Beat
	address, c := serve(t, &b)
	b.Say(row, true)
	for _, want := range []raftlog.State{{}, {Known: true, Leader: true, Commit: 123, Apply: 120}, {Schema: "59adb24e-f3cd-3e02-97f0-5b395827453f"}, {}} {
		b.SetLog(want)
		if got, err := heartbeat.Ask(t.Context(), c, address, api.ReportDigest(row)); err != nil || got.Log != want || got.Number != 1 {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
}

// A log that cannot be read is not known. The number counts all the same: the writer is a later version, or one that can hide no more than a log.
func TestALogThatCannotBeReadIsNotKnown(t *testing.T) {
	for name, all := range map[string][]string{
		"none": nil, "another spelling": {"leader=true commit=+1 apply=1"}, "two": {"leader=true commit=1 apply=1", "leader=true commit=2 apply=2"}, "text": {"x"},
	} {
		address, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"d"`)
			w.Header().Set(heartbeat.Header, "7")
			for _, text := range all {
				w.Header().Add(heartbeat.LogHeader, text)
			}
			w.WriteHeader(http.StatusNotModified)
		}))
		if got, err := heartbeat.Ask(t.Context(), c, address, "d"); err != nil || got != (heartbeat.Answer{Number: 7}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
