// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// refusing is a Reads of a cluster's first node, whose final check always fails.
type refusing struct {
	at
	first corev1.Service
	read  *cluster.Cluster // by the last judgement
}

func (r *refusing) Cluster() (*cluster.Cluster, *matrix.Blocker) {
	r.read = cluster.New(cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Services: []corev1.Service{r.first},
		Read: cluster.KindServices | cluster.KindReports | cluster.KindStatusReport | cluster.KindStatefulSets}, cluster.SourceReport, r.now)
	return r.read, nil
}

func (r *refusing) Pods(*cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	return cluster.Objects{}, nil, &matrix.Blocker{Reason: words.APIUnreachable}
}

// Between two final checks the verdict is that of the earlier one, and Seen the reading of it: a step about a Service at its resource version, made for the
// earlier verdict from a later Service, forgets a member (seed 614255 by reports). A changed Service is judged at once: it may have a force.
func TestNoHarmARefusalIsOfTheObjectsThatItsCheckRead(t *testing.T) {
	r := &refusing{at: at{now: time.Now()}, first: corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-0", Labels: map[string]string{
		api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack1", api.LabelServiceType: api.ServiceTypeMember}}}}
	g := New(Self{Namespace: "demo", Member: "demo-0", Policy: api.PolicyReports, Disk: bootstrap.BootstrappedNo, Volume: bootstrap.VolumeEmpty}, r)
	for _, c := range []struct {
		after   time.Duration
		changed cluster.Kinds
		reads   bool
	}{
		{0, 0, true},
		{firstLook - 1, cluster.KindReports | cluster.KindStatusReport, false},
		{1, 0, true},
		{1, cluster.KindServices, true},
		{4*firstLook - 1, 0, false},
		{1, 0, true},
	} {
		r.now = r.now.Add(c.after)
		before := r.read
		v := g.Judge(c.changed)
		if v.Satisfied || !waitsFor(v, words.APIUnreachable) {
			t.Fatalf("not the final check's refusal: %+v", v)
		}
		if (r.read != before) != c.reads || g.Seen() != r.read {
			t.Errorf("%+v: reads again %t, Seen is of the last reading %t", c, r.read != before, g.Seen() == r.read)
		}
	}
}
