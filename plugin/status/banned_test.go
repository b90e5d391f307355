// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// logs answers requests for a container's log with this text.
func logs(t *testing.T, text string) func(*cli.Deps) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			_, _ = fmt.Fprint(w, text)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }
	}
}

// TestBesideOperator8ABannedNewcomerIsNotHealthy: every node is UP, and the newcomer can never join: its log says so, or its container's last words.
func TestBesideOperator8ABannedNewcomerIsNotHealthy(t *testing.T) {
	const said = "ERROR 2026-11-21 11:59:09 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n"
	crashing := corev1.ContainerStatus{
		Name: api.ContainerScyllaDB, RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(plugintest.Now)}},
	}
	again := func(state corev1.ContainerState, end corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: api.ContainerScyllaDB, RestartCount: 3, State: state, LastTerminationState: corev1.ContainerState{Terminated: &end}}
	}
	message := func(text string) corev1.ContainerStateTerminated {
		return corev1.ContainerStateTerminated{ExitCode: 1, Message: text}
	}
	ended := corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}}
	joining := corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	objects := func(st corev1.ContainerStatus, operator bool) []client.Object {
		c := plugintest.New(3, 1)
		p := c.Pod(c.Newcomer("dc1", "rack2", 1))
		p.Status.Phase, p.Status.ContainerStatuses[0] = corev1.PodRunning, st
		p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
		if operator {
			return c.OperatorObjects("dc1", nil)
		}
		return c.Objects()
	}
	for name, tc := range map[string]struct {
		status corev1.ContainerStatus
		log    string
		want   string // empty: healthy
	}{
		"it crashes, and its log says why":                         {crashing, said, "request canceled because some required nodes are dead"},
		"it crashes, and its log says nothing":                     {crashing, "INFO starting\n", ""},
		"it ended with exit code 0":                                {ended, "INFO starting\n", ""},
		"it ended with exit code 0, and waits to be started again": {again(crashing.State, corev1.ContainerStateTerminated{}), "INFO starting\n", ""},
		"it ended with exit code 0, and is started again":          {again(joining.State, corev1.ContainerStateTerminated{}), "INFO starting\n", ""},
		"its log is not there, and its last words say why":         {again(crashing.State, message(said)), "", "request canceled because some required nodes are dead"},
		"its last words say why, after much else":                  {again(crashing.State, message(strings.Repeat("INFO starting\n", 1<<16)+said)), "", "request canceled because some required nodes are dead"},
		"its last words are of nothing that lasts":                 {again(crashing.State, message("INFO starting\n")), "", ""},
		"it joins":                              {joining, "INFO starting\n", ""},
		"it runs on, refused once before a try": {joining, said, "request canceled because some required nodes are dead"},
	} {
		for _, operator := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, operator %t", name, operator), func(t *testing.T) {
				all := objects(tc.status, operator)
				code := map[bool]int{true: 0, false: 3}[tc.want == ""]
				got := plugintest.Run{Objects: all, Args: []string{"status", "-n", "demo", "-o", "wide"}, Setup: logs(t, tc.log)}.Do(t)
				if got.Code != code || !strings.Contains(got.Stdout, tc.want) || tc.want != "" && !strings.Contains(got.Stdout, "data-demo-dc1-rack2-1") {
					t.Errorf("status ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
				if got := (plugintest.Run{Args: []string{"status", "--from", plugintest.Save(t, all)}}).Do(t); (tc.log == "" || tc.status.State.Terminated != nil) && got.Code != code {
					t.Errorf("status of a file ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
				got = plugintest.Run{Objects: all, Args: []string{"barrier", "demo-dc1-rack2-1", "-n", "demo"}, Setup: logs(t, tc.log)}.Do(t)
				if got.Code != code || strings.Contains(got.Stdout, "PASSED") != (tc.want == "") {
					t.Errorf("barrier ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
				}
			})
		}
	}
}

// TestNoHarm6AnExitCodeIsNoBan: the container of a new node ended. Its exit code is that of the image's entrypoint, 0 after SIGTERM and after an error of the entrypoint, so nothing
// is named that costs a volume or bans a host ID; what is printed is how to look.
func TestNoHarm6AnExitCodeIsNoBan(t *testing.T) {
	for _, exit := range []int32{0, 1} {
		end := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: metav1.NewTime(plugintest.Now)}}
		waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		joins := func(st corev1.ContainerStatus) (*plugintest.Cluster, string) {
			c := plugintest.New(3, 1)
			p := c.Pod(c.Newcomer("dc1", "rack2", 1))
			st.Name, p.Status.Phase = api.ContainerScyllaDB, corev1.PodRunning
			p.Status.ContainerStatuses[0] = st
			p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
			return c, p.Name
		}
		for name, stage := range map[string]func() (*plugintest.Cluster, string){
			"joins, ended": func() (*plugintest.Cluster, string) { return joins(corev1.ContainerStatus{State: end}) },
			"joins, waits": func() (*plugintest.Cluster, string) {
				return joins(corev1.ContainerStatus{State: waits, LastTerminationState: end})
			},
			"replaces": func() (*plugintest.Cluster, string) {
				const member = "demo-dc1-rack3-0"
				return plugintest.New(3, 1).Replacing(member).Exited(member, exit), member
			},
		} {
			for _, args := range [][]string{{"status"}, {"describe", "MEMBER"}, {"barrier", "MEMBER"}, {"replace", "status", "MEMBER"}} {
				if name != "replaces" && args[0] == "replace" {
					continue
				}
				t.Run(fmt.Sprintf("%s with %d, %s", name, exit, args[0]), func(t *testing.T) {
					c, member := stage()
					line := append(strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "MEMBER", member)), "-n", "demo")
					got := plugintest.Run{Objects: c.Objects(), Args: line, Setup: logs(t, "INFO starting\n")}.Do(t)
					for _, harm := range []string{"delete pvc", "replace resume", "banned", "poisoned", "REFUSE"} {
						if strings.Contains(got.Stdout, harm) {
							t.Errorf("%q is printed:\n%s%s", harm, got.Stdout, got.Stderr)
						}
					}
					if look := "kubectl logs " + member + " -c scylla "; (args[0] == "status" || name == "replaces") && !strings.Contains(got.Stdout, look) {
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
	starts := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-10 * time.Minute))},
		}}
		p.Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"0ddba115-5ea1-4d00-8000-0000000000f1","operationMode":"STARTING"}`}
	}
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
			c, member := plugintest.New(3, 1), "demo-dc1-rack3-0"
			args := []string{"replace", "status", member, "-n", "demo"}
			if tc.replaces {
				c = c.Replacing(member)
			} else {
				member, args = c.Newcomer("dc1", "rack2", 1), []string{"status", "-n", "demo"}
				c.Pod(member).Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
			}
			all := c.Objects()
			for _, o := range all {
				if p, is := o.(*corev1.Pod); is && p.Name == member {
					starts(p)
				}
			}
			got := plugintest.Run{Objects: all, Args: args, Setup: logs(t, tc.log)}.Do(t)
			look := strings.Contains(got.Stdout, "kubectl logs "+member+" -c scylla -n demo")
			if strings.Contains(got.Stdout, "delete pod") != tc.newPod || look == tc.newPod || strings.Contains(got.Stdout, "delete pvc") || strings.Contains(got.Stdout, "replace resume") {
				t.Errorf("a new Pod is named, want %t:\n%s%s", tc.newPod, got.Stdout, got.Stderr)
			}
		})
	}
}
