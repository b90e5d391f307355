// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// reporter serves a member's row over TLS on loopback, as the member's annotation says.
type reporter struct {
	heartbeat.Beat
	b      *bench
	member string
	stop   func()
	dead   bool // its ScyllaDB does not answer any more
}

// serve lets a member serve its heartbeat, with another key than before.
func (b *bench) serve(member string) *reporter {
	b.t.Helper()
	r := &reporter{b: b, member: member}
	s := pinnedserver.Start(b.t, member, r)
	r.stop = s.Stop
	b.edit(member, func(row *api.NodeStatusReport) {
		row.Heartbeat = &api.ReportHeartbeat{Port: s.Port, Fingerprint: s.Fingerprint}
	})
	b.stage.Pods[member].Status.PodIP = "127.0.0.1"
	return r
}

// edit changes a member's row.
func (b *bench) edit(member string, change func(*api.NodeStatusReport)) {
	b.t.Helper()
	pod := b.stage.Pods[member]
	row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		b.t.Fatal(err)
	}
	change(row)
	if pod.Annotations[api.AnnotationNodeStatusReport], err = api.EncodeNodeStatusReport(row); err != nil {
		b.t.Fatal(err)
	}
}

// beat is one poll of a member's ScyllaDB.
func (r *reporter) beat() {
	r.Say(r.b.stage.Pods[r.member].Annotations[api.AnnotationNodeStatusReport], !r.dead)
}

// withHeartbeats lets all three members serve heartbeats.
func withHeartbeats(t *testing.T) (*bench, []*reporter) {
	b := newBench(t)
	b.poller = &heartbeats.Poller{}
	b.restart()
	var all []*reporter
	for _, m := range []string{"demo-rack1-0", "demo-rack2-0", "demo-rack3-0"} {
		all = append(all, b.serve(m))
	}
	return b, all
}

// live passes intervals in which every reporter asks its ScyllaDB, and the loop of the reports assembles.
func (b *bench) live(times int, all []*reporter) {
	for range times {
		for _, r := range all {
			r.beat()
		}
		b.assemble()
		b.look(1)
	}
}

// TestTheLimitFollowsTheInterval: a reporter that polls each 20 s, and says so, is UP between its polls and UNKNOWN once two of them are missing; one that
// does not say so is UNKNOWN between them.
func TestTheLimitFollowsTheInterval(t *testing.T) {
	const seconds = 20
	const looks = seconds * time.Second / view.Interval
	for name, said := range map[string]int32{"it says so": seconds, "an older reporter": 0} {
		t.Run(name, func(t *testing.T) {
			b, all := withHeartbeats(t)
			for _, r := range all {
				b.edit(r.member, func(row *api.NodeStatusReport) { row.Heartbeat.IntervalSeconds = said })
			}
			unknown := 0
			for poll := range 6 {
				for _, r := range all {
					r.beat()
				}
				for range looks {
					b.assemble()
					if b.look(1); poll > 1 && b.states() != "UP UP UP" {
						unknown++
					}
				}
			}
			if (unknown == 0) != (said == seconds) {
				t.Errorf("not UP in %d looks", unknown)
			}
			for range looks + view.MissedLimit + 1 { // of 20 s that had passed since the last poll
				b.assemble()
				b.look(1)
			}
			b.want("UNKNOWN UNKNOWN UNKNOWN")
		})
	}
}

// The gap: a row is written when its content changes, so "all UP" stays for as long as no reporter writes another row. All rows are UP, the reporters of all peers are cut off, and
// a node dies. By rows alone the view has UP for ever; with heartbeats it has UNKNOWN after three missed looks and one, and never UP again before two good looks.
func TestTheHoleRowsAllUpReportersCutOffANodeDies(t *testing.T) {
	t.Run("by rows alone it stays UP", func(t *testing.T) {
		b := newBench(t)
		b.assemble()
		b.look(2)
		// Nothing reaches the API server: the kubelets are cut off, too, and the node controller has not noticed yet.
		for range 20 {
			b.look(1)
			b.want("UP UP UP")
		}
	})
	b, all := withHeartbeats(t)
	b.live(5, all)
	b.want("UP UP UP")
	for _, r := range all {
		r.stop()
	}
	looks := 0
	for b.states() != "UNKNOWN UNKNOWN UNKNOWN" {
		if looks++; looks > view.MissedLimit+1 {
			t.Fatalf("after %d looks the view says %s", looks, b.states())
		}
		b.look(1)
	}
	for range 20 {
		b.look(1)
		b.want("UNKNOWN UNKNOWN UNKNOWN")
	}

	// The first two come back, as other processes; the third is dead. One good look makes no member UP.
	back := []*reporter{b.serve("demo-rack1-0"), b.serve("demo-rack2-0")}
	b.live(2, back) // a first number, and one that is higher: nothing was looked at since
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	b.live(1, back)
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	b.live(1, back)
	b.want("UP UP UNKNOWN")
	b.live(10, back)
	b.want("UP UP UNKNOWN")
}

