// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// statuses are the nodes of the Pod's annotation with names instead of host IDs; never empty.
func (w *world) statuses(names map[string]string) string {
	r := w.row()
	if r.Error != nil {
		return "error: " + *r.Error
	}
	out := map[string]api.NodeStatus{}
	for _, o := range r.ObservedNodes {
		out[names[string(o.HostID)]] = o.Status
	}
	return fmt.Sprint(out) // in order of names
}

// A node is dead, and a living member gets its former address, as Pods without a Service of their own do. Up to 2025.2 ScyllaDB's list of
// members, and up to 2025.1 its gossip, have one node for an address: the dead one must stay DOWN, through a restart of the reporter and of
// ScyllaDB, until it was removed.
func TestADeadMemberStaysDownWhenAnotherGetsItsAddress(t *testing.T) {
	const all, dead, gone = "map[a:UP b:UP c:UP d:UP]", "map[a:UP b:UP c:UP d:DOWN]", "map[a:UP b:UP c:UP]"
	for version, afterStart := range map[string]string{"6.2.3": dead, "2025.1.3": "error", "2025.2.1": dead} {
		for _, zeroToken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, zero-token %v", version, zeroToken), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
					defer cancel()
					c, err := scyllasim.StartCluster(ctx, t.TempDir(), 3, scyllasim.Options{Version: version})
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					d, err := c.Add(func(o *scyllasim.Options) { o.ZeroToken = zeroToken })
					if err == nil {
						err = d.WaitReady(ctx)
					}
					if err != nil {
						t.Fatal(err)
					}
					names := map[string]string{c.Node(0).HostID(): "a", c.Node(1).HostID(): "b", c.Node(2).HostID(): "c", d.HostID(): "d"}
					w := newWorld(t, "")
					w.o.ScyllaDB = scylla.NewClient(c.Node(0).APIURL(), c.Network.Client())
					stop := w.start()
					defer func() { stop() }()
					always := func(what, want string) {
						t.Helper()
						time.Sleep(time.Minute)
						for range 3 {
							if got := w.statuses(names); got != want && (want != "error" || got[:5] != want) {
								t.Fatalf("%s: %s, want %s", what, got, want)
							}
							time.Sleep(w.o.Interval)
						}
					}
					always("at first", all)
					d.Kill()
					always("one is dead", dead)
					c.Node(1).Kill()
					moved, err := c.Start(1, func(o *scyllasim.Options) {
						o.ListenAddress, o.APIAddress = d.Address(), d.Address()
					})
					if err == nil {
						err = moved.WaitReady(ctx)
					}
					if err != nil {
						t.Fatal(err)
					}
					always("another has its address", dead)
					stop()
					stop = w.start()
					always("the reporter has started again", dead)
					c.Node(0).Kill()
					a, err := c.Start(0, nil)
					if err == nil {
						err = a.WaitReady(ctx)
					}
					if err != nil {
						t.Fatal(err)
					}
					always("ScyllaDB has started again", afterStart)
					stop()
					stop = w.start()
					always("both have started again", afterStart)
					code, body, err := c.Node(2).Request(ctx, http.MethodPost, "/storage_service/remove_node?host_id="+d.HostID())
					if err != nil || code != http.StatusOK {
						t.Fatal(code, body, err)
					}
					always("it was removed", gone)
				})
			})
		}
	}
}
