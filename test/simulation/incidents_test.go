// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var update = flag.Bool("update", false, "write the golden files of public incidents")

// What status would have printed in public incidents, at each hour, while nobody did anything but
// what people did then. The facts are of the threads, whose numbers the names have. Not here are
// states of ScyllaDB that this world does not have (scylladb #22261, a decommission for which
// tablets find no place; #31762, a joining node with two addresses), and what internal/diagnosis
// tests: scylla-operator #2459, a Pod of an old revision that is not Ready holds a rollout
// (TestAPodOfAnOldRevision), and #663, the Pod of a replacement for which the scheduler finds no PVC
// (TestWhatKubernetesSaysDecides). The StatefulSet controller makes that PVC since kubernetes #113270.
func TestPublicIncidents(t *testing.T) {
	const rack1, rack2, rack3 = "demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"
	for name, acts := range map[string][]Act{
		// The Kubernetes node of a member is drained with its local data; then the member is to be replaced.
		"operator-291-drained-and-replaced": {
			{10 * time.Minute, func(p Play) { p.LoseMachine(rack3) }},
			{17 * time.Minute, func(p Play) { p.Replace(rack3, "request") }},
		},
		// It is drained with its local data and uncordoned at once: the member comes back with an empty volume.
		"operator-312-drained-and-uncordoned": {{10 * time.Minute, func(p Play) { p.EmptyVolume(rack3) }}},
		// The Kubernetes nodes of all members are terminated, with their volumes.
		"operator-521-all-machines-terminated": {{10 * time.Minute, func(p Play) {
			for _, member := range []string{rack1, rack2, rack3} {
				p.LoseMachine(member)
			}
		}}},
		// The member that others have as their seed loses its data, and founds a cluster of its own.
		"operator-1349-first-member-empty": {{10 * time.Minute, func(p Play) { p.EmptyVolume(rack1) }}},
		// Two members are gone; while the new node of one joins, its volume and its Pod are deleted.
		"operator-2068-volume-deleted-while-it-joins": {
			{10 * time.Minute, func(p Play) { p.LoseMachine(rack3) }},
			{20 * time.Minute, func(p Play) { p.Replace(rack3, "request") }},
			{22 * time.Minute, func(p Play) { p.DeleteMachine(rack3) }},
			{22 * time.Minute, func(p Play) { p.EmptyVolumeWhileReplacing(rack3) }},
		},
		// The next node of a rolling restart is taken although the one before is not back.
		"scylladb-8275-restarted-one-too-early": {
			{10 * time.Minute, func(p Play) { p.LoseMachine(rack3) }},
			{11 * time.Minute, func(p Play) { p.Restart(rack2) }},
		},
		// A node is added while another one is stopped.
		"scylladb-13066-joins-while-one-is-stopped": {
			{10 * time.Minute, func(p Play) { p.Stop(rack3) }},
			{12 * time.Minute, func(p Play) { p.Scale("demo-dc1-rack1") }},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hours(acts)
			golden := filepath.Join("testdata", "incidents", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// hours is what status prints first a few minutes after each act, and at the first hours.
func hours(acts []Act) string {
	story := &Story{Acts: acts, Lasts: 3 * time.Hour, HostID: func(n int) string {
		return fmt.Sprintf("%08x-0000-4000-8000-%012x", 0x1a000000+n*0x1111, n)
	}}
	w := staged(story, func(w *world) {
		for i := range 3 {
			rack := fmt.Sprintf("rack%d", i+1)
			w.twoMachines(placeOf(rack))
			w.applySet(placeOf(rack), 1, false)
		}
	})
	var b strings.Builder
	before := ""
	for _, at := range []time.Duration{9, 15, 25, 60, 120, 179} {
		w.after(at*time.Minute, func() {
			text := w.first(at * time.Minute)
			_, said, _ := strings.Cut(text, "\n")
			if said != "" && said == before {
				text = words.Age(at*time.Minute) + ": the same\n"
			} else {
				before = said
			}
			b.WriteString(text)
		})
	}
	w.run()
	return b.String()
}

// first is the first finding of status and what it says to do, and where that is to look at a
// barrier or a replacement, what is printed there to do.
func (w *world) first(at time.Duration) string {
	w.follower.looked = map[string]bool{}
	j := diagnosis.Judge(w.readByPerson(), w.now)
	text := "healthy"
	if len(j.Findings) > 0 {
		f := &j.Findings[0]
		text = words.Text(f.Message) + "\n  -> " + words.Text(f.Step)
		for _, next := range w.looks(j, printedSteps(j)[0]) {
			if len(f.Step.Commands) > 0 && slices.ContainsFunc(next.step.Commands, changes) {
				text += "\n  -> " + words.Text(next.step)
				break
			}
		}
	}
	return fmt.Sprintf("%s: %s\n", words.Age(at), text)
}
