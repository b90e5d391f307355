// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Targets choose the members whose Pods a verb works on: one by name, or several by --all or -l.
type Targets struct {
	Name      string
	All       bool
	Selector  string
	Container string

	selector labels.Selector
}

// AddFlags binds the flags; the parameter what is the verb in their help texts.
func (t *Targets) AddFlags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.BoolVar(&t.All, "all", false, what+" every node of the namespace, each line with the member before it.")
	f.StringVarP(&t.Selector, "selector", "l", "", what+" the nodes whose Pods carry these labels, each line with the member before it.")
	f.StringVarP(&t.Container, "container", "c", "", "Another container than ScyllaDB's.")
	cmd.MarkFlagsMutuallyExclusive("all", "selector")
}

// Several is true where more than one member may be chosen: lines then begin with the member.
func (t *Targets) Several() bool { return t.All || t.Selector != "" }

// Take takes the member from the arguments, and returns the rest: the command. Without --all and -l the first argument is the member.
func (t *Targets) Take(cmd *cobra.Command, args []string) ([]string, error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case t.Several() && dash > 0:
		return nil, exit.Usagef("name a member, or --all or --selector, not both: %q is before the --", args[0])
	case t.Several():
		return args, nil
	case len(args) == 0 || dash == 0:
		return nil, nil
	case dash > 1:
		return nil, exit.Usagef("one member goes before the --, and %q is one too many; use --all or --selector for several", args[1])
	}
	t.Name = args[0]
	return args[1:], nil
}

// Validate refuses a command line without a member, and a selector that is none.
func (t *Targets) Validate() error {
	if t.Name == "" && !t.Several() {
		return exit.Usagef("name a member, or choose several with --all or --selector")
	}
	if t.Selector == "" {
		return nil
	}
	s, err := labels.Parse(t.Selector)
	if err != nil {
		return exit.Usage(fmt.Errorf("read --selector: %w", err))
	}
	t.selector = s
	return nil
}

// Target is one member and its Pod.
type Target struct {
	Namespace, Member string
	Pod               *corev1.Pod
	// Container is the container from the flag, else empty.
	Container string
	// Waiting is the reason why the Pod is not ready; empty while ScyllaDB serves.
	Waiting string
}

// Find reads the chosen members. A named member without a Pod is refused.
func (t *Targets) Find(ctx context.Context, d *Deps) ([]Target, error) {
	r, err := d.NewReader(ctx, ReadFlags{Source: SourceFlag(cluster.SourceAnnotation)})
	if err != nil {
		return nil, err
	}
	if !t.Several() {
		s, m, err := r.Named(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		if m.Pod == nil {
			return nil, exit.WithHint(exit.Refusedf("member %s/%s has no Pod", s.Namespace, m.Member), "see why: kubectl scylla describe "+m.Member+" -n "+s.Namespace)
		}
		one, err := t.target(&m)
		return []Target{one}, err
	}
	clusters, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, s := range clusters {
		members := s.Members()
		for i := range members {
			if m := &members[i]; m.Pod != nil && (t.selector == nil || t.selector.Matches(labels.Set(m.Pod.Labels))) {
				one, err := t.target(m)
				if err != nil {
					return nil, err
				}
				out = append(out, one)
			}
		}
	}
	if len(out) == 0 {
		return nil, exit.Refusedf("no Pod of ScyllaDB in namespace %s carries labels %s", clusters[0].Namespace, t.Selector)
	}
	return out, nil
}

func (t *Targets) target(m *cluster.Member) (Target, error) {
	out := Target{Namespace: m.Pod.Namespace, Member: m.Member, Pod: m.Pod, Container: t.Container, Waiting: words.Text(m.Waiting)}
	if t.Container == "" {
		return out, nil
	}
	var names []string
	for _, c := range slices.Concat(m.Pod.Spec.Containers, m.Pod.Spec.InitContainers) {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, t.Container) {
		return out, exit.WithHint(exit.Refusedf("Pod %s/%s has no container %q", m.Pod.Namespace, m.Pod.Name, t.Container), "it has: "+strings.Join(names, ", "))
	}
	return out, nil
}

// abreast is in how many Pods something is done at a time.
const abreast = 8

// Each does the same for every target. One alone gets the streams as they are; of several, each line begins with the member, and all are done whatever becomes
// of one. most bounds how many are done at a time; zero is the usual number.
func (d *Deps) Each(ctx context.Context, t *Targets, targets []Target, most int, do func(ctx context.Context, t *Target, out, errOut io.Writer) error) error {
	if !t.Several() {
		return ended(ctx, targets[0].Member, do(ctx, &targets[0], d.Streams.Out, d.Streams.ErrOut))
	}
	width := 0
	for i := range targets {
		width = max(width, len(targets[i].Member))
	}
	if most <= 0 {
		most = abreast
	}
	var (
		g      errgroup.Group
		mu     sync.Mutex // guards both streams and failed
		failed []string
	)
	g.SetLimit(most)
	for i := range targets {
		g.Go(func() error {
			one := &targets[i]
			prefix := fmt.Sprintf("%-*s | ", width, one.Member)
			out := &lines{mu: &mu, to: d.Streams.Out, prefix: prefix, clean: d.Terminal().Out}
			errOut := &lines{mu: &mu, to: d.Streams.ErrOut, prefix: prefix, clean: d.Terminal().Err}
			err := do(ctx, one, out, errOut)
			out.flush()
			errOut.flush()
			if err != nil {
				mu.Lock()
				failed = append(failed, one.Member+": "+exit.Describe(err).Error())
				mu.Unlock()
			}
			return nil
		})
	}
	_ = g.Wait() // the functions give no error: each is in failed
	switch {
	case ctx.Err() != nil:
		return exit.Interrupted(ctx.Err())
	case len(failed) > 0:
		slices.Sort(failed)
		return fmt.Errorf("%d of %d nodes failed: %s", len(failed), len(targets), strings.Join(failed, "; "))
	}
	return nil
}

// ended gives the exit code of a remote command to this one.
func ended(ctx context.Context, member string, err error) error {
	if e, ok := errors.AsType[*kube.ExitError](err); ok {
		return &exit.Error{Code: e.Code, Err: fmt.Errorf("the command on %s ended with exit code %d", member, e.Code)}
	}
	if ctx.Err() != nil {
		return exit.Interrupted(ctx.Err())
	}
	return err
}

// maxLine is how much of a line without an end is kept back.
const maxLine = 64 << 10

// lines writes whole lines with a prefix, those of several writers never mixed.
type lines struct {
	mu     *sync.Mutex
	to     io.Writer
	prefix string
	// clean removes terminal control sequences: the text comes from a Pod.
	clean bool
	rest  []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		switch {
		case i >= 0:
			if err := l.line(l.rest[:i]); err != nil {
				return 0, err
			}
			l.rest = l.rest[i+1:]
		case len(l.rest) >= maxLine:
			if err := l.line(l.rest); err != nil {
				return 0, err
			}
			l.rest = nil
		default:
			return len(p), nil
		}
	}
}

func (l *lines) line(text []byte) error {
	s := strings.TrimSuffix(string(text), "\r")
	if l.clean {
		s = render.Clean(s)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.to, l.prefix+s+"\n")
	return err
}

// flush writes a last line that has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		_ = l.line(l.rest) // the output is closed: its error cannot be reported
		l.rest = nil
	}
}
