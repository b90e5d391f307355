// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// Documented times, from docs/internals.md.
const (
	opensAfter      = 12 * time.Second // all UP without a break, and the last look
	leaseOver       = 17 * time.Second // a controller dies, and the next one leads
	podStarted      = 10 * time.Second // Kubernetes makes and starts the next Pod of the controller
	controllerGone  = 30 * time.Second // barriers notice that no controller keeps the reports
	seenDown        = 22 * time.Second // ScyllaDB's own failure detector
	barrierIsolated = 30 * time.Second
)

// rehearsals are the scenarios, by their numbers in docs/internals.md.
func rehearsals() []rehearsal {
	return slices.Concat(starts(), holds(), controllers(), networks(), relays(), volumes())
}

func starts() []rehearsal {
	var began time.Time
	return []rehearsal{{
		number: 1, name: "all racks of a new cluster start at once", forming: true,
		inject: func(d *drill) { began = time.Now() },
		canary: func(d *drill) {
			// They are there side by side, none of them having joined: otherwise nothing was tried.
			d.waitFor("three members at their start", func(ctx context.Context) (bool, string, error) {
				pods, err := d.Pods(ctx, d.namespace)
				return len(pods) == 3, fmt.Sprint(len(pods)), err
			})
		},
		verify: func(d *drill) {
			d.took("three nodes, one cluster", 0, began, func(ctx context.Context) (bool, string, error) {
				return true, "", d.WaitReady(ctx, d.namespace, 3)
			})
			d.sameCluster()
			for _, m := range others(d.first()) {
				d.waitFor(m+" to have waited for the first node", d.says(m, d.first()))
			}
		},
	}, {
		number: 3, name: "a node is DOWN while a new node waits",
		inject: func(d *drill) {
			began = time.Now()
			d.must(d.Cluster.PauseContainer(d.ctx, d.namespace, dead, api.ContainerScyllaDB))
			d.t.Cleanup(func() { _ = d.Cluster.ResumeContainer(context.Background(), d.namespace, dead, api.ContainerScyllaDB) })
		},
		canary: func(d *drill) {
			d.took("its peers see it DOWN", seenDown, began, d.row(rack1+"-0", `"DOWN"`))
			d.waits(rack2, newcomer)
		},
		verify: func(d *drill) {
			d.holdsFor(newcomer, dwell)
			d.waitFor("the barrier to name the node", d.says(newcomer, dead, "DOWN"))
			if d.whileHeld != nil {
				d.whileHeld()
			}
			d.thaw(dead)
			for _, o := range others(dead) {
				d.untilRow(o, victimUp(d.fixture, dead))
			}
			up := time.Now()
			d.took("all nodes are UP again and the barrier opens", opensAfter, up, d.left(newcomer))
			d.ready(4)
		},
	}, {
		number: 10, name: "a join is forced while a node is DOWN",
		inject: func(d *drill) { d.freeze(dead, rack1+"-0") },
		canary: func(d *drill) {
			d.waits(rack2, newcomer)
			d.waitFor("the barrier to name the node", d.says(newcomer, dead, "DOWN"))
		},
		verify: func(d *drill) {
			forced := time.Now()
			if r := d.plugin("force-proceed", newcomer, "--yes", "--reason=a rehearsal"); r.Code != 0 {
				d.t.Fatalf("force-proceed: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
			d.took("forced, and the barrier opens", 5*time.Second, forced, d.left(newcomer))
			d.untilEvent(newcomer, "a rehearsal")
			// This is why a barrier is there. Were the node back before it, the newcomer would join, and
			// would be missing as a member after the clean-up.
			d.waitFor("the join to be cancelled and the host ID banned", d.banned(newcomer))
		},
		cleanUp: func(d *drill) {
			d.must(d.Scale(d.ctx, d.namespace, rack2, 1))
			d.thaw(dead)
		},
	}}
}

func controllers() []rehearsal {
	var (
		began   time.Time
		crashed int32
		before  *api.StatusReportView
		pods    []corev1.Pod
	)
	again := func(d *drill) func(context.Context) (bool, string, error) {
		return func(context.Context) (bool, string, error) {
			n := d.controllerPod().Status.ContainerStatuses[0].RestartCount
			return n > crashed, fmt.Sprintf("%d restarts", n), nil
		}
	}
	return []rehearsal{{
		number: 2, name: "the controller dies while all nodes are UP",
		inject: func(d *drill) {
			var err error
			before, err = d.view(d.ctx)
			d.must(err)
			pods, err = d.Pods(d.ctx, d.namespace)
			d.must(err)
			began = time.Now()
			crashed = d.killController()
		},
		canary: func(d *drill) { d.waitFor("the controller to have been restarted", again(d)) },
		verify: func(d *drill) {
			d.took("a controller leads again and writes a view of a later epoch", leaseOver, began, func(ctx context.Context) (bool, string, error) {
				v, err := d.view(ctx)
				return v != nil && before != nil && v.Epoch > before.Epoch, fmt.Sprintf("%+v", v), err
			})
			now, err := d.Pods(d.ctx, d.namespace)
			d.must(err)
			for i := range now {
				if now[i].UID != pods[i].UID || restarts(&now[i]) != restarts(&pods[i]) {
					d.t.Errorf("%s was restarted", now[i].Name)
				}
			}
		},
	}, {
		number: 4, name: "the controller freezes while its report shows UP, and a node fails", blind: true,
		inject: func(d *drill) {
			// A newcomer has to wait while everything is UP: it does while all have to stay UP.
			d.freeze(dead, rack1+"-0")
			d.waits(rack2, newcomer)
			d.thaw(dead)
			d.untilAllUp("demo", 3)
			p := d.controllerPod()
			d.must(d.Cluster.PauseContainer(d.ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name))
			d.t.Cleanup(func() {
				_ = d.Cluster.ResumeContainer(context.Background(), p.Namespace, p.Name, p.Spec.Containers[0].Name)
			})
			began = time.Now()
			d.must(d.Cluster.PauseContainer(d.ctx, d.namespace, dead, api.ContainerScyllaDB))
		},
		canary: func(d *drill) {
			d.took("its peers see it DOWN", seenDown, began, d.row(rack1+"-0", `"DOWN"`))
			if s := initStatus(d.pod(newcomer), api.ContainerBarrier); s == nil || s.State.Running == nil {
				d.t.Fatalf("%s was let through before the node was seen DOWN: nothing was tried", newcomer)
			}
		},
		verify: func(d *drill) {
			d.holdsFor(newcomer, dwell+controllerGone)
			d.waitFor("the barrier to say why", d.says(newcomer, "ControllerSilent"))
			p := d.controllerPod()
			d.must(d.Cluster.ResumeContainer(d.ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name))
			d.nextView()
			d.holdsFor(newcomer, dwell)
		},
		cleanUp: func(d *drill) { d.thaw(dead); d.ready(4) },
	}, {
		number: 5, name: "the controller dies at each stage of a replacement",
		cluster: scenario.Cluster{Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "20"}},
		inject:  func(d *drill) { d.kill(dead, rack1+"-0"); d.untilRow(rack2+"-0", `"DOWN"`) },
		canary:  func(d *drill) { d.longDown(dead) },
		verify:  killedAtEachStage,
	}, {
		number: 16, name: "the API server refuses the controller's reports", blind: true,
		inject: func(d *drill) {
			out, err := d.Cluster.KubectlInput(d.ctx, fmt.Sprintf(noReports, d.namespace), "apply", "-f", "-")
			if err != nil {
				d.t.Fatal(out, err)
			}
			d.t.Cleanup(func() { d.reportsAllowed() })
			d.waitFor("a report to be refused", func(ctx context.Context) (bool, string, error) {
				r, err := d.report(ctx, "demo")
				if err != nil {
					return false, "", err
				}
				err = d.Client.Patch(ctx, r, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"rehearsal":"tried"}}}`)))
				return err != nil && strings.Contains(err.Error(), "a rehearsal refuses it"), fmt.Sprint(err), nil
			})
		},
		canary: func(d *drill) {
			began = time.Now()
			d.must(d.Cluster.PauseContainer(d.ctx, d.namespace, dead, api.ContainerScyllaDB))
			d.took("its peers see it DOWN", seenDown, began, d.row(rack1+"-0", `"DOWN"`))
			d.must(d.Scale(d.ctx, d.namespace, rack2, 2))
			d.untilBarrierRuns(newcomer)
		},
		verify:  func(d *drill) { d.holdsFor(newcomer, dwell+controllerGone) },
		cleanUp: func(d *drill) { d.reportsAllowed(); d.thaw(dead); d.ready(4) },
	}}
}

// killedAtEachStage counts how often the claim goes while the controller is killed whenever the replacement has come one step further.
func killedAtEachStage(d *drill) {
	old, claim := d.hostID(dead), d.claim(dead)
	events, err := d.Client.Watch(d.ctx, &corev1.PersistentVolumeClaimList{}, client.InNamespace(d.namespace))
	d.must(err)
	defer events.Stop()
	var deleted atomic.Int32
	go func() {
		for e := range events.ResultChan() {
			if e.Type == watch.Deleted && e.Object.(client.Object).GetName() == "data-"+dead {
				deleted.Add(1)
			}
		}
	}()
	if r := d.replace(dead, "--yes", "--wait=false", atOnce); r.Code != 0 {
		d.t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	began := time.Now()
	var stages []string
	d.waitFor("the replacement to end although the controller dies at each stage", func(ctx context.Context) (bool, string, error) {
		s := d.service(dead)
		if _, open := s.Labels[api.LabelReplace]; !open && s.Annotations[api.AnnotationHostID] != old {
			return true, "", nil
		}
		stage, err := d.stage(ctx, s)
		if err == nil && !slices.Contains(stages, stage) {
			stages = append(stages, stage)
			d.loseController()
		}
		return false, fmt.Sprint(stages), err
	})
	d.took("the replacement ends; its PVC was deleted once", 0, began, func(context.Context) (bool, string, error) { return true, "", nil })
	d.t.Logf("the controller died at %q", stages)
	if len(stages) < 2 {
		d.t.Errorf("the controller was killed at %q only", stages)
	}
	if n := deleted.Load(); n != 1 {
		d.t.Errorf("the claim was deleted %d times, want once", n)
	}
	d.replaced(dead, old, claim)
}

// stage is how far the objects of a replacement are.
func (d *drill) stage(ctx context.Context, s *corev1.Service) (string, error) {
	claim, pod := &corev1.PersistentVolumeClaim{}, &corev1.Pod{}
	err := errors.Join(client.IgnoreNotFound(d.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "data-" + s.Name}, claim)),
		client.IgnoreNotFound(d.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, pod)))
	return fmt.Sprintf("accepted %v, claim %s deleting %v, Pod %s deleting %v", s.Annotations[api.AnnotationReplaceAccepted] != "",
		claim.UID, claim.DeletionTimestamp != nil, pod.UID, pod.DeletionTimestamp != nil), err
}

// noReports refuses every write of our reports in one namespace.
const noReports = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rehearsal-%[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [scylladbstatusreports, scylladbstatusreports/status, scylladbdatacenternodesstatusreports]}
  validations:
  - {expression: "false", message: "a rehearsal refuses it"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rehearsal-%[1]s}
spec:
  policyName: rehearsal-%[1]s
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
`

func (d *drill) reportsAllowed() {
	name := "rehearsal-" + d.namespace
	_, _ = d.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "validatingadmissionpolicybinding/"+name, "validatingadmissionpolicy/"+name)
}

func networks() []rehearsal {
	var began time.Time
	return []rehearsal{{
		number: 7, name: "two nodes do not reach each other, all others reach both",
		inject: func(d *drill) {
			began = time.Now()
			d.must(d.Cluster.CutPods(d.ctx, d.at(rack2+"-0"), d.at(dead)))
		},
		canary: func(d *drill) {
			d.took("one of them sees the other DOWN", seenDown, began, d.row(rack2+"-0", `"DOWN"`))
			d.waits(rack3, rack3+"-1")
		},
		verify: func(d *drill) {
			d.holdsFor(rack3+"-1", dwell)
			d.waitFor("the barrier to name both ends", d.says(rack3+"-1", rack2+"-0", dead))
			if r := d.plugin("status"); r.Code != 3 || strings.Contains(r.Stdout, "kubectl scylla replace ") {
				d.t.Errorf("status of a broken link: exit %d\n%s", r.Code, r.Stdout)
			}
		},
		cleanUp: func(d *drill) {
			d.must(d.Cluster.HealPods(d.ctx, d.at(rack2+"-0"), d.at(dead)))
			d.ready(4)
		},
	}, {
		number: 9, name: "a barrier is cut off from everything", blind: true,
		inject: func(d *drill) {
			d.freeze(dead, rack1+"-0")
			d.waits(rack2, newcomer)
			d.waitFor("the barrier to name the node", d.says(newcomer, dead, "DOWN"))
			began = time.Now()
			d.must(d.Cluster.IsolatePod(d.ctx, d.at(newcomer), cluster.Isolation{}))
			d.thaw(dead)
		},
		canary: func(d *drill) { d.untilRow(rack1+"-0", victimUp(d.fixture, dead)) },
		verify: func(d *drill) {
			d.holdsFor(newcomer, dwell)
			d.took("it shows that no newer view reaches it", barrierIsolated, began, func(ctx context.Context) (bool, string, error) {
				log, err := d.ContainerLog(ctx, d.namespace, newcomer, api.ContainerBarrier)
				return strings.Contains(log, "Isolated") || strings.Contains(log, "ControllerSilent") || strings.Contains(log, "APIUnreachable"), tail(log, 3), err
			})
			d.holdsFor(newcomer, dwell)
		},
		cleanUp: func(d *drill) { d.must(d.Cluster.HealPod(d.ctx, d.at(newcomer))); d.ready(4) },
	}, {
		number: 13, name: "a reporter hangs without ending",
		inject: func(d *drill) {
			began = time.Now()
			d.must(d.Cluster.SignalContainer(d.ctx, d.namespace, dead, api.ContainerReporter, syscall.SIGSTOP))
			d.t.Cleanup(func() {
				_ = d.Cluster.SignalContainer(context.Background(), d.namespace, dead, api.ContainerReporter, syscall.SIGCONT)
			})
		},
		canary: func(d *drill) { d.waits(rack2, newcomer) },
		verify: func(d *drill) {
			d.holdsFor(newcomer, opensAfter+dwell)
			d.took("the barrier names the node whose report is out of date", 0, began, d.says(newcomer, dead))
		},
		cleanUp: func(d *drill) {
			d.must(d.Cluster.SignalContainer(d.ctx, d.namespace, dead, api.ContainerReporter, syscall.SIGCONT))
			d.ready(4)
		},
	}, {
		number: 15, name: "a node is decommissioned while a new node waits",
		cluster: scenario.Cluster{Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "40"}},
		inject: func(d *drill) {
			d.must(d.Scale(d.ctx, d.namespace, rack2, 2))
			d.ready(4)
			go func() {
				_, _ = d.Cluster.Kubectl(d.ctx, "-n", d.namespace, "exec", newcomer, "-c", api.ContainerScyllaDB, "--", "/usr/bin/nodetool", "decommission")
			}()
		},
		canary: func(d *drill) {
			d.untilRow(rack1+"-0", `"LEAVING"`)
			began = time.Now()
			d.must(d.Scale(d.ctx, d.namespace, rack3, 2))
		},
		verify: func(d *drill) {
			d.took("the leaving node blocks no join", 0, began, d.left(rack3+"-1"))
			d.waitFor("it to have joined", d.row(rack1+"-0", d.hostID(rack3+"-1")))
		},
		cleanUp: func(d *drill) { d.must(d.Scale(d.ctx, d.namespace, rack2, 1)) },
	}}
}

func volumes() []rehearsal {
	var (
		lost  string
		began time.Time
	)
	lose := func(d *drill, member string) {
		lost, began = member, time.Now()
		claim := d.pvc(member)
		d.must(d.Client.Delete(d.ctx, claim))
		d.must(d.Client.Delete(d.ctx, d.pod(member)))
		d.waitFor("a new, empty volume", func(ctx context.Context) (bool, string, error) {
			c := &corev1.PersistentVolumeClaim{}
			err := d.Client.Get(ctx, client.ObjectKeyFromObject(claim), c)
			return err == nil && c.UID != claim.UID && c.DeletionTimestamp == nil, string(c.UID), client.IgnoreNotFound(err)
		})
	}
	held := func(d *drill) { d.untilBarrierRuns(lost) }
	toReplace := func(d *drill) {
		d.took("the barrier names the replacement once the node has been DOWN for 40s", 0, began, d.says(lost, "kubectl scylla replace"))
		d.holdsFor(lost, dwell)
		old, claim := d.hostID(lost), d.claim(lost)
		if r := d.replace(lost, "--yes", "--timeout=10m", atOnce); r.Code != 0 {
			d.t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
		}
		d.replaced(lost, old, claim)
		d.sameCluster()
	}
	// For 5 minutes otherwise a DOWN node counts as one that restarts, whatever its new volume holds.
	sooner := scenario.Cluster{Mutate: func(s *appsv1.StatefulSet) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, healthpolicy.Annotation(healthpolicy.FieldDead), "40s")
	}}
	return []rehearsal{
		{
			number: 12, name: "the first node of all loses its disk", cluster: sooner,
			inject: func(d *drill) { lose(d, d.first()) }, canary: held, verify: toReplace,
		},
		{
			number: 14, name: "a node loses its disk", cluster: sooner,
			inject: func(d *drill) { lose(d, others(d.first())[0]) }, canary: held, verify: toReplace,
		},
	}
}
