// SPDX-License-Identifier: Apache-2.0

// Package logs is `kubectl scylla logs`: the log of the container that explains a member's state, or those of several members. It shows and judges nothing.
package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	d       *cli.Deps
	targets cli.Targets

	follow, previous, timestamps bool
	tail                         int64
	since                        time.Duration
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use:   "logs (MEMBER | --all | -l SELECTOR)",
		Short: "Show a node's log: ScyllaDB's, or that of the container it waits for",
		Long: `Show a node's log: that of ScyllaDB once it has started, before that that of the init
container which the Pod waits for, its barrier for one; which it is, is said.

` + cli.MemberForms + ` With --all or -l
the logs of several nodes are shown, and each line begins with the member.

Exit code: 0 shown, 1 could not be read, of any of several nodes, 2 refused: no such
member, Pod or container, 130 Ctrl-C.`,
		Example: cli.Examples(
			"# What did this node say last?",
			"kubectl scylla logs rack1/0 -n demo --tail 50",
			"",
			"# What did it say before it crashed?",
			"kubectl scylla logs rack1/0 -n demo --previous",
			"",
			"# Follow all of them",
			"kubectl scylla logs --all -n demo --tail 1 --follow",
		),
		GroupID: cli.GroupSee, Args: cli.AtMost(1), DisableFlagsInUseLine: true,
		ValidArgsFunction: d.CompleteMembers, RunE: cli.Run(o),
	}
	o.targets.AddFlags(cmd, "Of")
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "Go on with what is written from now on, until Ctrl-C.")
	f.BoolVarP(&o.previous, "previous", "p", false, "Of the run before the last restart.")
	f.BoolVar(&o.timestamps, "timestamps", false, "Begin each line with the time at which it was written.")
	f.Int64Var(&o.tail, "tail", -1, "Only so many of the last lines; -1 shows all.")
	f.DurationVar(&o.since, "since", 0, "Only what is younger than that, such as 10m.")
	cmd.MarkFlagsMutuallyExclusive("follow", "previous")
	return cmd
}

// Complete takes the member.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	rest, err := o.targets.Take(cmd, args)
	if err == nil && len(rest) > 0 {
		err = exit.Usagef("name a member, or --all or --selector, not both: %q is one too many", rest[0])
	}
	return err
}

// Validate refuses values that are no number of lines, or no age.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case o.tail < -1:
		return exit.Usagef("--tail is a number of lines, or -1 for all")
	case o.since < 0:
		return exit.Usagef("--since is an age such as 10m, and not negative")
	}
	return o.targets.Validate()
}

// Run shows the logs.
func (o *options) Run(ctx context.Context) error {
	targets, err := o.targets.Find(ctx, o.d)
	if err != nil {
		return err
	}
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return err
	}
	most := 0
	if o.follow {
		most = len(targets) // none of them ends to make room for another
	}
	return o.d.Each(ctx, &o.targets, targets, most, func(ctx context.Context, t *cli.Target, out, _ io.Writer) error {
		opts := corev1.PodLogOptions{Container: t.Container, Follow: o.follow, Previous: o.previous, Timestamps: o.timestamps}
		if opts.Container == "" {
			opts.Container = cluster.LogContainer(t.Pod)
			if db := cluster.ScyllaDBContainer(&t.Pod.Spec); !o.targets.Several() && (db == nil || db.Name != opts.Container) {
				o.d.Say(fmt.Sprintf("%s: ScyllaDB has not started; this is container %s\n", t.Member, opts.Container))
			}
		}
		if o.tail >= 0 {
			opts.TailLines = &o.tail
		}
		if o.since > 0 {
			// The API counts whole seconds, and takes no zero.
			opts.SinceSeconds = new(max(1, int64(o.since.Seconds())))
		}
		r, err := kube.Logs(ctx, cfg, t.Namespace, t.Pod.Name, opts)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // only read from
		if err := copyLines(out, r, o.d.Terminal().Out && !o.targets.Several()); err != nil {
			return fmt.Errorf("read log of %s: %w", t.Member, err)
		}
		return nil
	})
}

// copyLines copies a log; for a terminal, without control sequences: the text comes from a Pod.
func copyLines(to io.Writer, from io.Reader, clean bool) error {
	if !clean {
		_, err := io.Copy(to, from)
		return err
	}
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			end := ""
			if line[len(line)-1] == '\n' {
				line, end = line[:len(line)-1], "\n"
			}
			if _, err := io.WriteString(to, render.Clean(string(line))+end); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
