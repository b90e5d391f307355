// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

const (
	staleAPI       = "stale-api"
	staleAPIImage  = "localhost/staleapi:dev"
	staleAPIPort   = 8099
	staleAPIConfig = "/mnt/shared/staleapi.kubeconfig"
	// initialisedAfter is documented as the sum of three: the next Pod of the controller is started, it leads, and the first node has been well for long
	// enough, with a look.
	initialisedAfter = podStarted + leaseOver + opensAfter
)

var staleAPILoaded sync.Once

// loadStaleAPI brings the image of test/e2e/faultproxy/cmd/staleapi to the Kubernetes nodes.
func loadStaleAPI(t *testing.T) {
	t.Helper()
	w := world(t)
	staleAPILoaded.Do(func() {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		binary, archive := filepath.Join(root, binaries, "staleapi"), filepath.Join(root, binaries, "staleapi.tar")
		if err := image.BuildBinary(t.Context(), root, "./test/e2e/faultproxy/cmd/staleapi", binary); err != nil {
			t.Fatal(err)
		}
		if err := image.Write(archive, image.Spec{Ref: staleAPIImage, Files: []image.File{{Path: "/staleapi", Source: binary}}, Entrypoint: []string{"/staleapi"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Cluster.LoadImage(t.Context(), archive); err != nil {
			t.Fatal(err)
		}
	})
}

// withStaleAPI puts something between the barrier and the API server that can fall behind: it then goes on to answer with the reports that it has, and tells of no new ones.
func withStaleAPI(s *appsv1.StatefulSet) {
	pod := &s.Spec.Template.Spec
	at := slices.IndexFunc(pod.InitContainers, func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
	barrier := &pod.InitContainers[at]
	barrier.Args = append(barrier.Args, "--kubeconfig="+staleAPIConfig)
	pod.InitContainers = slices.Insert(pod.InitContainers, at, corev1.Container{
		Name: staleAPI, Image: staleAPIImage, ImagePullPolicy: corev1.PullNever, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Args: []string{
			fmt.Sprintf("-listen=0.0.0.0:%d", staleAPIPort), "-kubeconfig=" + staleAPIConfig, "scylladbstatusreports", "scylladbdatacenternodesstatusreports",
		},
		VolumeMounts: barrier.VolumeMounts, SecurityContext: barrier.SecurityContext,
		StartupProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(staleAPIPort)}}, PeriodSeconds: 1, FailureThreshold: 60,
		},
	})
}

// permitOf is the permit that the stored view has for a member; nil for none.
func (d *drill) permitOf(ctx context.Context, member string) (*api.StatusReportViewPermit, error) {
	v, err := d.view(ctx)
	if err != nil || v == nil {
		return nil, err
	}
	for i := range v.Permits {
		if v.Permits[i].Member == member {
			return &v.Permits[i], nil
		}
	}
	return nil, nil
}

// relays are rehearsals of a barrier that has its permit and no more news of the controller, while its cluster is not any more as its view says.
func relays() []rehearsal {
	return []rehearsal{
		relayCloses(6, "a barrier with a permit gets no updates from the controller but reaches its peers, and a node fails", false),
		relayCloses(8, "as 6, and one peer has an older reporter that serves no views", true),
	}
}

func relayCloses(number int, name string, old bool) rehearsal {
	var began time.Time
	const silent = rack1 + "-0" // the one reporter that the barrier does not reach: it holds its permit, and does not open
	r := rehearsal{number: number, name: name, behind: true, blind: true}
	if old {
		r.cluster.Mutate = func(s *appsv1.StatefulSet) {
			if s.Name == rack2 {
				withArg(s, api.ContainerReporter, "--lease-namespace=")
			}
		}
	}
	relayed := func(d *drill) (string, error) {
		return d.Cluster.Kubectl(d.ctx, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/https:%s:8083/proxy%s?namespace=%s&name=demo",
			d.namespace, rack2+"-0", viewwire.RelayPath, d.namespace))
	}
	r.inject = func(d *drill) {
		d.waits(rack2, newcomer)
		d.must(d.Cluster.CutPods(d.ctx, d.at(newcomer), d.at(silent)))
		d.waitFor("the newcomer to have its permit, and to miss one answer", func(ctx context.Context) (bool, string, error) {
			p, err := d.permitOf(ctx, newcomer)
			if err != nil || p == nil {
				return false, "no permit", err
			}
			return d.says(newcomer, "ReporterSilent", silent)(ctx)
		})
		began = time.Now()
		d.must(d.Cluster.PauseContainer(d.ctx, d.namespace, dead, api.ContainerScyllaDB))
		d.t.Cleanup(func() { _ = d.Cluster.ResumeContainer(context.Background(), d.namespace, dead, api.ContainerScyllaDB) })
		d.must(d.Cluster.SignalContainer(d.ctx, d.namespace, newcomer, staleAPI, syscall.SIGUSR1))
	}
	r.canary = func(d *drill) {
		d.waitFor("the barrier to be answered with what is old", func(ctx context.Context) (bool, string, error) {
			log, err := d.ContainerLog(ctx, d.namespace, newcomer, staleAPI)
			return strings.Contains(log, "answers what it answered before"), tail(log, 3), err
		})
		d.took("its peers see it DOWN", seenDown, began, d.row(silent, `"DOWN"`))
		d.waitFor("the controller to withdraw the permit", func(ctx context.Context) (bool, string, error) {
			p, err := d.permitOf(ctx, newcomer)
			return err == nil && p == nil, fmt.Sprintf("%+v", p), err
		})
		if s := initStatus(d.pod(newcomer), api.ContainerBarrier); s == nil || s.State.Running == nil {
			d.t.Fatalf("%s was let through before the view turned: nothing was tried", newcomer)
		}
		out, err := relayed(d)
		if old && (err == nil || !strings.Contains(out+err.Error(), "NotFound") && !strings.Contains(out+err.Error(), "could not find")) {
			d.t.Fatalf("the older reporter answers %q %v, want 404: nothing was tried", out, err)
		}
		if !old {
			d.waitFor("a peer to relay a view without the permit", func(context.Context) (bool, string, error) {
				out, err := relayed(d)
				return err == nil && strings.Contains(out, dead) && !strings.Contains(out, `"permits":[`), out, err
			})
		}
	}
	r.verify = func(d *drill) {
		d.waitFor("the barrier to name the node by the rows of this moment, or its view as too old", func(ctx context.Context) (bool, string, error) {
			if said, _, err := d.says(newcomer, "NodeDown", dead)(ctx); said || err != nil {
				return said, "", err
			}
			return d.says(newcomer, "ControllerSilent")(ctx)
		})
		d.must(d.Cluster.HealPods(d.ctx, d.at(newcomer), d.at(silent)))
		d.nextView()
		d.holdsFor(newcomer, dwell)
		if !old {
			// Now it does not reach the API server at all. What it knows opens nothing.
			d.must(d.Cluster.IsolatePod(d.ctx, d.at(newcomer), cluster.Isolation{SparePods: true}))
			d.holdsFor(newcomer, dwell)
			d.must(d.Cluster.HealPod(d.ctx, d.at(newcomer)))
		}
	}
	r.cleanUp = func(d *drill) {
		d.must(d.Cluster.SignalContainer(d.ctx, d.namespace, newcomer, staleAPI, syscall.SIGUSR2))
		d.thaw(dead)
		d.ready(4)
	}
	return r
}

