// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
)

// serves has a member's reporter serve its heartbeat, and so the view.
func serves(name, rack, id string) *corev1.Pod {
	p := member(name, rack)
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{
		HostID: hostid.ID(id), ObservedNodes: saw(idA, "UP", idB, "UP"), OperationMode: "NORMAL",
		Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("a", 64)},
	})
	if err != nil {
		panic(err)
	}
	p.Annotations[api.AnnotationNodeStatusReport] = text
	return p
}

// network is what other members' reporters answer.
type network struct {
	mu     sync.Mutex
	answer func(member string) (*viewwire.View, error)
	asked  []string
	have   []string // the stamps that the barrier said it had
}

var errUnreachable = &url.Error{Op: "Get", URL: "https://10.0.0.1:8083", Err: errors.New("no route to host")}

func (n *network) ask(_ context.Context, member string, q viewwire.Question) (*viewwire.View, error) {
	n.mu.Lock()
	n.asked = append(n.asked, member)
	if q.Have != nil {
		n.have = append(n.have, fmt.Sprint(q.Have.Epoch, ".", q.Have.Seq))
	}
	answer := n.answer
	n.mu.Unlock() // a slow answer blocks no other
	if q.Path != viewwire.RelayPath || q.Cluster.Namespace != ns || q.Cluster.Name != "demo" || !strings.HasSuffix(q.Address, ":8083") {
		return nil, fmt.Errorf("a wrong question: %+v", q)
	}
	return answer(member)
}

func (n *network) set(answer func(member string) (*viewwire.View, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = answer
}

func (n *network) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

func silentNetwork(string) (*viewwire.View, error) { return nil, errUnreachable }

// handsOn answers with a view, made of the one that permits.
func handsOn(epoch, seq int64, age time.Duration, change func(*api.StatusReportView)) func(string) (*viewwire.View, error) {
	return func(string) (*viewwire.View, error) {
		v := permittedView()
		v.Epoch, v.Seq = epoch, seq
		if change != nil {
			change(v)
		}
		return &viewwire.View{StatusReportView: *v, AgeMillis: age.Milliseconds()}, nil
	}
}

func nodeDown(v *api.StatusReportView) { v.Members[1].State = api.NodeStatusDown }

// withRelays is a world whose barrier asks for a permit, in a cluster whose members' reporters hand on views.
func withRelays(t *testing.T, v *api.StatusReportView) (*world, *network) {
	t.Helper()
	n := &network{answer: silentNetwork}
	w := withView(t, v, []client.Object{
		joinedService("demo-rack1-0", "rack1", idA), joinedService("demo-rack2-0", "rack2", idB), service(newcomer, "rack3", nil),
		serves("demo-rack1-0", "rack1", idA), serves("demo-rack2-0", "rack2", idB), byOperator(allUp()),
	}...)
	w.o.AskView = n.ask
	return w, n
}

// A view that others hand on closes the barrier right before it would open, when it is newer and has turned: the API server need not have it.
func TestANewerRelayedViewCloses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.StatusReportView)
		want   string
	}{
		"a member is DOWN":        {nodeDown, "demo-rack2-0 is not in the required state"},
		"a hold":                  {func(v *api.StatusReportView) { v.Hold = "RolloutInProgress" }, "RolloutInProgress"},
		"another one's permit":    {func(v *api.StatusReportView) { v.Permits[0].Member = "demo-rack1-1" }, "has not queued it"},
		"a permit for its volume": {func(v *api.StatusReportView) { v.Permits[0].PVCUID = "claim-2" }, "it is for the PVC with UID claim-2"},
		"a view without anything": {func(v *api.StatusReportView) { *v = api.StatusReportView{Epoch: v.Epoch, Seq: v.Seq} }, "the controller grants no permits"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, n := withRelays(t, permittedView())
				w.setSilent("demo-rack1-0", errUnreachable)
				_, done := running(t, w)
				time.Sleep(2 * time.Second)
				w.renew(nil) // 1.2, with which it would open
				turned := advancing(1, c.change)
				n.set(func(member string) (*viewwire.View, error) { // one of the two is enough
					if member == "demo-rack1-0" {
						return nil, errUnreachable
					}
					return turned(member)
				})
				w.setSilent("demo-rack1-0", nil)
				time.Sleep(18 * time.Second)
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, c.want) {
					t.Errorf("does not say %q:\n%s", c.want, log)
				}
			})
		})
	}
}

// The same without any relayed view: the relay alone closes the barrier above.
func TestWithoutARelayTheViewOfTheAPIServerOpens(t *testing.T) {
	for name, answer := range map[string]func(string) (*viewwire.View, error){
		"nobody answers":           silentNetwork,
		"404 of an older reporter": func(string) (*viewwire.View, error) { return nil, viewwire.ErrUnknown },
		"204: it has none":         func(string) (*viewwire.View, error) { return nil, viewwire.ErrNone },
		"garbage":                  func(string) (*viewwire.View, error) { return nil, viewwire.ErrGarbled },
		"too large":                func(string) (*viewwire.View, error) { return nil, &bounded.TooLargeError{} },
		"too slow":                 func(string) (*viewwire.View, error) { time.Sleep(askTimeout); return nil, context.DeadlineExceeded },
		"the same view, turned":    handsOn(1, 2, 0, nodeDown),
		"an older view":            handsOn(1, 1, 0, nodeDown),
		"one of an earlier term":   handsOn(0, 900, 0, nodeDown),
		"a newer one that permits": handsOn(1, 44, 0, nil),
		"one that is too old":      handsOn(1, 44, 21*time.Second, nodeDown),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, n := withRelays(t, permittedView())
				n.set(answer)
				_, done := running(t, w)
				time.Sleep(2 * time.Second)
				w.renew(nil)
				time.Sleep(25 * time.Second)
				synctest.Wait()
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Errorf("does not open:\n%s", w.logged())
				}
				if n.count() == 0 {
					t.Error("nobody was asked")
				}
			})
		})
	}
}

