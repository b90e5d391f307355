// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const replaced = "demo-dc1-rack3-0"

func failedReplacement() *plugintest.Cluster {
	return plugintest.New(4, 1).Replacing(replaced).Exited(replaced, 0)
}

// ghost has a host ID that rows list and no object has.
func ghost() []client.Object {
	return plugintest.New(3, 2).DownSince("demo-dc1-rack2-1", time.Hour).Leftover("demo-dc1-rack2-1")
}

func TestStatusOfReplacements(t *testing.T) {
	plugintest.Screens(t, map[string]plugintest.Run{
		"a failed replacement as JSON": {Args: []string{"status", "demo", "-n", "demo", "-o", "jsonpath={.items[0].replacements}"},
			Objects: failedReplacement().Objects()},
		"a ghost as JSON": {Args: []string{"status", "demo", "-n", "demo", "-o", "jsonpath={.items[0].leftovers}"}, Objects: ghost()},
	}, plugintest.Run.Transcript)
}

// The reason is in the log of the run before the last one. Only the logs of members that do not run are read, once.
func TestLogsAreReadOfWhatDoesNotRun(t *testing.T) {
	var asked atomic.Int32
	setup := logServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		text := "ERROR 2026-11-21 09:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (The node has already been removed from the cluster)\n"
		if r.URL.Query().Get("previous") == "true" {
			text = "ERROR 2026-11-21 08:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n" + text
		}
		_, _ = io.WriteString(w, text)
	})
	for _, verb := range [][]string{{"status", "demo"}, {"barrier", replaced}} {
		asked.Store(0)
		res := plugintest.Run{Args: append(verb, "-n", "demo"), Objects: failedReplacement().Objects(), Setup: setup}.Do(t)
		if !strings.Contains(res.Stdout, "log of ScyllaDB on Pod") || !strings.Contains(res.Stdout, "some required nodes are dead") ||
			!strings.Contains(res.Stdout, "kubectl scylla replace resume "+replaced+" -n demo") {
			t.Errorf("%v:\n%s%s", verb, res.Stdout, res.Stderr)
		}
		if asked.Load() != 1 {
			t.Errorf("%v: %d logs were read, want that of the run before", verb, asked.Load())
		}
		asked.Store(0)
		_ = plugintest.Run{Args: append(verb, "-n", "demo"), Objects: plugintest.New(4, 1).Objects(), Setup: setup}.Do(t)
		if asked.Load() != 0 {
			t.Errorf("%v: %d logs were read though every node runs", verb, asked.Load())
		}
	}
}

// TestEverySurfaceShowsOneProgress: the dashboard said "in progress, wait" of a replacement that had failed, with the resume command in status.
func TestEverySurfaceShowsOneProgress(t *testing.T) {
	const cancelled = "ERROR 2026-11-21 08:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n"
	requested := plugintest.New(4, 1).DownSince(replaced, time.Hour)
	requested.Service(replaced).Labels[api.LabelReplace] = ""
	runs := plugintest.New(4, 1).Replacing(replaced)
	runs.Pod(replaced).Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-10 * time.Minute))}}}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		log     string
		failed  bool
		resume  bool
	}{
		"requested":                        {cluster: requested},
		"in progress":                      {cluster: plugintest.New(4, 1).Replacing(replaced)},
		"its new node joins":               {cluster: runs},
		"it exited":                        {cluster: failedReplacement(), failed: true},
		"it exited, and its log shows why": {cluster: failedReplacement(), log: cancelled, failed: true, resume: true},
		"it runs, and its log shows that it has failed": {cluster: runs, log: cancelled, failed: true, resume: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range []string{"status demo", "status demo -o json", "describe " + replaced, "barrier " + replaced, "replace status " + replaced,
				"dashboard demo --once --width=200 --height=80", "report demo -o json", "report demo -o html"} {
				run := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo"), Objects: tc.cluster.Objects(), Logs: map[string]string{replaced + "/scylla": tc.log}}
				out := strings.Join(strings.Fields(run.Do(t).Stdout), " ")
				failed := strings.Contains(strings.ReplaceAll(out, "Failed", "failed"), "failed") && !strings.Contains(out, `"failed":false`)
				resume := strings.Contains(strings.ReplaceAll(out, `", "`, " "), "replace resume")
				if failed != tc.failed || resume != tc.resume {
					t.Errorf("%v: failed %v, resume %v:\n%.3000s", args, failed, resume, out)
				}
			}
		})
	}
}

