// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/ui"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/forceproceed"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/replace"
)

// actions run the commands that change things, as if they had been typed. Saved objects cannot be changed.
func (o *options) actions(ctx context.Context) ui.Actions {
	if o.read.From != "" {
		return ui.Actions{Why: "saved objects cannot be changed"}
	}
	return ui.Actions{
		ForceProceed: func(target string) error { return o.act(ctx, forceproceed.NewCmd, target) },
		// The dashboard itself shows how far it is; Ctrl-C in the command's own watching would end the dashboard.
		Replace: func(target string) error { return o.act(ctx, replace.NewCmd, target, "--wait=false") },
	}
}

// act runs a command on the terminal that the dashboard has left to it, and waits until the person has read what it said. Namespace, context
// and credentials are those of the dashboard: both read the same flags.
func (o *options) act(ctx context.Context, newCmd func(*cli.Deps) *cobra.Command, args ...string) error {
	root := &cobra.Command{Use: "kubectl-scylla", SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl scylla"}}
	root.AddGroup(&cobra.Group{ID: cli.GroupAct})
	verb := newCmd(o.d)
	root.AddCommand(verb)
	args = append([]string{verb.Name()}, args...)
	root.SetArgs(args)
	root.SetIn(o.d.Streams.In)
	root.SetOut(o.d.Streams.Out)
	root.SetErr(o.d.Streams.ErrOut)
	o.d.Say(fmt.Sprintf("\n$ kubectl scylla %s\n\n", strings.Join(args, " ")))
	err := root.ExecuteContext(ctx)
	if text := exit.Message(err); text != "" {
		o.d.Say(text + "\n")
	}
	if ctx.Err() != nil {
		return err
	}
	o.d.Say("\nEnter goes back to the dashboard. ")
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = bufio.NewReader(io.LimitReader(o.d.Streams.In, 4096)).ReadString('\n') // a terminal has no longer line; whatever comes, also the end of the input, goes back
	}()
	select {
	case <-ctx.Done():
	case <-read:
	}
	if err == nil {
		return nil
	}
	return exit.Describe(err)
}
