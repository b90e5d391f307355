// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// The faults below act on processes and packets from outside, through the container runtime of the Kubernetes node.
// They do not ask the API server, so they also work while it is down, and pods cannot tell them from real ones.

// runningContainer is a container with a live process.
type runningContainer struct {
	node *node
	id   string
	pid  int // of its first process, in the node's pid namespace
}

// SignalContainer sends a signal to the first process of a container, as the kernel or an operator on the Kubernetes
// node would. SIGKILL of it ends the container, which the kubelet starts again by the pod's restartPolicy.
func (c *Cluster) SignalContainer(ctx context.Context, namespace, pod, container string, signal syscall.Signal) error {
	found, err := c.container(ctx, namespace, pod, container)
	if err != nil {
		return fmt.Errorf("signal container: %w", err)
	}
	if err := found.node.control.SignalPIDs(ctx, []int{found.pid}, signal); err != nil {
		return fmt.Errorf("signal container %s of pod %s/%s: %w", container, namespace, pod, err)
	}
	return nil
}

// PauseContainer stops all processes of a container where they are, like a machine that hangs: connections stay open
// and nothing answers. Deleting the pod still works. Processes started later (exec probes) run.
func (c *Cluster) PauseContainer(ctx context.Context, namespace, pod, container string) error {
	return c.signalAll(ctx, "pause", namespace, pod, container, syscall.SIGSTOP)
}

// ResumeContainer lets all processes of a container go on.
func (c *Cluster) ResumeContainer(ctx context.Context, namespace, pod, container string) error {
	return c.signalAll(ctx, "resume", namespace, pod, container, syscall.SIGCONT)
}

func (c *Cluster) signalAll(ctx context.Context, what, namespace, pod, container string, signal syscall.Signal) error {
	fail := func(err error) error {
		return fmt.Errorf("%s container %s of pod %s/%s: %w", what, container, namespace, pod, err)
	}
	found, err := c.container(ctx, namespace, pod, container)
	if err != nil {
		return fail(err)
	}
	// Until a look shows none that was not signalled: one process may start another before it is stopped itself.
	var done []int
	for {
		pids, err := found.processes(ctx)
		if err != nil {
			return fail(err)
		}
		pids = slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(done, pid) })
		if len(pids) == 0 {
			return nil
		}
		if err := found.node.control.SignalPIDs(ctx, pids, signal); err != nil && !strings.Contains(err.Error(), syscall.ESRCH.Error()) {
			return fail(err)
		}
		done = append(done, pids...)
	}
}

