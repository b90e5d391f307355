// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Argument is the optional name argument of a command.
type Argument struct {
	// Name as typed, empty if not set.
	Name string
}

// Complete sets the name.
func (a *Argument) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		a.Name = args[0]
	}
	return nil
}

// NewCmd makes cmd a command of group with an optional name argument, completion function complete,
// and body v.
func NewCmd(cmd *cobra.Command, group string, complete cobra.CompletionFunc, v verb) *cobra.Command {
	cmd.GroupID, cmd.Args, cmd.DisableFlagsInUseLine = group, AtMost(1), true
	cmd.ValidArgsFunction, cmd.RunE = complete, Run(v)
	return cmd
}

// ShowFlags are the flags of a command that shows a document once, at each change, or once a
// condition holds.
type ShowFlags struct {
	Read   ReadFlags
	Output OutputFlags
	Wait   WaitFlags
	Watch  bool
	// Formats of the text; default "wide".
	Formats []string
}

// AddFlags binds the flags; until is the condition of --wait.
func (f *ShowFlags) AddFlags(cmd *cobra.Command, until string) {
	f.Read.AddFlags(cmd, true)
	if f.Formats == nil {
		f.Formats = []string{"wide"}
	}
	f.Output.AddFlags(cmd, f.Formats...)
	f.Wait.AddFlags(cmd, until)
	cmd.Flags().BoolVarP(&f.Watch, "watch", "w", false, "Print again after each change, until Ctrl-C.")
	cmd.MarkFlagsMutuallyExclusive("watch", "wait")
}

// Validate refuses conflicting flags.
func (f *ShowFlags) Validate(cmd *cobra.Command) error {
	if f.Read.From != "" && (f.Watch || f.Wait.Wait) {
		return exit.Usagef("--watch and --wait cannot be used with --from: saved objects do not change")
	}
	if err := f.Wait.Validate(cmd); err != nil {
		return err
	}
	if err := f.Read.Validate(); err != nil {
		return err
	}
	return f.Output.Validate()
}

// Shown is the set of callbacks for a document T.
type Shown[T any] struct {
	// Load reads clusters and returns their document.
	Load func(context.Context, *Reader) (T, []*cluster.Cluster, error)
	// Print writes the document to standard output, Verdict returns the command's error.
	Print   func(T) error
	Verdict func(T) error
	// Key identifies the content without its times: documents with equal keys show the same.
	Key func(T) string
	// Subject names the awaited state, as in Wait; Wished reports whether it is reached, and if
	// not, why.
	Subject func(T, []*cluster.Cluster) string
	Wished  func(T) (done bool, why string, err error)
	// Awaited is the Subject while there is no document; empty if the command does not wait for a
	// cluster to exist.
	Awaited string
	// What returns the differences between two documents, one text each; nil if they are not
	// printed.
	What func(before, after T) []string
}

// Show reads and prints according to the flags.
func Show[T any](ctx context.Context, d *Deps, f *ShowFlags, s Shown[T]) error {
	reader, err := d.NewReader(ctx, f.Read)
	if err != nil {
		return err
	}
	if f.Watch {
		return watch(ctx, d, reader, f, s)
	}
	doc, snapshots, err := s.Load(ctx, reader)
	there := err == nil
	if !there && (!f.Wait.Wait || s.Awaited == "" || !missing(err)) {
		return err
	}
	var end error
	if f.Wait.Wait {
		w := waiting[T]{doc, snapshots, there}
		end = w.await(ctx, d, reader, f.Wait.Timeout, s)
		if doc = w.doc; !w.there || exit.Code(end) == exit.CodeInterrupted {
			return end
		}
	} else {
		end = s.Verdict(doc)
	}
	if err := s.Print(doc); err != nil {
		return err
	}
	return end
}

// missing reports whether the error means that a cluster, or member, does not exist yet.
func missing(err error) bool {
	if _, ok := errors.AsType[*cluster.NotFoundError](err); ok {
		return true
	}
	_, ok := errors.AsType[*noClusterError](err)
	return ok
}

func watch[T any](ctx context.Context, d *Deps, reader *Reader, f *ShowFlags, s Shown[T]) error {
	var changed <-chan struct{}
	var before T
	return d.Watch(ctx, func(ctx context.Context) (frame, error) {
		doc, snapshots, err := s.Load(ctx, reader)
		if err != nil {
			return frame{}, err
		}
		if changed == nil {
			changed = reader.Watch(ctx, snapshots)
		}
		frame := frame{Key: s.Key(doc), Changed: changed, Dated: f.Output.Text(),
			Draw: func() error { return s.Print(doc) }}
		if last := before; s.What != nil {
			frame.What = func() []string { return s.What(last, doc) }
		}
		before = doc
		return frame, nil
	})
}

// waiting is the last document that was loaded; there is false while its cluster or member does not
// exist.
type waiting[T any] struct {
	doc       T
	snapshots []*cluster.Cluster
	there     bool
}

// await waits, updates w, and returns the result of the wait.
func (w *waiting[T]) await(ctx context.Context, d *Deps, reader *Reader, timeout time.Duration, s Shown[T]) error {
	// The watch must not outlive the wait.
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, subject := w.there, s.Awaited
	if w.there {
		subject = s.Subject(w.doc, w.snapshots)
	}
	return d.Wait(ctx, Wait{
		Subject: subject, Timeout: timeout, Changed: reader.Watch(wctx, w.snapshots),
		Check: func(ctx context.Context) (bool, string, error) {
			if !first {
				again, _, err := s.Load(ctx, reader)
				if s.Awaited != "" && missing(err) {
					return false, exit.Describe(err).Error(), nil
				}
				if err != nil {
					return false, "", err
				}
				w.doc, w.there = again, true
			}
			first = false
			return s.Wished(w.doc)
		},
	})
}