// TestAttack8AClaimThatIsDeletedUnderALiveNode: every node is UP and Ready, and the volume of one is deleted when its Pod ends. The output says so, says how to save the data,
// and does not advise to restart or replace anything.
func TestAttack8AClaimThatIsDeletedUnderALiveNode(t *testing.T) {
	const target = "demo-dc1-rack2-0"
	objects := func(operator, asked bool) []client.Object {
		c := plugintest.New(3, 1)
		if asked {
			c.Service(target).Labels[api.LabelReplace] = ""
		}
		all := c.Objects()
		if operator {
			all = c.OperatorObjects("dc1", nil)
		}
		return append(all, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "demo", Name: "data-" + target, Labels: map[string]string{api.LabelCluster: "demo"},
				Finalizers: []string{"kubernetes.io/pvc-protection"}, DeletionTimestamp: &metav1.Time{Time: plugintest.Now},
			},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-rack2"},
		})
	}
	says := []string{
		"data-" + target + " of running node " + target + " Terminating", "do not restart or delete Pod " + target,
		"kubectl patch persistentvolume pvc-rack2", "nodetool decommission",
	}
	for args, want := range map[string][]string{
		"status": append(says, exit3), "describe " + target: append(says, exit0), "report -o wide": append(says, exit0),
		"status -o yaml": {"kind: ClaimDeleting", "claim: data-" + target, "pod: " + target, exit3},
	} {
		for _, operator := range []bool{false, true} {
			for _, asked := range []bool{false, true} {
				shows(t, objects(operator, asked), args, want, "kubectl scylla replace "+target)
			}
		}
	}
}

// TestBesideOperator10ALostHostIDDeletesNoClaim: a Service that says that its node has joined has lost its host ID; no output advises to delete the claim.
func TestBesideOperator10ALostHostIDDeletesNoClaim(t *testing.T) {
	objects := edit(down().OperatorObjects("dc1", nil), replaced, func(s *corev1.Service) { delete(s.Annotations, api.AnnotationHostID) })
	shows(t, nil, "replace "+replaced+" --dry-run=client --from "+plugintest.Save(t, objects), []string{"delete nothing. Run kubectl scylla status"}, "delete its PVC")
}

const joiner = "demo-dc1-rack2-1"

// joining is a cluster with a new node behind its barrier, whose container of ScyllaDB has this state, and had that one before.
func joining(state, before corev1.ContainerState) *plugintest.Cluster {
	c := plugintest.New(3, 1)
	p := c.Pod(c.Newcomer("dc1", "rack2", 1))
	p.Status.Phase = corev1.PodRunning
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: state, LastTerminationState: before}
	if before.Terminated != nil {
		p.Status.ContainerStatuses[0].RestartCount = 3
	}
	return c
}

// exited is the state of a container that ended with that code and message; it waits in crashes, and runs in up.
func exited(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(plugintest.Now)}}
}

var (
	crashes = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	up      = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
)