// processes lists all processes of the container.
func (r runningContainer) processes(ctx context.Context) ([]int, error) {
	out, err := r.node.ctr(ctx, "tasks", "ps", r.id)
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "PID" {
			pid, err := strconv.Atoi(fields[0])
			if err != nil {
				return nil, fmt.Errorf("read process list of container %s: %w", r.id, err)
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// container finds the running container of that name.
func (c *Cluster) container(ctx context.Context, namespace, pod, container string) (runningContainer, error) {
	return c.findContainer(ctx, fmt.Sprintf("container %s of pod %s/%s", container, namespace, pod), map[string]string{
		"io.cri-containerd.kind":       "container",
		"io.kubernetes.pod.namespace":  namespace,
		"io.kubernetes.pod.name":       pod,
		"io.kubernetes.container.name": container,
	})
}

// sandbox finds the process that holds a pod's network namespace.
func (c *Cluster) sandbox(ctx context.Context, p Pod) (runningContainer, error) {
	return c.findContainer(ctx, "pod "+p.String(), map[string]string{
		"io.cri-containerd.kind":      "sandbox",
		"io.kubernetes.pod.namespace": p.Namespace,
		"io.kubernetes.pod.name":      p.Name,
	})
}

var errNotRunning = errors.New("it does not run on any Kubernetes node")

func (c *Cluster) findContainer(ctx context.Context, what string, labels map[string]string) (runningContainer, error) {
	if len(c.nodes) == 0 {
		return runningContainer{}, fmt.Errorf("find %s: the cluster has no Kubernetes nodes", what)
	}
	var filter []string
	for name, value := range labels {
		filter = append(filter, fmt.Sprintf("labels.%q==%q", name, value))
	}
	found := make([][]runningContainer, len(c.nodes))
	err := c.eachNode(func(n *node) (err error) {
		if !n.up() {
			return nil
		}
		found[n.index-1], err = n.find(ctx, strings.Join(filter, ","))
		return err
	})
	all := slices.Concat(found...)
	switch {
	case err != nil:
		return runningContainer{}, fmt.Errorf("find %s: %w", what, err)
	case len(all) == 0:
		return runningContainer{}, fmt.Errorf("find %s: %w", what, errNotRunning)
	case len(all) > 1:
		return runningContainer{}, fmt.Errorf("find %s: it runs %d times just now (on %s and %s)", what, len(all), all[0].node.name, all[1].node.name)
	}
	return all[0], nil
}

// find lists the node's containers that match a filter of containerd and have a live process.
func (n *node) find(ctx context.Context, filter string) ([]runningContainer, error) {
	ids, err := n.ctr(ctx, "containers", "ls", "-q", filter)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(ids) == "" {
		return nil, nil
	}
	tasks, err := n.ctr(ctx, "tasks", "ls")
	if err != nil {
		return nil, err
	}
	matching := strings.Fields(ids)
	var found []runningContainer
	for line := range strings.Lines(tasks) {
		fields := strings.Fields(line) // TASK PID STATUS
		if len(fields) != 3 || !slices.Contains(matching, fields[0]) || fields[2] == "STOPPED" {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read task list of %s: %w", n.name, err)
		}
		found = append(found, runningContainer{node: n, id: fields[0], pid: pid})
	}
	return found, nil
}

// Pod names a pod.
type Pod struct{ Namespace, Name string }

func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Isolation says what an isolated pod may still reach.
type Isolation struct {
	// SpareAPIServer keeps the pod's way to the API server and to DNS open.
	SpareAPIServer bool
	// SparePods keeps the ways to all other pods open, but for DNS.
	SparePods bool
	// CutKubelet also cuts the pod off from its own Kubernetes node, so that network probes fail. Without it the
	// kubelet reaches the pod, as it does when the network between machines fails.
	CutKubelet bool
}

// CutPods drops all packets between two pods, in both directions and on open connections too, wherever the pods run.
// The cut lies in the pods' own network namespaces: it stays when containers restart and is gone with the pods, so cut
// again after a pod was replaced. Pods in the host's network cannot be cut.
func (c *Cluster) CutPods(ctx context.Context, a, b Pod) error {
	return errors.Join(c.CutOneWay(ctx, a, b), c.CutOneWay(ctx, b, a))
}

// HealPods undoes CutPods and CutOneWay, in both directions. Pods that do not run any more need no healing.
func (c *Cluster) HealPods(ctx context.Context, a, b Pod) error {
	return errors.Join(c.HealOneWay(ctx, a, b), c.HealOneWay(ctx, b, a))
}

// CutOneWay drops the packets that one pod sends to another; those in the other direction still pass.
func (c *Cluster) CutOneWay(ctx context.Context, from, to Pod) error {
	fail := func(err error) error { return fmt.Errorf("cut %s off from %s: %w", to, from, err) }
	if err := c.HealOneWay(ctx, from, to); err != nil { // a former cut may hold the address of a former pod
		return fail(err)
	}
	sender, err := c.endpoint(ctx, from)
	if err != nil {
		return fail(err)
	}
	receiver, err := c.endpoint(ctx, to)
	if err != nil {
		return fail(err)
	}
	// At the receiver, which sees the sender's true address. At the sender as well for TCP, because answers on a
	// connection through a Service carry the Service's address when they arrive. Not for UDP there: a packet filter
	// that drops at the sender tells the program, which a failing network would not.
	err = errors.Join(
		receiver.drop(ctx, "INPUT", cutFrom(from), "-s", sender.ip),
		sender.drop(ctx, "OUTPUT", cutTo(to), "-p", "tcp", "-d", receiver.ip))
	if err != nil {
		return fail(err)
	}
	return nil
}

// HealOneWay undoes CutOneWay. Pods that do not run any more need no healing.
func (c *Cluster) HealOneWay(ctx context.Context, from, to Pod) error {
	err := errors.Join(c.heal(ctx, to, cutFrom(from)), c.heal(ctx, from, cutTo(to)))
	if err != nil {
		return fmt.Errorf("heal the way from %s to %s: %w", from, to, err)
	}
	return nil
}

// The comments on the rules of a cut tell the other pod, whatever its address has become since.
func cutFrom(p Pod) string { return "cut-from:" + p.String() }
func cutTo(p Pod) string   { return "cut-to:" + p.String() }

// heal deletes the rules with that comment in a pod.
func (c *Cluster) heal(ctx context.Context, p Pod, comment string) error {
	s, err := c.sandbox(ctx, p)
	if errors.Is(err, errNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	e := endpoint{runningContainer: s}
	rules, err := e.iptables(ctx, "-S")
	if err != nil {
		return err
	}
	for rule := range strings.Lines(rules) {
		fields := strings.Fields(rule) // -A CHAIN ...
		if !slices.Contains(fields, comment) && !slices.Contains(fields, strconv.Quote(comment)) {
			continue
		}
		for i := range fields {
			fields[i] = strings.Trim(fields[i], `"`)
		}
		if _, err := e.iptables(ctx, append([]string{"-D"}, fields[1:]...)...); err != nil {
			return err
		}
	}
	return nil
}

// IsolatePod drops all packets from and to a pod but those that spare allows. It replaces a former isolation. The pod's
// TCP connections hang; a program in it that sends UDP (DNS) is told that it may not, because no receiver could drop
// the packet in its stead.
func (c *Cluster) IsolatePod(ctx context.Context, pod Pod, spare Isolation) error {
	e, err := c.endpoint(ctx, pod)
	if err != nil {
		return fmt.Errorf("isolate %s: %w", pod, err)
	}
	var reachable []string
	if spare.SpareAPIServer {
		reachable = append(reachable, routerIP, serviceIP)
	}
	if spare.SparePods {
		reachable = append(reachable, podNet+"0.0/16")
	}
	if !spare.CutKubelet {
		reachable = append(reachable, e.node.gateway(), e.node.ip)
	}
	// Its own chains, filled in one go, so that a cut between pods is not healed with the isolation.
	rules := []string{"*filter", ":" + isolationIn + " -", ":" + isolationOut + " -",
		"-A " + isolationIn + " -i lo -j RETURN", "-A " + isolationOut + " -o lo -j RETURN"}
	for _, ip := range reachable {
		rules = append(rules, "-A "+isolationIn+" -s "+ip+" -j RETURN", "-A "+isolationOut+" -d "+ip+" -j RETURN")
	}
	rules = append(rules, "-A "+isolationIn+" -j DROP", "-A "+isolationOut+" -j DROP", "COMMIT", "")
	_, err = e.node.control.Run(ctx, supervisor.Command{Argv: []string{"iptables-restore", "-w", "--noflush"},
		Stdin: []byte(strings.Join(rules, "\n")), NetPID: e.pid})
	if err == nil {
		err = errors.Join(e.jump(ctx, "INPUT", isolationIn, true), e.jump(ctx, "OUTPUT", isolationOut, true))
	}
	if err != nil {
		return fmt.Errorf("isolate %s: %w", pod, err)
	}
	return nil
}

const (
	isolationIn  = "ISOLATION-IN"
	isolationOut = "ISOLATION-OUT"
)

// HealPod undoes IsolatePod; cuts between the pod and others stay. A pod that does not run any more needs no healing.
func (c *Cluster) HealPod(ctx context.Context, pod Pod) error {
	s, err := c.sandbox(ctx, pod)
	if errors.Is(err, errNotRunning) {
		return nil
	}
	if err == nil {
		e := endpoint{runningContainer: s}
		err = errors.Join(e.jump(ctx, "INPUT", isolationIn, false), e.jump(ctx, "OUTPUT", isolationOut, false))
	}
	if err != nil {
		return fmt.Errorf("heal %s: %w", pod, err)
	}
	return nil
}

// endpoint is a pod's network namespace.
type endpoint struct {
	runningContainer
	ip string
}

func (c *Cluster) endpoint(ctx context.Context, p Pod) (endpoint, error) {
	s, err := c.sandbox(ctx, p)
	if err != nil {
		return endpoint{}, err
	}
	out, err := s.node.control.Run(ctx, supervisor.Command{Argv: []string{"ip", "-4", "-o", "addr", "show", "dev", "eth0"}, NetPID: s.pid})
	if err != nil {
		return endpoint{}, fmt.Errorf("find the address of pod %s: %w", p, err)
	}
	// "2: eth0    inet 10.244.1.5/24 brd ..."
	fields := strings.Fields(string(out))
	at := slices.Index(fields, "inet")
	if at < 0 || at+1 >= len(fields) {
		return endpoint{}, fmt.Errorf("find the address of pod %s: eth0 has none", p)
	}
	ip, _, _ := strings.Cut(fields[at+1], "/")
	if ip == s.node.ip {
		return endpoint{}, fmt.Errorf("pod %s is in the host's network, where a cut would hit the whole Kubernetes node", p)
	}
	return endpoint{runningContainer: s, ip: ip}, nil
}

// drop adds a rule that drops what matches.
func (e endpoint) drop(ctx context.Context, chain, comment string, match ...string) error {
	args := slices.Concat([]string{"-I", chain}, match, []string{"-m", "comment", "--comment", comment, "-j", "DROP"})
	_, err := e.iptables(ctx, args...)
	return err
}

// jump makes the first rule of a chain one that goes to another chain, or deletes it; both do nothing when nothing is
// to do.
func (e endpoint) jump(ctx context.Context, chain, to string, present bool) error {
	rules, err := e.iptables(ctx, "-S")
	if err != nil || strings.Contains(rules, "-A "+chain+" -j "+to+"\n") == present {
		return err
	}
	verb := "-D"
	if present {
		verb = "-I"
	}
	_, err = e.iptables(ctx, verb, chain, "-j", to)
	return err
}

func (e endpoint) iptables(ctx context.Context, args ...string) (string, error) {
	out, err := e.node.control.Run(ctx, supervisor.Command{Argv: append([]string{"iptables", "-w"}, args...), NetPID: e.pid})
	return string(out), err
}

// gateway returns the address that the kubelet's probes come from.
func (n *node) gateway() string { return fmt.Sprintf("%s%d.1", podNet, n.index) }
