// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
)

const replicas = 4

var appOnce sync.Once

// app returns the shared cluster with the StatefulSet "app" of testdata/app.yaml in it, all pods ready.
func app(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := nodes(t)
	appOnce.Do(func() { kubectl(t, c, "apply", "-f", "testdata/app.yaml") })
	waitReplicas(t, c)
	return c
}

func waitReplicas(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	eventually(t, "all pods of the StatefulSet to be ready", func(ctx context.Context) (bool, string, error) {
		out, err := c.Kubectl(ctx, "get", "statefulset", "app", "-o", "jsonpath={.status.readyReplicas} of {.status.replicas}")
		return out == fmt.Sprintf("%d of %d", replicas, replicas), out, err
	})
}

func pod(i int) cluster.Pod {
	return cluster.Pod{Namespace: "default", Name: "app-" + strconv.Itoa(i)}
}

// in runs the workload's binary in a pod.
func in(ctx context.Context, c *cluster.Cluster, p cluster.Pod, args ...string) (string, error) {
	return c.Kubectl(ctx, append([]string{"exec", "-n", p.Namespace, p.Name, "-c", "app", "--", "/workload"}, args...)...)
}

func mustIn(t *testing.T, c *cluster.Cluster, p cluster.Pod, args ...string) string {
	t.Helper()
	out, err := in(t.Context(), c, p, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ip(t *testing.T, c *cluster.Cluster, p cluster.Pod) string {
	t.Helper()
	return kubectl(t, c, "get", "pod", "-n", p.Namespace, p.Name, "-o", "jsonpath={.status.podIP}")
}

func nodeOf(t *testing.T, c *cluster.Cluster, p cluster.Pod) string {
	t.Helper()
	return kubectl(t, c, "get", "pod", "-n", p.Namespace, p.Name, "-o", "jsonpath={.spec.nodeName}")
}

// neighbours returns two pods of one Kubernetes node and one of another. Four pods on three nodes: there are such.
func neighbours(t *testing.T, c *cluster.Cluster) (a, b, far cluster.Pod) {
	t.Helper()
	on := map[string][]cluster.Pod{}
	for i := range replicas {
		n := nodeOf(t, c, pod(i))
		on[n] = append(on[n], pod(i))
	}
	for _, pods := range on {
		if len(pods) == 2 {
			a, b = pods[0], pods[1]
		} else {
			far = pods[0]
		}
	}
	if a.Name == "" || far.Name == "" {
		t.Fatalf("pods are not spread over the nodes 2, 1, 1: %v", on)
	}
	return a, b, far
}

func wantReach(t *testing.T, c *cluster.Cluster, from, to cluster.Pod, want bool) {
	t.Helper()
	_, err := in(t.Context(), c, from, "dial", ip(t, c, to)+":8080")
	if (err == nil) != want {
		t.Errorf("%s reaches %s: %t, want %t (error %v)", from, to, err == nil, want, err)
	}
	if err != nil && !want && !strings.Contains(err.Error(), "i/o timeout") {
		t.Errorf("%s to %s fails with %v, want a timeout as with lost packets", from, to, err)
	}
}

func TestKubernetesNodesAreReadyInTheirZones(t *testing.T) {
	c := nodes(t)
	out := kubectl(t, c, "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name}`+
		` {.metadata.labels.topology\.kubernetes\.io/zone} {.metadata.labels.topology\.kubernetes\.io/region}`+
		` {.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.kubeletVersion}{"\n"}{end}`)
	want := ""
	for i := 1; i <= 3; i++ {
		want += fmt.Sprintf("node%d rack%d dc1 True %s\n", i, i, build.KubernetesVersion)
	}
	if out != want {
		t.Errorf("nodes are\n%s\nwant\n%s", out, want)
	}
	if got := c.NodeNames(); !slices.Equal(got, []string{"node1", "node2", "node3"}) {
		t.Errorf("NodeNames is %v", got)
	}
}

func TestPodsRunAndAreReachedThroughTheHostsKubeconfig(t *testing.T) {
	c := app(t)
	near, beside, far := neighbours(t, c)

	t.Run("names are resolved to pods, and a Service reaches pods of its own and of other nodes", func(t *testing.T) {
		if got := mustIn(t, c, near, "get", "http://"+far.Name+".app.default.svc.cluster.local:8080/host"); got != far.Name {
			t.Errorf("asked %s for its name, got %q", far.Name, got)
		}
		seen := map[string]bool{}
		eventually(t, "the Service to reach a pod beside and one far away", func(ctx context.Context) (bool, string, error) {
			got, err := in(ctx, c, near, "get", "http://front/host")
			seen[got] = true
			return seen[beside.Name] && seen[far.Name], fmt.Sprint(seen), err
		})
	})

	t.Run("logs", func(t *testing.T) {
		if got := kubectl(t, c, "logs", near.Name, "-c", "app"); got != "serving on :8080\n" {
			t.Errorf("log of the container is %q", got)
		}
		if got := kubectl(t, c, "logs", near.Name, "-c", "init"); got != near.Name {
			t.Errorf("log of the init container is %q, want what the sidecar told it", got)
		}
	})

	t.Run("port-forward", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), c.KubectlPath(), "port-forward", near.Name, ":8080")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var port int
		if _, err := fmt.Sscanf(line, "Forwarding from 127.0.0.1:%d", &port); err != nil {
			t.Fatalf("port-forward said %q: %v", line, err)
		}
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/host", port))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != near.Name {
			t.Errorf("through the forwarded port: %q, error %v", body, err)
		}
	})
}

