// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/faultproxy"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
)

// healthAddress is in the line of the log with which the server of the probes starts.
var healthAddress = regexp.MustCompile(`"name":"health probe","addr":"([^"]+)"`)

// outside is the shipped controller as a process of this machine, with the shipped rights, behind a proxy that breaks what it is told to.
type outside struct {
	*fixture
	proxy *faultproxy.Proxy
	ready string // URL
}

// controllerOutside puts it in the place of the one in the cluster until the test ends.
func (f *fixture) controllerOutside() *outside {
	f.t.Helper()
	resume := f.stopController()
	f.t.Cleanup(resume)
	cfg := f.Cluster.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kubectl-scylla:kubectl-scylla-controller",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kubectl-scylla", "system:authenticated"},
	}
	proxy, err := faultproxy.Start(cfg)
	f.must(err)
	f.t.Cleanup(proxy.Stop)
	const name = "x"
	config := filepath.Join(f.t.TempDir(), "kubeconfig")
	f.must(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{name: {Server: proxy.Config().Host}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {Impersonate: cfg.Impersonate.UserName, ImpersonateGroups: cfg.Impersonate.Groups}},
		Contexts:  map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	}, config))
	cmd := exec.CommandContext(context.WithoutCancel(f.ctx), filepath.Join("..", "..", binaries, "scylla-agent"), "controller", "--kubeconfig="+config, "--leader-elect",
		"--lease-namespace=kubectl-scylla", "--metrics-bind-address=0", "--view-bind-address=0", "--health-probe-bind-address=127.0.0.1:0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := &output.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	f.must(cmd.Start())
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := cmd.Wait(); err != nil {
			f.t.Errorf("the controller ends with %v", err)
		}
		if f.t.Failed() {
			f.t.Log("the controller said:\n" + tail(said.String(), 60))
		}
	})
	o := &outside{fixture: f, proxy: proxy}
	o.waitFor("the controller to log the address of its probes", func(context.Context) (bool, string, error) {
		found := healthAddress.FindStringSubmatch(said.String())
		if found == nil {
			return false, tail(said.String(), 3), nil
		}
		o.ready = "http://" + found[1] + "/readyz"
		return true, "", nil
	})
	o.waitFor("the controller behind the proxy to keep the reports", o.keeps(true))
	return o
}

// keeps is true when the Lease by which barriers trust the reports has a holder, and records that this cluster's are kept.
func (o *outside) keeps(want bool) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		l := &coordinationv1.Lease{}
		err := o.Client.Get(ctx, client.ObjectKey{Namespace: "kubectl-scylla", Name: api.LeaseName}, l)
		holder, marks := ptr.Deref(l.Spec.HolderIdentity, ""), l.Annotations[api.AnnotationKeeps]
		keeps := holder != "" && strings.Contains(marks, api.KeepMark(o.namespace, "demo"))
		return err == nil && keeps == want, fmt.Sprintf("the Lease is held by %q and keeps %q", holder, marks), err
	}
}

// isReady is the answer of /readyz.
func (o *outside) isReady(ctx context.Context) (bool, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.ready, http.NoBody)
	if err != nil {
		return false, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, "", err
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK, resp.Status, nil
}

// barrierSays waits for a text in the log of a member's barrier.
func (f *fixture) barrierSays(member string, texts ...string) {
	f.t.Helper()
	f.waitFor("the barrier of "+member+" to say "+strings.Join(texts, ", "), func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, member, api.ContainerBarrier)
		for _, text := range texts {
			if !strings.Contains(log, text) {
				return false, tail(log, 3), err
			}
		}
		return err == nil, tail(log, 3), err
	})
}

// goBy sets what the barriers go by.
func goBy(s *appsv1.StatefulSet, policy api.Policy) {
	withArg(s, api.ContainerBarrier, "--policy="+string(policy))
}

// withArg gives one of the init containers one more argument.
func withArg(s *appsv1.StatefulSet, container, arg string) {
	for i := range s.Spec.Template.Spec.InitContainers {
		if c := &s.Spec.Template.Spec.InitContainers[i]; c.Name == container {
			c.Args = append(c.Args, arg)
		}
	}
}