// TestBesideOperator8ABannedNewcomerIsNotHealthy: every node is UP, and the newcomer can never join: its log says so, or its container's last words.
func TestBesideOperator8ABannedNewcomerIsNotHealthy(t *testing.T) {
	const why = "request canceled because some required nodes are dead"
	const said = "ERROR 2026-11-21 11:59:09 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: " + why + ")\n"
	const well = "INFO starting\n"
	for name, tc := range map[string]struct {
		state, before corev1.ContainerState
		log           string
		banned        bool
	}{
		"it crashes, and its log says why":                         {crashes, exited(1, ""), said, true},
		"it crashes, and its log says nothing":                     {crashes, exited(1, ""), well, false},
		"it ended with exit code 0":                                {exited(0, ""), corev1.ContainerState{}, well, false},
		"it ended with exit code 0, and waits to be started again": {crashes, exited(0, ""), well, false},
		"it ended with exit code 0, and is started again":          {up, exited(0, ""), well, false},
		"its log is not there, and its last words say why":         {crashes, exited(1, said), "", true},
		"its last words say why, after much else":                  {crashes, exited(1, strings.Repeat(well, 1<<16)+said), "", true},
		"its last words are of nothing that lasts":                 {crashes, exited(1, well), "", false},
		"it joins":                              {up, corev1.ContainerState{}, well, false},
		"it runs on, refused once before a try": {up, corev1.ContainerState{}, said, true},
	} {
		c := joining(tc.state, tc.before)
		for who, all := range map[string][]client.Object{"ours": c.Objects(), "the operator's": c.OperatorObjects("dc1", nil)} {
			t.Run(name+", "+who, func(t *testing.T) {
				code, run := 0, plugintest.Run{Objects: all, Logs: map[string]string{joiner + "/scylla": tc.log}}
				if tc.banned {
					code = 3
				}
				run.Args = []string{"status", "-n", "demo", "-o", "wide"}
				got := run.Do(t)
				if got.Code != code || strings.Contains(got.Stdout, why) != tc.banned || tc.banned && !strings.Contains(got.Stdout, "data-"+joiner) {
					t.Errorf("status ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
				if got := (plugintest.Run{Args: []string{"status", "--from", plugintest.Save(t, all)}}).Do(t); (tc.log == "" || tc.state.Terminated != nil) && got.Code != code {
					t.Errorf("status of a file ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
				run.Args = []string{"barrier", joiner, "-n", "demo"}
				if got = run.Do(t); got.Code != code || strings.Contains(got.Stdout, "PASSED") == tc.banned {
					t.Errorf("barrier ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
			})
		}
	}
}

// TestNoHarm6AnExitCodeIsNoBan: the container of a new node ended. Its exit code is that of the image's entrypoint, 0 after SIGTERM and after an error of the entrypoint, so nothing
// is named that costs a volume or bans a host ID; what is printed is how to look.
func TestNoHarm6AnExitCodeIsNoBan(t *testing.T) {
	for _, code := range []int32{0, 1} {
		for name, c := range map[string]*plugintest.Cluster{
			"joins, ended": joining(exited(code, ""), corev1.ContainerState{}), "joins, waits": joining(crashes, exited(code, "")),
			"replaces": plugintest.New(3, 1).Replacing(replaced).Exited(replaced, code),
		} {
			member, lines := joiner, []string{"status", "describe MEMBER", "barrier MEMBER"}
			if name == "replaces" {
				member, lines = replaced, append(lines, "replace status MEMBER")
			}
			for _, line := range lines {
				t.Run(fmt.Sprintf("%s with %d, %s", name, code, line), func(t *testing.T) {
					got := plugintest.Run{Objects: c.Objects(), Args: strings.Fields(strings.ReplaceAll(line, "MEMBER", member) + " -n demo"),
						Logs: map[string]string{member + "/scylla": "INFO starting\n"}}.Do(t)
					for _, harm := range []string{"delete pvc", "replace resume", "banned", "poisoned", "REFUSE"} {
						if strings.Contains(got.Stdout, harm) {
							t.Errorf("%q is printed:\n%s%s", harm, got.Stdout, got.Stderr)
						}
					}
					if look := "kubectl logs " + member + " -c scylla "; (line == "status" || name == "replaces") && !strings.Contains(got.Stdout, look) {
						t.Errorf("no %q in:\n%s%s", look, got.Stdout, got.Stderr)
					}
				})
			}
		}
	}
}

// TestNoHarm7ANewPodIsNamedOnlyInTheShadowRound: a new node that no node has heard of for ten minutes. Once discovery has begun its peers are on its volume, so that a new Pod gets no
// other addresses.
func TestNoHarm7ANewPodIsNamedOnlyInTheShadowRound(t *testing.T) {
	const (
		shadow    = "INFO  2026-11-21 11:50:00,000 [shard 0:strm] gossip - Gossip shadow round started with nodes={10.0.0.1}\n"
		discovers = "INFO  2026-11-21 11:50:01,000 [shard 0:main] raft_group0 - server 0ddba115-5ea1-4d00-8000-0000000000f1 found no local group 0. Discovering...\n"
	)
	long := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-10 * time.Minute))}}
	for name, tc := range map[string]struct {
		replaces bool
		log      string
		newPod   bool
	}{
		"joins, discovers":              {false, discovers, false},
		"joins, its log says nothing":   {false, "INFO starting\n", false},
		"replaces, in the shadow round": {true, shadow, true},
		"replaces, discovers":           {true, shadow + discovers, false},
		"replaces, says nothing":        {true, "INFO starting\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, member, args := joining(long, corev1.ContainerState{}), joiner, []string{"status", "-n", "demo"}
			if tc.replaces {
				c, member, args = plugintest.New(3, 1).Replacing(replaced), replaced, []string{"replace", "status", replaced, "-n", "demo"}
			}
			all := edit(c.Objects(), member, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: long}
				p.Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"0ddba115-5ea1-4d00-8000-0000000000f1","operationMode":"STARTING"}`}
			})
			got := plugintest.Run{Objects: all, Args: args, Logs: map[string]string{member + "/scylla": tc.log}}.Do(t)
			look := strings.Contains(got.Stdout, "kubectl logs "+member+" -c scylla -n demo")
			if strings.Contains(got.Stdout, "delete pod") != tc.newPod || look == tc.newPod || strings.Contains(got.Stdout, "delete pvc") || strings.Contains(got.Stdout, "replace resume") {
				t.Errorf("a new Pod is named, want %t:\n%s%s", tc.newPod, got.Stdout, got.Stderr)
			}
		})
	}
}