// A member whose reporter lives and whose ScyllaDB hangs: its number stands still. It is UNKNOWN when that has lasted for the contact limit and three looks.
func TestANumberThatDoesNotAdvance(t *testing.T) {
	b, all := withHeartbeats(t)
	b.live(5, all)
	b.want("UP UP UP")
	all[1].dead = true
	within := int(view.ContactLimit/view.Interval) + view.MissedLimit + 1
	b.live(int(view.ContactLimit/view.Interval)-1, all)
	b.want("UP UP UP")
	b.live(within-int(view.ContactLimit/view.Interval)+1, all)
	b.want("UP UNKNOWN UP")
	all[1].dead = false
	b.live(1, all)
	b.want("UP UNKNOWN UP")
	b.live(2, all)
	b.want("UP UP UP")
}

// A reporter that cannot write says another row than its annotation.
func TestARowThatCouldNotBeWritten(t *testing.T) {
	b, all := withHeartbeats(t)
	b.live(5, all)
	written := b.stage.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport]
	for range view.MissedLimit + 1 {
		all[0].Say(strings.Replace(written, `"UP"`, `"DOWN"`, 1), true)
		for _, r := range all[1:] {
			r.beat()
		}
		b.look(1)
	}
	b.want("UNKNOWN UP UP")
}

// DOWN in a row counts at once, with or without a heartbeat: the safe direction.
func TestDownNeedsNoHeartbeat(t *testing.T) {
	b, all := withHeartbeats(t)
	b.live(5, all)
	b.row("demo-rack1-0", stage.HostID(3, 0), api.NodeStatusDown)
	b.want("UP UP DOWN")
	since := b.stored.Members[2].DownSince
	for _, r := range all {
		r.stop()
	}
	for range 10 {
		b.look(1)
		b.assemble()
	}
	b.want("UNKNOWN UNKNOWN DOWN")
	if got := b.stored.Members[2].DownSince; !got.Equal(since) {
		t.Errorf("DOWN since %v, was %v", got, since)
	}
}

// The Scylla Operator's reporter serves no heartbeat: such a member goes by its row, and the view says so.
func TestAMemberWithoutHeartbeat(t *testing.T) {
	b := newBench(t)
	b.poller = &heartbeats.Poller{}
	b.restart()
	r := b.serve("demo-rack1-0")
	b.live(5, []*reporter{r})
	b.want("UP UP UP")
	var contacts []api.ViewContact
	for _, m := range b.stored.Members {
		contacts = append(contacts, m.Contact)
	}
	if contacts[0] != api.ContactHeartbeat || contacts[1] != api.ContactRow || contacts[2] != api.ContactRow {
		t.Errorf("contacts %v", contacts)
	}
	r.stop()
	b.look(view.MissedLimit + 1)
	b.want("UNKNOWN UP UP")
}

// A controller that takes over has heard no member: one that was UP is UNKNOWN until its number has been seen to advance, and for two looks after.
func TestHeartbeatsAfterATakeOver(t *testing.T) {
	b, all := withHeartbeats(t)
	b.live(5, all)
	b.epoch++
	b.restart()
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	for range 5 { // the reporters hang: each serves the number that it had
		b.assemble()
		b.look(1)
	}
	b.want("UNKNOWN UNKNOWN UNKNOWN")
	b.live(3, all)
	b.want("UP UP UP")
}

// A heartbeat is of a moment. While the loop that asks stands still, earlier answers grow old.
func TestHeartbeatsGrowOld(t *testing.T) {
	b, all := withHeartbeats(t)
	b.live(5, all)
	b.assemble()
	b.clock.Step(view.ContactLimit + time.Second)
	b.assemble() // the rows were read anew, the heartbeats were not
	b.Look()
	b.clock.Step(view.Interval)
	b.Look()
	b.clock.Step(view.Interval)
	b.Look()
	b.want("UNKNOWN UNKNOWN UNKNOWN")
}

// The first node must be well for the whole window: a heartbeat that is missed within it begins the window anew.
func TestTheWindowOfTheFirstNodeBeginsAnewAfterAMissedHeartbeat(t *testing.T) {
	for name, misses := range map[string]bool{"its heartbeat goes on": false, "its heartbeat is missed": true} {
		t.Run(name, func(t *testing.T) {
			b, all := withHeartbeats(t)
			for _, r := range all {
				b.edit(r.member, func(row *api.NodeStatusReport) { row.Coordinator = row.HostID })
			}
			b.live(5, all)
			begun := func() bool {
				t.Helper()
				b.assemble()
				return b.Initialisation(key, b.cluster(), &api.ScyllaDBStatusReportStatus{View: b.stored.DeepCopy()}).Now != nil
			}
			if begun() {
				t.Fatal("it is initialised at once")
			}
			alive := all
			if misses {
				alive = nil
			}
			b.live(8, alive)
			b.live(4, all)
			if got := begun(); got == misses {
				t.Errorf("initialised: %v", got)
			}
		})
	}
}
