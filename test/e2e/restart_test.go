// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// restarts are made one after the other.
const (
	restartsMade      = 6
	restartsRehearsed = 20
)

// TestARestartIsNeverReplaced: the Pod of a healthy node is deleted, as every rolling restart does it, and until it is Ready again a person asks again and again
// for a replacement of that node, and what status says. Not once does a plan pass or status name the command: it would have wiped an intact volume.
func TestARestartIsNeverReplaced(t *testing.T) {
	covers(t, "internal/cluster", "internal/replace", "plugin/replace", "plugin/status")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.healthy()
	racks := []string{rack1, rack2, rack3}
	plans, passed, named, down, made := 0, 0, 0, 0, 0
	rounds := restartsMade
	if *rehearse {
		rounds = restartsRehearsed
	}
	for ; made < rounds; made++ {
		i := made
		victim := racks[i%len(racks)] + "-0"
		old := f.pod(victim).UID
		if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "delete", "pod", victim, "--wait=false"); err != nil {
			t.Fatal(out, err)
		}
		for begun, again := time.Now(), false; !again; {
			p := &corev1.Pod{}
			f.must(client.IgnoreNotFound(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, p)))
			again = p.UID != "" && p.UID != old && scenario.Ready(p)
			plan := f.plugin("replace", victim, "--dry-run=client")
			plans++
			switch {
			case plan.Code == 0:
				passed++
				t.Errorf("restart %d: a plan passes %s after it:\n%s", i+1, time.Since(begun).Round(time.Millisecond), plan.Stdout)
			case plan.Code != 2:
				t.Errorf("restart %d: exit code %d\n%s%s", i+1, plan.Code, plan.Stdout, plan.Stderr)
			}
			if strings.Contains(strings.Join(strings.Fields(plan.Stdout), " "), " down ok ") {
				down++ // all others say that it is DOWN: nothing but the other checks stands between the person and the volume
			}
			if status := f.plugin("status", "--all"); strings.Contains(status.Stdout, "kubectl scylla replace ") {
				named++
				t.Errorf("restart %d: status names the command %s after it:\n%s", i+1, time.Since(begun).Round(time.Millisecond), status.Stdout)
			}
		}
		f.ready(3)
		if f.pod(victim).UID == old {
			t.Fatalf("restart %d: %s was not restarted", i+1, victim)
		}
	}
	fmt.Printf("%d restarts, %d plans during them (%d while all others saw the node DOWN): %d passed; status named the command %d times\n", made, plans, down, passed, named)
	f.healthy()
}