// What a person, a policy and a network did to the controller's way to the API server, each with a newcomer at the barrier or a claim about to be deleted.
//
// Long: one story, told in order; each part begins with the cluster that the one before has left.
func TestAttack1And8BehindAProxyThatBreaks(t *testing.T) { // stops the controller of all: not parallel
	covers(t, "cmd/scylla-agent", "controller", "controller/keep", "controller/replacement", "internal/agent/barrier")
	pods(t, 5)
	// The controller outside cannot reach the Pods' network, so it hears no heartbeat and gives no permit. What is tried here is what it writes.
	f := deploy(t, scenario.Cluster{Mutate: func(s *appsv1.StatefulSet) { shortGrace(s); goBy(s, api.PolicyReports) }})
	f.healthy()
	victim, newcomer, second := rack3+"-0", rack2+"-1", rack1+"-1"
	o := f.controllerOutside()

	t.Log("admission rejects one kind: a node goes down, and the report says UP for as long as that lasts")
	remove := o.proxy.Add(faultproxy.Fault{
		Methods: []string{http.MethodPut, http.MethodPost, http.MethodPatch}, Resource: "scylladbdatacenternodesstatusreports", Reject: http.StatusForbidden, Message: "exceeded quota",
	})
	f.freeze(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.untilBarrierRuns(newcomer)
	f.waitFor("the Lease to be given up", o.keeps(false))
	f.barrierSays(newcomer, "ControllerSilent")
	f.holdsFor(newcomer, 5*time.Second)
	f.waitFor("the controller not to be ready", func(ctx context.Context) (bool, string, error) {
		ready, said, err := o.isReady(ctx)
		return err == nil && !ready, said, err
	})
	if r := f.plugin("status"); r.Code != 3 || !strings.Contains(strings.Join(strings.Fields(r.Stdout), " "), "no response from the controller") {
		t.Errorf("status: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	remove()
	f.waitFor("the Lease to be back", o.keeps(true))
	f.barrierSays(newcomer, "NodeDown")
	f.thaw(victim)
	f.ready(4)
	f.healthy()

	t.Log("every watch stalls: the controller lives, renews, and hears nothing of a node that goes down")
	f.freeze(victim, rack2+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack1, 2))
	f.untilBarrierRuns(second)
	f.barrierSays(second, "NodeDown")
	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, second, api.ContainerBarrier)) // it must not open while all is UP
	f.thaw(victim)
	f.untilAllUp("demo", 4)
	remove = o.proxy.Add(faultproxy.Fault{Watches: true, Stall: true})
	f.freeze(victim, rack2+"-0")
	f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, second, api.ContainerBarrier))
	f.holdsFor(second, 15*time.Second) // its last look is at what the Pods themselves say
	f.waitFor("the stalled watches to be noticed", o.keeps(false))
	remove()
	f.thaw(victim)
	f.ready(5)
	f.healthy()

	t.Log("a DELETE is held back on its way, and its node comes back meanwhile")
	claim := f.claim(victim)
	f.kill(victim, rack1+"-0")
	f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, f.hostID(victim)))
	remove = o.proxy.Add(faultproxy.Fault{Methods: []string{http.MethodDelete}, Resource: "persistentvolumeclaims", Hold: true})
	before := o.proxy.Hits()
	f.label(victim, "=")
	f.waitFor("the deletion of the claim to be held back", func(context.Context) (bool, string, error) {
		return o.proxy.Hits() > before, fmt.Sprint(o.proxy.Hits() - before), nil
	})
	f.revive(victim)
	f.waitFor(victim+" to be back", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, p)
		return err == nil && scenario.Ready(p), scenario.Describe(p), err
	})
	f.waitFor("the mark of the claim to be taken back", func(ctx context.Context) (bool, string, error) {
		c := &corev1.PersistentVolumeClaim{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + victim}, c)
		mark, marked := c.Annotations[api.AnnotationReplaceDeleting]
		return err == nil && !marked, mark, err
	})
	remove()
	if r := f.plugin("replace", "cancel", victim); r.Code != 0 {
		t.Errorf("cancel: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.healthy()
	if c := f.pvc(victim); c.UID != claim || c.DeletionTimestamp != nil {
		t.Errorf("the claim of a node that is back is %s, was %s, deleted at %v", c.UID, claim, c.DeletionTimestamp)
	}
}
