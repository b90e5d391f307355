// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// Component is one process of the cluster that tests can pause, kill and start again. Nothing restarts it by itself.
type Component struct {
	name    string
	control func() *supervisor.Client
	process supervisor.Process
	ready   func(context.Context) error // nil: started is ready
	err     error                       // of a component that does not exist
}

// Component returns a component by name: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and with
// Kubernetes nodes coredns, node1/kubelet, node1/containerd, node1/kube-proxy and so on. The methods of one that does
// not exist fail and name those that do.
func (c *Cluster) Component(name string) *Component {
	if p, ok := c.components[name]; ok {
		return p
	}
	return &Component{name: name, err: fmt.Errorf("the cluster has no component %q; it has %s", name,
		strings.Join(slices.Sorted(maps.Keys(c.components)), ", "))}
}

// add registers a component of the control plane that is part of the multi-call binary.
func (c *Cluster) add(name, main string, flags ...string) {
	c.components[name] = &Component{
		name:    name,
		control: func() *supervisor.Client { return c.control },
		process: supervisor.Process{Name: name, Argv: append([]string{c.kubernetes(), main}, flags...), Env: c.environment(),
			Log: "logs/" + name + ".log"},
	}
}

// environment is that of every component: nothing of the caller's, because its proxies or Go settings would change the components' behaviour.
func (c *Cluster) environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + c.base}
}

// Start starts the component, after it was killed or has ended, and waits until it works.
func (p *Component) Start(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	if _, err := p.control().Start(ctx, p.process); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	if p.ready == nil {
		return nil
	}
	return p.ready(ctx)
}

// Pause stops the component where it is, as a process that hangs: connections stay open and nothing answers.
func (p *Component) Pause() error { return p.signal("pause", syscall.SIGSTOP) }

// Resume lets a paused component go on.
func (p *Component) Resume() error { return p.signal("resume", syscall.SIGCONT) }

// Kill ends the component at once, as by SIGKILL, and returns when it is gone.
func (p *Component) Kill() error { return p.signal("kill", syscall.SIGKILL) }

func (p *Component) signal(what string, s syscall.Signal) error {
	if p.err != nil {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if err := p.control().Signal(ctx, p.process.Name, s); err != nil {
		return fmt.Errorf("%s %s: %w", what, p.name, err)
	}
	return nil
}

// ended returns an error when the component does not run any more.
func (p *Component) ended(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	s, err := p.control().Status(ctx, p.process.Name)
	if err == nil && !s.Running {
		return fmt.Errorf("%s ended: %s", p.name, s.Exit)
	}
	return nil // well, or not known
}

// PauseAPIServer makes the API server hang.
func (c *Cluster) PauseAPIServer() error { return c.Component("kube-apiserver").Pause() }

// ResumeAPIServer lets it go on.
func (c *Cluster) ResumeAPIServer() error { return c.Component("kube-apiserver").Resume() }

// KillAPIServer ends the API server; connections are refused until StartAPIServer.
func (c *Cluster) KillAPIServer() error { return c.Component("kube-apiserver").Kill() }

// StartAPIServer starts it again on the same port and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.Component("kube-apiserver").Start(ctx)
}
