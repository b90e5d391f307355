// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func TestAPIAppearsInStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{
			Dir: t.TempDir(), ListenAddress: address(0), Network: NewNetwork(), Version: "2026.1.0",
			Seeds: []string{address(1)}, // no node answers there: this one stays where it starts to join
		}
		o.APIAddress = o.ListenAddress
		n, err := StartNode(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Kill)
		for stage, want := range []string{
			"0 0 0 0 0 0", // no process listens
			"200 404 404 404 404 404",
			"200 200 500 404 404 404", // the gossiper object is there and not ready
			"200 200 500 200 404 404",
			"200 200 500 200 200 404",
		} {
			synctest.Wait()
			if got := n.stage.Load(); got != int32(stage) {
				t.Errorf("stage %d, want %d", got, stage)
			}
			var got []string
			for _, p := range []string{"/system/uptime_ms", "/storage_service/hostid/local", "/storage_service/host_id", "/raft/leader_host",
				"/storage_service/operation_mode", "/storage_service/native_transport"} {
				code, _ := get(t, n, p)
				got = append(got, fmt.Sprint(code))
			}
			if g := strings.Join(got, " "); g != want {
				t.Errorf("stage %d: %s, want %s", stage, g, want)
			}
			time.Sleep(map[bool]time.Duration{true: 4, false: 1}[stage == 0] * stageTime)
		}
		if m := text(t, n, "/storage_service/operation_mode"); m != rules.ModeStarting {
			t.Errorf("mode %s", m)
		}
		if _, body := get(t, n, "/storage_service/host_id"); body != `{"message":"std::runtime_error (The gossiper is not ready yet)","code":500}` {
			t.Error(body)
		}
		// SIGTERM during startup is a clean end.
		n.Stop()
		if n.ExitCode() != 0 || !strings.Contains(n.Log(), "Startup interrupted") {
			t.Errorf("exit code %d", n.ExitCode())
		}
	})
}
