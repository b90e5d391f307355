// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

// relay is what a member's reporter answers.
type relay = func(member string) (*viewwire.View, error)

var errUnreachable = &url.Error{Op: "Get", URL: "https://10.0.0.1:8083", Err: errors.New("no route to host")}

// askView stands for the relays of the members.
func (w *world) askView(_ context.Context, member string, q viewwire.Question) (*viewwire.View, error) {
	w.mu.Lock()
	w.asked["views"]++
	if q.Have != nil {
		w.have = append(w.have, fmt.Sprint(q.Have.Epoch, ".", q.Have.Seq))
	}
	answer := w.answer
	w.mu.Unlock() // a slow answer blocks no other
	if q.Path != viewwire.RelayPath || q.Cluster.Namespace != ns || q.Cluster.Name != "demo" || !strings.HasSuffix(q.Address, ":8083") {
		return nil, fmt.Errorf("a wrong question: %+v", q)
	}
	return answer(member)
}

func (w *world) relays(answer relay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

func fails(err error) relay { return func(string) (*viewwire.View, error) { return nil, err } }

var silentNetwork = fails(errUnreachable)

// oneOf has one of the two members answer.
func oneOf(answer relay) relay {
	return func(member string) (*viewwire.View, error) {
		if member == "demo-rack1-0" {
			return nil, errUnreachable
		}
		return answer(member)
	}
}

// handsOn answers with a view, made of the one that permits.
func handsOn(epoch, seq int64, age time.Duration, change func(statusView)) relay {
	return func(string) (*viewwire.View, error) {
		v := changedView(func(v statusView) {
			v.Epoch, v.Seq = epoch, seq
			change(v)
		})
		return &viewwire.View{StatusReportView: *v, AgeMillis: age.Milliseconds()}, nil
	}
}

// A newer view that others hand on, and that has turned, closes right before the opening: one of two is enough.
func TestANewerRelayedViewCloses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(statusView)
		want   string
	}{
		"a member is DOWN":        {nodeDown, "demo-rack2-0 is not in the required state"},
		"a hold":                  {func(v statusView) { v.Hold = "RolloutInProgress" }, "RolloutInProgress"},
		"another one's permit":    {func(v statusView) { v.Permits[0].Member = other }, "has not queued it"},
		"a permit for its volume": {func(v statusView) { v.Permits[0].PVCUID = "claim-2" }, "it is for the PVC with UID claim-2"},
		"a view without anything": {func(v statusView) { *v = api.StatusReportView{Epoch: v.Epoch, Seq: v.Seq} },
			"the controller grants no permits"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, permittedView())
			w.setSilent("demo-rack1-0", errUnreachable)
			w.runs(alone)
			time.Sleep(2 * time.Second)
			w.renew(unchanged) // 1.2, with which it would open
			w.relays(oneOf(advancing(1, c.change)))
			w.setSilent("demo-rack1-0", nil)
			w.waits(18 * time.Second).says(c.want)
		})
	}
}

// The same without any relayed view: the relay alone closes the barrier above.
func TestWithoutARelayTheViewOfTheAPIServerOpens(t *testing.T) {
	for name, answer := range map[string]relay{
		"nobody answers":           silentNetwork,
		"404 of an older reporter": fails(viewwire.ErrUnknown),
		"204: it has none":         fails(viewwire.ErrNone),
		"garbage":                  fails(viewwire.ErrGarbled),
		"too large":                fails(&bounded.TooLargeError{}),
		"too slow":                 func(string) (*viewwire.View, error) { time.Sleep(askTimeout); return nil, context.DeadlineExceeded },
		"the same view, turned":    handsOn(1, 2, 0, nodeDown),
		"an older view":            handsOn(1, 1, 0, nodeDown),
		"one of an earlier term":   handsOn(0, 900, 0, nodeDown),
		"a newer one that permits": handsOn(1, 44, 0, unchanged),
		"one that is too old":      handsOn(1, 44, 21*time.Second, nodeDown),
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, permittedView())
			w.relays(answer)
			w.runs(alone)
			time.Sleep(2 * time.Second)
			w.renew(unchanged)
			w.opensIn(0, 25*time.Second)
			if w.askedOf("views") == 0 {
				t.Error("nobody was asked")
			}
		})
	}
}

// However fresh and newer a relayed view is that permits: it opens nothing, for however long.
func TestARelayedViewNeverOpens(t *testing.T) {
	for name, change := range map[string]func(statusView){
		"the API server has a view that is not seen to advance": unchanged,
		"the API server has a view that does not permit":        func(v statusView) { v.Members, v.Permits = nil, nil },
		"the API server has none":                               nil,
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, changedView(change))
			w.relays(advancing(7, unchanged))
			w.runs(alone).waits(10 * time.Minute)
		})
	}
}