func TestVolumeStaysWithItsClaimAndIsEmptyAfterIt(t *testing.T) {
	c := app(t)
	p := pod(3)
	mustIn(t, c, p, "write", "/data/mark", "here")
	kubectl(t, c, "delete", "pod", p.Name)
	waitReplicas(t, c)
	if got := mustIn(t, c, p, "ls", "/data"); got != "mark\n" {
		t.Errorf("after the pod was replaced its volume holds %q, want the mark", got)
	}
	before := kubectl(t, c, "get", "pvc", "data-"+p.Name, "-o", "jsonpath={.spec.volumeName}")
	kubectl(t, c, "delete", "pvc", "data-"+p.Name, "--wait=false")
	kubectl(t, c, "delete", "pod", p.Name)
	waitReplicas(t, c)
	if got := mustIn(t, c, p, "ls", "/data"); got != "" {
		t.Errorf("after claim and pod were replaced the volume holds %q, want nothing", got)
	}
	eventually(t, "the former volume to be gone", func(ctx context.Context) (bool, string, error) {
		out, err := c.Kubectl(ctx, "get", "pv", "-o", "jsonpath={.items[*].metadata.name}")
		return err == nil && !strings.Contains(out, before), out, err
	})
}

func TestCutsBetweenPods(t *testing.T) {
	c := app(t)
	a, b, far := neighbours(t, c)
	ctx := t.Context()
	for name, other := range map[string]cluster.Pod{"on the same node": b, "on another node": far} {
		t.Run("both ways, "+name, func(t *testing.T) {
			wantReach(t, c, a, other, true)
			for range 2 { // a second cut changes nothing
				if err := c.CutPods(ctx, a, other); err != nil {
					t.Fatal(err)
				}
			}
			wantReach(t, c, a, other, false)
			wantReach(t, c, other, a, false)
			if err := c.HealPods(ctx, other, a); err != nil {
				t.Fatal(err)
			}
			wantReach(t, c, a, other, true)
			wantReach(t, c, other, a, true)
		})
	}

	t.Run("one way", func(t *testing.T) {
		count := func(p cluster.Pod) int {
			n, err := strconv.Atoi(mustIn(t, c, p, "get", "http://localhost:8080/datagrams"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		send := func(from, to cluster.Pod) { mustIn(t, c, from, "send", ip(t, c, to)+":8080") }
		// wantAll sends a datagram from each pod, one after another, and waits for so many of them; the last one arrives in any case.
		wantAll := func(what string, want int, to cluster.Pod, from ...cluster.Pod) {
			before := count(to)
			for _, p := range from {
				send(p, to)
			}
			got := 0
			eventually(t, what, func(context.Context) (bool, string, error) {
				got = count(to) - before
				return got >= want, fmt.Sprint(got, " datagrams"), nil
			})
			if got > want {
				t.Errorf("%s: %d datagrams arrived, want %d", what, got, want)
			}
		}
		wantAll("datagrams without a cut", 2, far, a, b)
		wantAll("datagrams back without a cut", 2, a, far, b)
		if err := c.CutOneWay(ctx, a, far); err != nil {
			t.Fatal(err)
		}
		wantAll("the other pod's datagram in the direction that is cut for one", 1, far, a, b)
		wantAll("datagrams in the direction that is open", 2, a, far, b)
		if err := c.HealOneWay(ctx, a, far); err != nil {
			t.Fatal(err)
		}
		wantAll("datagrams after healing", 2, far, a, b)
	})

	t.Run("an isolated pod reaches nobody, but the API server when it is spared", func(t *testing.T) {
		api := "kubernetes.default.svc.cluster.local:443" // its name needs DNS as well
		if err := c.IsolatePod(ctx, a, cluster.Isolation{SpareAPIServer: true}); err != nil {
			t.Fatal(err)
		}
		wantReach(t, c, a, far, false)
		wantReach(t, c, b, a, false)
		mustIn(t, c, a, "dial", api)
		if err := c.IsolatePod(ctx, a, cluster.Isolation{}); err != nil {
			t.Fatal(err)
		}
		if _, err := in(ctx, c, a, "dial", "10.96.0.1:443"); err == nil {
			t.Error("the API server is still reached without being spared")
		}
		ready := kubectl(t, c, "get", "pod", a.Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if ready != "True" {
			t.Errorf("Ready is %s, although the kubelet's way to the pod was left open", ready)
		}
		if err := c.IsolatePod(ctx, a, cluster.Isolation{CutKubelet: true}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the readiness probe to fail", func(ctx context.Context) (bool, string, error) {
			out, err := c.Kubectl(ctx, "get", "pod", a.Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
			return out == "False", out, err
		})
		for range 2 {
			if err := c.HealPod(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		wantReach(t, c, a, far, true)
		wantReach(t, c, b, a, true)
		waitReplicas(t, c)
	})

	t.Run("a pod that does not exist is an error", func(t *testing.T) {
		nobody := cluster.Pod{Namespace: "default", Name: "nobody"}
		if err := c.HealPods(ctx, a, nobody); err != nil {
			t.Errorf("healing what is gone: %v", err)
		}
		err := c.CutPods(ctx, a, nobody)
		if err == nil || !strings.Contains(err.Error(), "pod default/nobody: it does not run on any Kubernetes node") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestContainerPausedAndKilled(t *testing.T) {
	c := app(t)
	p, from := pod(0), pod(1)
	started := "http://" + ip(t, c, p) + ":8080/started"
	first := mustIn(t, c, from, "get", started)

	if err := c.PauseContainer(t.Context(), p.Namespace, p.Name, "app"); err != nil {
		t.Fatal(err)
	}
	if out, err := in(t.Context(), c, from, "get", started); err == nil {
		t.Errorf("a paused container answered %q", out)
	}
	mustIn(t, c, from, "dial", ip(t, c, p)+":8080") // the kernel still accepts: it hangs, it is not gone
	if err := c.ResumeContainer(t.Context(), p.Namespace, p.Name, "app"); err != nil {
		t.Fatal(err)
	}
	if again := mustIn(t, c, from, "get", started); again != first {
		t.Errorf("it started at %s, and after pause and resume at %s; want the same process", first, again)
	}

	if err := c.SignalContainer(t.Context(), p.Namespace, p.Name, "app", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the container to be started again", func(ctx context.Context) (bool, string, error) {
		out, err := in(ctx, c, from, "get", started)
		return err == nil && out != first, out, err
	})
	code := kubectl(t, c, "get", "pod", p.Name, "-o",
		`jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState.terminated.exitCode}`)
	if code != "1 137" {
		t.Errorf("restarts and exit code are %q, want 1 and 137", code)
	}
	waitReplicas(t, c)
	if err := c.SignalContainer(t.Context(), p.Namespace, p.Name, "nothing", syscall.SIGTERM); err == nil {
		t.Error("signalled a container that does not exist")
	}
}

func TestNodeDiesAndReturns(t *testing.T) {
	c := app(t)
	_, _, far := neighbours(t, c)
	name := nodeOf(t, c, far)
	index := slices.Index(c.NodeNames(), name) + 1
	mustIn(t, c, far, "write", "/data/kept", "x")
	if err := c.KillNode(index); err != nil {
		t.Fatal(err)
	}
	if err := c.KillNode(index); err == nil {
		t.Error("killed a node that was down")
	}
	ready := func(ctx context.Context) (string, error) {
		return c.Kubectl(ctx, "get", "node", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	}
	eventually(t, "the node to be not ready", func(ctx context.Context) (bool, string, error) {
		out, err := ready(ctx)
		return out == "Unknown", out, err
	})
	if err := c.StartNode(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	if out, err := ready(t.Context()); out != "True" {
		t.Errorf("Ready is %s after StartNode (error %v)", out, err)
	}
	waitReplicas(t, c)
	if got := mustIn(t, c, far, "ls", "/data"); !strings.Contains(got, "kept\n") {
		t.Errorf("the volume holds %q after its node came back", got)
	}
}

func TestEndedProcessesDoNotStayAsZombies(t *testing.T) {
	c := app(t)
	kubectl(t, c, "delete", "pod", pod(2).Name)
	waitReplicas(t, c)
	dir := filepath.Dir(c.Kubeconfig())
	eventually(t, "the dead processes of the deleted pod to be reaped", func(context.Context) (bool, string, error) {
		zombies := ""
		for _, pid := range descendants(t, look(t, dir).keeper) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err == nil && strings.Contains(string(stat), ") Z ") {
				zombies += string(stat[:strings.IndexByte(string(stat), ')')+1]) + " "
			}
		}
		return zombies == "", zombies, nil
	})
}

func TestImageLoadedLaterReachesEveryNode(t *testing.T) {
	c := app(t)
	archive, err := workloadImage(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	if err := c.LoadImage(t.Context(), "/does/not/exist.tar"); err == nil {
		t.Error("loaded an archive that does not exist")
	}
}

func TestDiagnoseShowsWhatAFailedTestNeeds(t *testing.T) {
	c := app(t)
	var text strings.Builder
	c.Diagnose(&text)
	for _, want := range []string{"node1", "pod/app-0", "serving on :8080", "logs/kube-apiserver.log", "logs/node1-kubelet.log", "Scheduled"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, text.String())
		}
	}
}
