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

// Command groups in the root's help.
const (
	GroupInspect = "inspect"
	GroupOperate = "operate"
	GroupSetup   = "setup"
)

// verb is the body of a command: after parsing the flags, Complete sets the defaults, Validate
// checks, and Run executes.
type verb interface {
	Complete(cmd *cobra.Command, args []string) error
	Validate(cmd *cobra.Command) error
	Run(ctx context.Context) error
}

// Run returns a command's body for a Verb.
func Run(v verb) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := v.Complete(cmd, args); err != nil {
			return err
		}
		if err := v.Validate(cmd); err != nil {
			return hinted(cmd, err)
		}
		err := v.Run(cmd.Context())
		if isAmbiguous(err) && exit.Code(err) == exit.CodeError {
			return exit.Usage(err) // the user did not specify enough
		}
		return err
	}
}

// hinted adds the command's help as hint to a usage error without a hint.
func hinted(cmd *cobra.Command, err error) error {
	if exit.Code(err) != exit.CodeUsage {
		return err
	}
	return exit.WithHint(err, HelpHint(cmd))
}

// HelpHint returns the line that refers to a command's help.
func HelpHint(cmd *cobra.Command) string { return "see: " + cmd.CommandPath() + " --help" }

// AtMost refuses more than n arguments, none or one: an additional argument is usually the value of
// a missing flag.
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

// Examples joins lines in the format of the help.
func Examples(lines ...string) string {
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// SplitExamples returns the examples that the help shows, which people type most, and the rest.
func SplitExamples(examples string) (typed, rest []string) {
	all := strings.Split(examples, "\n\n")
	n := min(3, len(all))
	return all[:n], all[n:]
}

// completionTimeout limits how long a shell waits for a completion.
const completionTimeout = 2 * time.Second

// CompleteClusters completes the names of clusters in the namespace. On errors it completes
// nothing, because a shell cannot show them.
func (d *Deps) CompleteClusters(cmd *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(cmd, toComplete, func(_ *cluster.Cluster, key cluster.Key) []string { return []string{key.Name} },
		false)
}

// CompleteDatacenters completes the names of datacenters in the namespace.
func (d *Deps) CompleteDatacenters(cmd *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
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

func (d *Deps) complete(cmd *cobra.Command, toComplete string, names func(*cluster.Cluster, cluster.Key) []string,
	load bool) ([]string, cobra.ShellCompDirective) {
	return complete(cmd, toComplete, func(ctx context.Context) []string {
		if from := cmd.Flags().Lookup("from"); from != nil && from.Value.String() != "" {
			return d.saved(ctx, from.Value.String(), names)
		}
		return d.candidates(ctx, names, load)
	})
}

// complete returns the distinct candidates that begin with the typed text, within
// completionTimeout.
func complete(cmd *cobra.Command, toComplete string, candidates func(context.Context) []string) ([]string,
	cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	result := make(chan []string, 1)
	// Reading a kubeconfig may run a credential plugin that ignores the context, so this function
	// enforces the time limit.
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

// CompleteNamespaces completes -n with the namespaces that the user can list, those with a cluster
// first if known. If the user cannot list namespaces, it completes only those with a cluster.
func (d *Deps) CompleteNamespaces(cmd *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
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
func (d *Deps) CompleteContexts(cmd *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
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