// A Pod that reaches nothing is distinguished from a controller, and an API server, that do not respond; and a view without
// a permit, which is not written anew, is a sign of neither. None of them ever opens.
func TestIsolatedAndControllerSilentAreToldApart(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		unread error
		view   func(statusView)
		answer relay
		reason string
		words  string
	}{
		"the view stands still": {nil, unchanged, silentNetwork, "ControllerSilent", "has not seen the controller view advance"},
		"another member has the permit": {nil, func(v statusView) { v.Permits[0].Member = other }, silentNetwork,
			"PermitPending", "has not queued it"},
		"it waits for a member that leaves": {nil, func(v statusView) { waitsFor(v, "PermitWaitsForLeaving", "demo-rack2-0") },
			silentNetwork, "PermitPending", "demo-rack2-0"},
		"the API server is away, no reporter answers": {refused, unchanged, silentNetwork, "Isolated",
			"no other member's reporter responds"},
		"the API server is away, one reporter answers": {refused, unchanged, oneOf(fails(viewwire.ErrUnknown)),
			"APIUnreachable", "connection refused"},
		"the API server is away, reporters have a view": {refused, unchanged, handsOn(1, 1, time.Second, unchanged),
			"APIUnreachable", "connection refused"},
		"the API server hangs": {context.DeadlineExceeded, unchanged, fails(viewwire.ErrNone), "APIUnreachable", ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, changedView(c.view))
			w.relays(c.answer)
			w.runs(alone)
			time.Sleep(time.Second)
			w.setFailure(c.unread)
			time.Sleep(18 * time.Second)
			early := w.logged()
			w.waits(10 * time.Minute)
			log := w.logged()
			lines := strings.Split(strings.TrimSpace(log), "\n")
			last := lines[len(lines)-1]
			if !strings.Contains(last, c.reason+": ") || !strings.Contains(last, c.words) {
				t.Errorf("does not say %s, %q:\n%s", c.reason, c.words, last)
			}
			if c.reason == "Isolated" {
				log = early
			}
			if strings.Contains(log, "Isolated") || c.reason == "PermitPending" && strings.Contains(log, "ControllerSilent") {
				t.Errorf("says what is not, or too early:\n%s", log)
			}
		})
	}
}

// By permits each member is asked once before the opening, and each 5 s without an API server; by reports none.
func TestHowOftenReportersAreAsked(t *testing.T) {
	refused := errors.New("connection refused")
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.relays(silentNetwork)
		w.setSilent("demo-rack1-0", errUnreachable)
		w.runs(alone).renewTimes(60)
		time.Sleep(view5)
		if got := w.askedOf("views"); got > 0 {
			t.Errorf("asked %d times while the view advances", got)
		}
		w.setFailure(refused)
		w.waits(4 * time.Minute)
		got := w.askedOf("views")
		if got < 2*38 || got > 2*49 || !slices.Contains(w.have, "1.60") {
			t.Errorf("asked %d times in 4 minutes, 2 members; told them %q", got, w.have)
		}
		w.setFailure(nil)
		w.renewTimes(2) // until its age is known
		time.Sleep(view5)
		w.setSilent("demo-rack1-0", nil)
		w.renewTimes(4)
		w.opens()
		if got := w.askedOf("views") - got; got != 2 {
			t.Errorf("asked %d times before it opens, 2 members", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.o.Policy = api.PolicyReports
		w.setFailure(refused)
		w.runs(alone).waits(10 * time.Minute)
		if w.askedOf("views") > 0 {
			t.Errorf("asked %d times by reports", w.askedOf("views"))
		}
	})
}

// A reporter that starts again makes a certificate and keeps its address: the barrier reaches it by the new one, for its row and for the view.
func TestAReporterThatStartsAgainIsReached(t *testing.T) {
	t.Parallel()
	row := func(port int32, fingerprint string) map[string]string {
		return annotated(api.NodeStatusReport{HostID: idA, ObservedNodes: saw(idA, "UP"), OperationMode: "NORMAL",
			Heartbeat: &api.ReportHeartbeat{Port: port, Fingerprint: fingerprint}})
	}
	mux, digest, number := http.NewServeMux(), "", atomic.Int64{}
	mux.HandleFunc(heartbeat.Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"`+digest+`"`)
		w.Header().Set(heartbeat.Header, fmt.Sprint(number.Add(1)))
		w.WriteHeader(http.StatusNotModified)
	})
	mux.Handle(viewwire.RelayPath, viewwire.Relay(func(types.NamespacedName) (*viewwire.View, error) {
		return &viewwire.View{StatusReportView: *permittedView()}, nil
	}))
	reporter := pinnedserver.Start(t, "demo-rack1-0", mux)
	pod := member("demo-rack1-0", "rack1")
	pod.Status.PodIP = "127.0.0.1"
	pod.Annotations = row(reporter.Port, strings.Repeat("a", 64))
	w := newWorld(t, joinedService("demo-rack1-0", "rack1", idA), service(newcomer, "rack3", nil), pod)
	b := &barrier{Options: Options{Namespace: ns, Service: newcomer, Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler)},
		client: w.c, name: "demo", ctx: t.Context(), metrics: NewMetrics(prometheus.NewRegistry())}
	r := &reads{barrier: b, ctx: t.Context()}
	b.gate = gate.New(gate.Self{Member: newcomer}, r)
	ask := func() (confirmed, relayed bool) {
		o, err := kube.Load(t.Context(), w.c, cluster.Key{Namespace: ns, Name: "demo"}, kube.LoadOptions{Source: cluster.SourceAnnotation})
		if err != nil {
			t.Fatal(err)
		}
		c := cluster.New(o, cluster.SourceAnnotation, time.Now())
		digest = api.ReportDigest(c.Pod("demo-rack1-0").Annotations[api.AnnotationNodeStatusReport])
		relays := r.Relays([]string{"demo-rack1-0", "demo-rack9-0"})
		if len(relays) != 1 {
			t.Fatalf("relays %v: want the one whose Pod exists", relays)
		}
		return r.confirm(t.Context(), c.Member("demo-rack1-0"), digest) == nil, r.Views(relays)[0].Answered
	}
	if confirmed, relayed := ask(); confirmed || relayed {
		t.Fatalf("another certificate: confirmed %v, relayed %v", confirmed, relayed)
	}
	w.update(pod, func() { pod.Annotations = row(reporter.Port, reporter.Fingerprint) })
	if confirmed, relayed := ask(); !confirmed || !relayed {
		t.Errorf("its certificate: confirmed %v, relayed %v", confirmed, relayed)
	}
}
