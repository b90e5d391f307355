// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// beats are the heartbeats of the members' reporters: each asking advances the number, unless a test says otherwise.
type beats struct {
	mu      sync.Mutex
	numbers map[string]int64
	change  func(member string, number int64) (int64, error)
}

func (b *beats) ask(_ context.Context, member string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.numbers[member]++
	if b.change != nil {
		return b.change(member, b.numbers[member])
	}
	return b.numbers[member], nil
}

// left is a cluster whose controller is gone: the Lease stands still, and so does the view.
func left(t *testing.T, when api.WhenSilent, objs ...client.Object) (*world, *beats) {
	t.Helper()
	if len(objs) == 0 {
		objs = []client.Object{
			joinedService("demo-rack1-0", "rack1", idA), joinedService("demo-rack2-0", "rack2", idB), service(newcomer, "rack3", nil),
			serves("demo-rack1-0", "rack1", idA), serves("demo-rack2-0", "rack2", idB), allUp(),
		}
	}
	w := withView(t, permittedView(), append(objs, lease("controller-1"))...)
	n := &network{answer: handsOn(1, 1, time.Hour, nil)}
	b := &beats{numbers: map[string]int64{}}
	w.o.WhenSilent, w.o.AskView, w.o.AskHeartbeat = when, n.ask, b.ask
	return w, b
}

// With no controller a barrier waits, unless a person has asked it to go by the members; then it opens once all of them stand by rows that see all UP for the window.
func TestPeersOpensByTheMembersAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when, policy api.WhenSilent
		opened       bool
	}{
		{"", "", false},
		{api.WhenSilentWait, "", false},
		{api.WhenSilentPeers, "", true},
		{"", api.WhenSilentWait, false},
		{"", api.WhenSilentPeers, true},
		{"", "peers", false}, // of a kind that takes anything
		{api.WhenSilentWait, api.WhenSilentPeers, false},
		{api.WhenSilentPeers, api.WhenSilentWait, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := left(t, c.when)
			if c.policy != "" {
				r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
				w.update(r, func() {
					r.Status.HealthPolicy = healthpolicy.Standard(DefaultStabilisation, 2)
					r.Status.HealthPolicy.WhenControllerSilent = c.policy
				})
			}
			_, done := running(t, w)
			time.Sleep(2*15*time.Second + 20*time.Second) // the Lease's limit, and the view's
			stillWaiting(t, done)
			if !c.opened {
				time.Sleep(10 * time.Minute)
				stillWaiting(t, done)
				return
			}
			began := time.Now()
			opens(t, done)
			if took := time.Since(began); took < 10*time.Second || took > 40*time.Second {
				t.Errorf("opened after %v more", took)
			}
			if log := w.logged(); !strings.Contains(log, "decided by the members' own current status reports") {
				t.Errorf("does not say how it was decided:\n%s", log)
			}
		})
	}
}

// Whatever is not certain keeps it closed.
func TestPeersNeverOpensOnLess(t *testing.T) {
	t.Parallel()
	still := func(member string, number int64) (int64, error) {
		if member == "demo-rack2-0" {
			return 7, nil
		}
		return number, nil
	}
	down := serves("demo-rack1-0", "rack1", idA)
	down.Annotations[api.AnnotationNodeStatusReport] = strings.Replace(down.Annotations[api.AnnotationNodeStatusReport], `"UP"`, `"DOWN"`, 2)
	members := func(a, b client.Object, others ...client.Object) []client.Object {
		return append([]client.Object{joinedService("demo-rack1-0", "rack1", idA), joinedService("demo-rack2-0", "rack2", idB), a, b, allUp()}, others...)
	}
	a, b, svc := serves("demo-rack1-0", "rack1", idA), serves("demo-rack2-0", "rack2", idB), service(newcomer, "rack3", nil)
	mute := member("demo-rack2-0", "rack2")
	mute.Annotations = withoutHeartbeat(idB)
	replacing := service(newcomer, "rack3", nil)
	replacing.Labels[api.LabelReplacingNodeHostID] = string(hostid.ID("0f0e0d0c-0000-4000-8000-000000000000"))
	for name, c := range map[string]struct {
		objs   []client.Object
		change func(member string, number int64) (int64, error)
		alive  bool
	}{
		"a heartbeat stands still": {members(a, b, svc), still, false},
		"a reporter does not answer": {members(a, b, svc), func(member string, number int64) (int64, error) {
			if member == "demo-rack1-0" {
				return 0, errUnreachable
			}
			return number, nil
		}, false},
		"a number goes back":                            {members(a, b, svc), func(_ string, number int64) (int64, error) { return 1000 - number, nil }, false},
		"a member has no heartbeat":                     {members(a, mute, svc), nil, false},
		"a row says DOWN":                               {members(down, b, svc), nil, false},
		"a member has no Pod":                           {members(a, service("other", "rack9", nil), svc), nil, false},
		"it is a replacement":                           {members(a, b, replacing), nil, false},
		"it would be the first node":                    {[]client.Object{svc}, nil, false},
		"the controller leads, and gives no fresh view": {members(a, b, svc), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objs []client.Object
				for _, o := range c.objs {
					objs = append(objs, o.DeepCopyObject().(client.Object))
				}
				w, beats := left(t, api.WhenSilentPeers, objs...)
				beats.change = c.change
				ctx, done := running(t, w)
				if c.alive {
					w.renews(ctx)
				}
				time.Sleep(10 * time.Minute)
				stillWaiting(t, done)
			})
		})
	}
}

// A break begins the window anew, and a controller that comes back is waited for again.
func TestPeersBeginsAnewAfterABreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, b := left(t, api.WhenSilentPeers)
		w.o.Stabilisation = new(time.Minute)
		broken := time.Time{}
		b.change = func(_ string, number int64) (int64, error) {
			if time.Since(broken) < 11*time.Second {
				return 0, errUnreachable
			}
			return number, nil
		}
		_, done := running(t, w)
		for range 10 {
			time.Sleep(50 * time.Second)
			stillWaiting(t, done)
			b.mu.Lock()
			broken = time.Now()
			b.mu.Unlock()
		}
		opens(t, done)
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := left(t, api.WhenSilentPeers)
		w.o.Stabilisation = new(time.Minute)
		ctx, done := running(t, w)
		time.Sleep(80 * time.Second) // it goes by the members, and the minute is not over
		stillWaiting(t, done)
		w.renews(ctx)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
	})
}

func TestParseWhenSilent(t *testing.T) {
	for text, want := range map[string]api.WhenSilent{"Wait": api.WhenSilentWait, "Peers": api.WhenSilentPeers, "peers": "", "": ""} {
		if got, err := ParseWhenSilent(text); got != want || (err == nil) != (want != "" || text == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