// holds are rehearsals of the time until a cluster has its first node.
func holds() []rehearsal {
	return []rehearsal{
		initHold("the controller dies after the first node is NORMAL and before it marks the cluster as initialised", nil),
		initHold("as before, and the controller sets the replica counts", func(s *appsv1.StatefulSet) {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[api.AnnotationWantedReplicas], s.Spec.Replicas = "1", nil
		}),
	}
}

func initHold(name string, handed func(*appsv1.StatefulSet)) rehearsal {
	var (
		began   time.Time
		crashed int32
		first   string
	)
	report := func(ctx context.Context, d *drill) (*api.ScyllaDBStatusReport, error) {
		r := &api.ScyllaDBStatusReport{}
		return r, client.IgnoreNotFound(d.Client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "demo"}, r))
	}
	// started is true once a Pod's ScyllaDB has been let through.
	started := func(ctx context.Context, d *drill, member string) (bool, error) {
		gone, _, err := d.left(member)(ctx)
		return gone, err
	}
	return rehearsal{
		number: 11, name: name, forming: true, blind: true, cluster: scenario.Cluster{Mutate: handed},
		inject: func(d *drill) {
			d.waitFor("the first node to be NORMAL", func(ctx context.Context) (bool, string, error) {
				r, err := report(ctx, d)
				if err != nil || r.Status.View == nil || r.Status.View.Founder == "" {
					return false, "no founder yet", err
				}
				first = r.Status.View.Founder
				return d.row(first, `"operationMode":"NORMAL"`)(ctx)
			})
			began = time.Now()
			crashed = d.killController()
		},
		canary: func(d *drill) {
			r, err := report(d.ctx, d)
			d.must(err)
			if r.Status.Initialized {
				d.t.Fatal("the cluster was initialised before the controller died: nothing was tried")
			}
			d.waitFor("the controller to have been restarted", func(context.Context) (bool, string, error) {
				n := d.controllerPod().Status.ContainerStatuses[0].RestartCount
				return n > crashed, fmt.Sprintf("%d restarts", n), nil
			})
		},
		verify: func(d *drill) {
			d.took("another controller marks the cluster as initialised; no other node has started", initialisedAfter, began, func(ctx context.Context) (bool, string, error) {
				// In this order: a node listed as joining when the report is read afterwards had begun before.
				var begun []string
				for _, m := range others(first) {
					if is, err := started(ctx, d, m); err != nil {
						return false, "", err
					} else if is {
						begun = append(begun, m)
					}
				}
				r, err := report(ctx, d)
				if err == nil && !r.Status.Initialized && len(begun) > 0 {
					d.t.Fatalf("%v began before the cluster was initialised", begun)
				}
				return err == nil && r.Status.Initialized, fmt.Sprintf("%+v", r.Status.Conditions), err
			})
			d.took("all three have joined", 0, began, func(ctx context.Context) (bool, string, error) { return true, "", d.WaitReady(ctx, d.namespace, 3) })
			d.sameCluster()
			r, err := report(d.ctx, d)
			d.must(err)
			if i := r.Status.Initialization; i == nil || i.FirstHostID != d.hostID(first) || r.Status.View == nil || r.Status.View.Founder != first {
				d.t.Errorf("the first node is %s, and the report says %+v with founder %+v", first, i, r.Status.View)
			}
			// No other member was ever the first node of a cluster.
			for _, m := range []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"} {
				log, err := d.ContainerLog(d.ctx, d.namespace, m, api.ContainerScyllaDB)
				d.must(err)
				if founded := strings.Contains(log, string(words.SeedsFirstNode)); founded != (m == first) {
					d.t.Errorf("%s was the first node of a cluster: %v, and the first is %s", m, founded, first)
				}
			}
		},
	}
}