// However fresh and newer a relayed view is that permits: it opens nothing, for however long.
func TestARelayedViewNeverOpens(t *testing.T) {
	for name, v := range map[string]*api.StatusReportView{
		"the API server has a view that is not seen to advance": permittedView(),
		"the API server has a view that does not permit":        {Epoch: 1, Seq: 1, Policy: api.PolicyPermits},
		"the API server has none":                               nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, n := withRelays(t, v)
				var seq atomic.Int64
				n.set(func(m string) (*viewwire.View, error) { return handsOn(7, seq.Add(1), 0, nil)(m) })
				_, done := running(t, w)
				time.Sleep(10 * time.Minute)
				stillWaiting(t, done)
			})
		})
	}
}

// A Pod that reaches nothing is distinguished from a controller, and an API server, that do not respond. None of them ever opens.
func TestIsolatedAndControllerSilentAreToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unread error
		answer func(string) (*viewwire.View, error)
		reason string
		words  string
	}{
		"the view stands still":                       {nil, silentNetwork, "ControllerSilent", "has not seen the controller view advance"},
		"the API server is away, no reporter answers": {errors.New("connection refused"), silentNetwork, "Isolated", "no other member's reporter responds"},
		"the API server is away, one reporter answers": {errors.New("connection refused"), func(m string) (*viewwire.View, error) {
			if m == "demo-rack1-0" {
				return nil, viewwire.ErrUnknown
			}
			return nil, errUnreachable
		}, "APIUnreachable", "connection refused"},
		"the API server is away, reporters have a view": {errors.New("connection refused"), handsOn(1, 1, time.Second, nil), "APIUnreachable", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, n := withRelays(t, permittedView())
				n.set(c.answer)
				_, done := running(t, w)
				time.Sleep(time.Second)
				w.setFailure(c.unread)
				time.Sleep(18 * time.Second)
				if log := w.logged(); strings.Contains(log, "Isolated") {
					t.Errorf("says so too early:\n%s", log)
				}
				time.Sleep(10 * time.Minute)
				stillWaiting(t, done)
				lines := strings.Split(strings.TrimSpace(w.logged()), "\n")
				last := lines[len(lines)-1]
				if !strings.Contains(last, c.reason+": ") || !strings.Contains(last, c.words) {
					t.Errorf("does not say %s, %q:\n%s", c.reason, c.words, last)
				}
			})
		})
	}
}

// A view without a permit is not written anew: that it does not advance is no sign of a silent controller or of a broken network.
func TestAMemberThatWaitsForItsTurnIsNotIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := permittedView()
		v.Permits[0].Member = "demo-rack1-1"
		w, _ := withRelays(t, v)
		_, done := running(t, w)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); strings.Contains(log, "Isolated") || strings.Contains(log, "ControllerSilent") || !strings.Contains(log, "PermitPending") {
			t.Error(log)
		}
	})
}

// An API server that hangs leaves time to ask the members.
func TestAnAPIServerThatHangsDoesNotMakeItIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, n := withRelays(t, permittedView())
		n.set(func(string) (*viewwire.View, error) { return nil, viewwire.ErrNone })
		_, done := running(t, w)
		time.Sleep(time.Second)
		w.setFailure(context.DeadlineExceeded)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); strings.Contains(log, "Isolated") || !strings.Contains(log, "APIUnreachable") {
			t.Error(log)
		}
	})
}

// A barrier asks each member once, right before it opens; and each five seconds, once the API server does not answer. With policy reports it asks none. It sends the view that it has.
func TestHowOftenReportersAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, n := withRelays(t, permittedView())
		w.setSilent("demo-rack1-0", errUnreachable)
		_, done := running(t, w)
		time.Sleep(time.Second)
		renewing := func(times int) {
			for range times {
				w.renew(nil)
				time.Sleep(view5)
			}
		}
		renewing(60)
		if got := n.count(); got > 0 {
			t.Errorf("asked %d times while the view advances", got)
		}
		w.setFailure(errors.New("connection refused"))
		time.Sleep(4 * time.Minute)
		got := n.count()
		if got < 2*38 || got > 2*49 {
			t.Errorf("asked %d times in 4 minutes, 2 members", got)
		}
		if !slices.Contains(n.have, "1.61") {
			t.Errorf("told them %q", n.have)
		}
		stillWaiting(t, done)
		w.setFailure(nil)
		renewing(2) // until its age is known
		w.setSilent("demo-rack1-0", nil)
		renewing(4)
		if got := n.count() - got; got != 2 {
			t.Errorf("asked %d times before it opens, 2 members", got)
		}
		opens(t, done)
	})
	synctest.Test(t, func(t *testing.T) {
		w, n := withRelays(t, permittedView())
		w.o.Policy = api.PolicyReports
		w.setFailure(errors.New("connection refused"))
		_, done := running(t, w)
		time.Sleep(10 * time.Minute)
		stillWaiting(t, done)
		if n.count() > 0 {
			t.Errorf("asked %d times by reports", n.count())
		}
	})
}

const view5 = 5 * time.Second
