// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/describe"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/forceproceed"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/nodetool"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/replace"
)

// actions returns actions that run the commands of the same name. For saved objects there are none:
// they cannot change and have no Pods.
func (o *options) actions(ctx context.Context, reader *cli.Reader) dashboard.Actions {
	describe := func(target string) (*dashboard.Page, error) { return o.describe(ctx, reader, target) }
	if o.read.From != "" {
		return dashboard.Actions{
			Why:      "saved objects have no running Pods and cannot be changed",
			Describe: describe,
		}
	}
	return dashboard.Actions{
		Describe: describe,
		Nodetool: func(member string) error { return o.act(ctx, nodetool.NewCmd, member, "--", "status") },

		ForceProceed: func(target string) error { return o.act(ctx, forceproceed.NewCmd, target) },
		// The dashboard itself shows the progress; Ctrl-C in the command's own wait would end the
		// dashboard.
		Replace: func(target string) error { return o.act(ctx, replace.NewCmd, target, "--wait=false") },
	}
}

// typed returns the command with its namespace, which comes before the arguments of the command in
// the Pod.
func typed(args []string, namespace string) words.Command {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Concat(words.Scylla(namespace, args[:at]...), args[at:])
}

// describe returns a member's page: the output of `describe`, read again.
func (o *options) describe(ctx context.Context, reader *cli.Reader, target string) (*dashboard.Page, error) {
	quiet := reader.Quiet()
	doc, err := describe.Read(ctx, quiet.Deps(), quiet, target)
	if err != nil {
		return nil, exit.Describe(err)
	}
	page := &dashboard.Page{Lines: doc.Facts(o.d.Options(false))}
	for _, line := range page.Lines {
		if line.Command && page.Command == "" {
			page.Command = line.Text
		}
	}
	return page, nil
}

// act runs a command on the terminal, which the dashboard has released, and waits until the user
// has read its output. Namespace, context and credentials are the dashboard's: both use the same
// flags.
func (o *options) act(ctx context.Context, newCmd func(*cli.Deps) *cobra.Command, args ...string) error {
	root := &cobra.Command{Use: "kubectl-scylla", SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl scylla"}}
	root.AddGroup(&cobra.Group{ID: cli.GroupOperate})
	root.PersistentFlags().AddFlagSet(o.given)
	verb := newCmd(o.d)
	root.AddCommand(verb)
	args = append([]string{verb.Name()}, args...)
	root.SetArgs(args)
	root.SetIn(o.d.Streams.In)
	root.SetOut(o.d.Streams.Out)
	root.SetErr(o.d.Streams.ErrOut)
	o.d.Say("\n$ " + o.d.Words().Shell(typed(args, o.d.NamespaceGiven())) + "\n\n")
	err := root.ExecuteContext(ctx)
	if text := exit.MessageBy(err, o.d.Words()); text != "" {
		o.d.Say(text + "\n")
	}
	if ctx.Err() != nil {
		return err
	}
	o.d.Say("\nPress Enter to return to the dashboard. ")
	read := make(chan struct{})
	go func() {
		defer close(read)
		// A terminal's lines are shorter. Any input, and its end, returns to the dashboard.
		_, _ = bufio.NewReader(io.LimitReader(o.d.Streams.In, 4096)).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
	case <-read:
	}
	if ended := exit.Code(err); ended != exit.CodeOK && err.Error() == "" {
		// The cause was on the screen, which is gone.
		err = fmt.Errorf("the command ended with exit code %d", ended)
	}
	return exit.Describe(err)
}
