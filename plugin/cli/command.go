// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Groups of verbs in the root's help.
const (
	GroupInspect = "inspect"
	GroupOperate = "operate"
	GroupSetup   = "setup"
)

// Verb is the body of a command: flags are parsed, then Complete fills in what they leave open, Validate refuses, Run works.
type Verb interface {
	Complete(cmd *cobra.Command, args []string) error
	Validate(cmd *cobra.Command) error
	Run(ctx context.Context) error
}

// Run makes a Verb the body of a command.
func Run(v Verb) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := v.Complete(cmd, args); err != nil {
			return err
		}
		if err := v.Validate(cmd); err != nil {
			return hinted(cmd, err)
		}
		err := v.Run(cmd.Context())
		if isAmbiguous(err) && exit.Code(err) == exit.CodeError {
			return exit.Usage(err) // the person did not say enough
		}
		return err
	}
}

// hinted points a usage error to the verb's help, where no better hint is there.
func hinted(cmd *cobra.Command, err error) error {
	if exit.Code(err) != exit.CodeUsage {
		return err
	}
	return exit.WithHint(err, HelpHint(cmd))
}

// HelpHint is the line that points to a command's help.
func HelpHint(cmd *cobra.Command) string { return "see: " + cmd.CommandPath() + " --help" }

// AtMost refuses more arguments than a verb takes, which are none or one: most often an option that lacks its flag.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) <= n:
			return nil
		case n == 0:
			return fmt.Errorf("unexpected argument %q: %s takes none", args[0], cmd.Name())
		}
		return fmt.Errorf("unexpected argument %q: %s takes at most one", args[n], cmd.Name())
	}
}

// Examples joins lines into the form that help shows.
func Examples(lines ...string) string {
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// completionTimeout bounds what the shell waits for while a person presses Tab.
const completionTimeout = 2 * time.Second

// CompleteClusters completes the names of clusters in the namespace. Errors complete nothing: a shell has no place for them.
func (d *Deps) CompleteClusters(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(cmd, toComplete, func(_ *cluster.Cluster, key cluster.Key) []string { return []string{key.Name} }, false)
}

// CompleteDatacenters completes the names of datacenters in the namespace.
func (d *Deps) CompleteDatacenters(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, toComplete, func(s *cluster.Cluster, _ cluster.Key) []string {
		var names []string
		for _, m := range s.Members() {
			if m.Datacenter != "" && m.Service != nil {
				names = append(names, m.Datacenter)
			}
		}
		return names
	}, true)
}

func (d *Deps) complete(cmd *cobra.Command, toComplete string, names func(*cluster.Cluster, cluster.Key) []string, load bool) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, toComplete, func(ctx context.Context) []string { return d.candidates(ctx, names, load) })
}

// complete returns the candidates that begin with the typed text, each once, within completionTimeout.
func complete(cmd *cobra.Command, toComplete string, candidates func(context.Context) []string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	result := make(chan []string, 1)
	// Reading a kubeconfig may run a credential plugin that heeds no context, so the time is kept here.
	go func() { result <- candidates(ctx) }()
	var all []string
	select {
	case all = <-result:
	case <-ctx.Done():
	}
	seen, out := map[string]bool{}, []string(nil)
	for _, n := range all {
		if name, _, _ := strings.Cut(n, "\t"); strings.HasPrefix(name, toComplete) && !seen[name] {
			seen[name] = true
			out = append(out, n)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (d *Deps) candidates(ctx context.Context, names func(*cluster.Cluster, cluster.Key) []string, load bool) []string {
	c, err := d.NewClient()
	if err != nil {
		return nil
	}
	ns, err := d.Namespace()
	if err != nil {
		return nil
	}
	keys, err := kube.ListClusters(ctx, c, ns, nil)
	if err != nil {
		return nil
	}
	var all []string
	for _, key := range keys {
		if !load {
			all = append(all, names(nil, key)...)
			continue
		}
		s, err := d.Load(ctx, c, key, kube.LoadOptions{Source: cluster.SourceReport})
		if err != nil {
			continue
		}
		all = append(all, names(s, key)...)
	}
	return all
}

// CompleteNamespaces completes -n: the namespaces that the person may list, those with a cluster first where that is known. Without the right to list namespaces
// it is those with a cluster.
func (d *Deps) CompleteNamespaces(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, toComplete, func(ctx context.Context) []string {
		c, err := d.NewClient()
		if err != nil {
			return nil
		}
		var names []string
		if keys, err := kube.ListClusters(ctx, c, "", nil); err == nil {
			for _, k := range keys {
				names = append(names, k.Namespace+"\thas a ScyllaDB cluster")
			}
		}
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := c.List(ctx, &list); err == nil {
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	})
}

// CompleteContexts completes --context from the kubeconfig.
func (d *Deps) CompleteContexts(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, toComplete, func(context.Context) []string {
		raw, err := d.Flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(raw.Contexts)) {
			if name == raw.CurrentContext {
				name += "\tcurrent context"
			}
			names = append(names, name)
		}
		return names
	})
}
