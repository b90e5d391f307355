// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

// A reporter that starts again makes a certificate and keeps its address: the barrier reaches it by the new one, for its row and for the view.
func TestAReporterThatStartsAgainIsReached(t *testing.T) {
	t.Parallel()
	row := func(port int32, fingerprint string) string {
		text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: idA, ObservedNodes: saw(idA, "UP"), OperationMode: "NORMAL",
			Heartbeat: &api.ReportHeartbeat{Port: port, Fingerprint: fingerprint}})
		if err != nil {
			t.Fatal(err)
		}
		return text
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
	pod.Annotations[api.AnnotationNodeStatusReport] = row(reporter.Port, strings.Repeat("a", 64))
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
	w.update(pod, func() {
		pod.Annotations[api.AnnotationNodeStatusReport] = row(reporter.Port, reporter.Fingerprint)
	})
	if confirmed, relayed := ask(); !confirmed || !relayed {
		t.Errorf("its certificate: confirmed %v, relayed %v", confirmed, relayed)
	}
}
