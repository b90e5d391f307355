// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// olderBuild is the commit whose plugin, controller, CRDs and agents meet those of this build.
const olderBuild = "487255a0"

// A cluster of an older build is upgraded as a person does it: the controller first, then one rack; and the controller goes back. With each controller, nodes
// of both builds join while all are UP, and wait as long as one is DOWN. Barriers and reporters of both builds meet, by either policy.
func TestAgentsAndControllerOfTwoBuilds(t *testing.T) { // replaces the controller of all: not parallel
	covers(t, "controller", "controller/views", "internal/agent/barrier", "internal/agent/launch", "internal/agent/reporter", "internal/api/crds", "internal/gate",
		"plugin/install", "plugin/status")
	pods(t, 8)
	w := world(t)
	for _, policy := range []api.Policy{api.PolicyPermits, api.PolicyReports} {
		t.Run(string(policy), func(t *testing.T) {
			inNamespace(t, w, "skew-"+string(policy)).twoBuilds(policy)
		})
	}
}

// twoBuilds is the story of one policy. Long: each part begins with the cluster that the one before has left.
func (f *fixture) twoBuilds(policy api.Policy) {
	t := f.t
	older := f.commit(olderBuild)
	f.installAnew(older)
	c := scenario.Cluster{Namespace: f.namespace, Injected: older.Release, Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		goBy(s, policy)
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationHealthPrefix+healthpolicy.FieldStabilisation, "1s")
	}}
	f.must(f.World.Deploy(f.ctx, c))
	f.ready(3)

	t.Log("this build's controller, older agents")
	if r, err := f.Plugin(f.ctx, "install", "--image="+images.AgentRef, "--yes", "--upgrade"); err != nil || r.Code != 0 {
		t.Fatalf("upgrade: %v, exit %d\n%s%s", err, r.Code, r.Stdout, r.Stderr)
	}
	f.joins(rack1, 2, 4)

	t.Log("and newer agents in one rack")
	c.Injected, c.Only = nil, []string{rack2}
	rollout := c.Mutate
	c.Mutate = func(s *appsv1.StatefulSet) {
		rollout(s)
		s.Labels[api.LabelCluster] = "demo" // as docs/protect-joins.md says of a controller that does not know the other label: it comes back below
	}
	f.must(f.World.Deploy(f.ctx, c))
	f.waitFor("the rack to be rolled", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: rack2 + "-0"}, p)
		return err == nil && p.Spec.InitContainers[0].Image == images.AgentRef && scenario.Ready(p), scenario.Describe(p), client.IgnoreNotFound(err)
	})
	f.healthy()
	f.waitForDown(map[string]int32{rack1: 3, rack2: 2}, 6)

	t.Log("the older controller")
	older.install(0, "--upgrade")
	f.joins(rack1, 4, 7)
	f.waitForDown(map[string]int32{rack2: 3}, 8)
}

// commit is a release made of a commit of this repository.
func (f *fixture) commit(id string) release {
	f.t.Helper()
	root, err := filepath.Abs("../..")
	f.must(err)
	if out, err := exec.CommandContext(f.ctx, "git", "-C", root, "cat-file", "-e", id+"^{commit}").CombinedOutput(); err != nil {
		f.t.Skipf("this clone has no commit %s (git fetch --unshallow): %v %s", id, err, out)
	}
	r, err := images.BuildCommit(f.ctx, root, id, "v1.3.0")
	f.must(err)
	f.must(f.Cluster.LoadImage(f.ctx, r.Archive))
	return release{r, f}
}

// joins scales a rack, whose new node must join a cluster that is then of so many.
func (f *fixture) joins(rack string, replicas int32, nodes int) {
	f.t.Helper()
	f.must(f.Scale(f.ctx, f.namespace, rack, replicas))
	f.ready(nodes)
	f.healthy()
}

// waitForDown stops a node and scales racks, whose new nodes must wait for it. Once it is back they must join a cluster that is then of so many.
func (f *fixture) waitForDown(racks map[string]int32, nodes int) {
	f.t.Helper()
	down := rack3 + "-0"
	f.freeze(down, rack1+"-0")
	var wait []string
	for rack, replicas := range racks {
		f.must(f.Scale(f.ctx, f.namespace, rack, replicas))
		wait = append(wait, fmt.Sprintf("%s-%d", rack, replicas-1))
	}
	for _, member := range wait {
		f.untilBarrierRuns(member)
		f.barrierSays(member, down)
	}
	r := f.plugin("status")
	if r.Code != 3 {
		f.t.Errorf("status while %s is DOWN: exit %d, want 3", down, r.Code)
	}
	contains(f.t, "status while "+down+" is DOWN", r.Stdout, append(wait, down+" DOWN")...)
	f.holdsFor(wait[0], 10*time.Second)
	f.holdsFor(wait[len(wait)-1], 0)
	f.thaw(down)
	f.ready(nodes)
	f.healthy()
}
