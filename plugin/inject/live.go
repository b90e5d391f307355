// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// checkData can be skipped: with replication factor 1 or 2, some data is not available while its
// node restarts.
const checkData = "data"

// kinds of added objects.
var (
	serviceAccounts = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	roleBindings    = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}
)

// live is one injection of a running cluster.
type live struct {
	*options
	c   client.WithWatch
	key cluster.Key
	// finished is true once nothing is left to do.
	finished bool
}

func (o *options) runLive(ctx context.Context) error {
	c, err := o.d.NewClient()
	if err != nil {
		return err
	}
	l := &live{options: o, c: c, key: cluster.Key{Namespace: o.o.Namespace, Name: o.cluster}}
	o.o.Cluster = o.cluster
	sets, err := l.look(ctx)
	if err != nil {
		return err
	}
	added, err := l.missing(ctx, sets)
	if err != nil {
		return err
	}
	todo, err := l.show(ctx, sets, added)
	if err != nil || !todo {
		return err
	}
	if err := l.mayBegin(ctx, sets, added); err != nil {
		return err
	}
	switch {
	case o.dryRun == cli.DryRunClient:
		o.d.Say("nothing was changed (dry run)\n")
		return nil
	case o.dryRun == cli.DryRunServer:
		return l.serverDryRun(ctx, sets, added)
	case !o.yes:
		question := fmt.Sprintf("Change these StatefulSets of %s and restart %d nodes, one by one?", l.key,
			members(sets))
		if err := o.d.Confirm(ctx, question, o.cluster); err != nil {
			return err
		}
	}
	if l.root == string(credential.Managed) {
		if err := l.storeCredential(ctx,
			client.ObjectKey{Namespace: l.key.Namespace, Name: api.RootCredentialSecret(l.key.Name)}); err != nil {
			return err
		}
	}
	for _, u := range added {
		if err := l.apply(ctx, u); err != nil {
			return l.goOn(err)
		}
		o.d.Say(inject.Name(u) + " added\n")
	}
	return l.goOn(l.roll(ctx))
}

// goOn adds the commands that continue and that undo to an error.
func (l *live) goOn(err error) error {
	if err == nil {
		return nil
	}
	again := []string{"inject", l.cluster}
	back := append(slices.Clone(again), "--undo")
	hint := "no further node is restarted; to continue: "
	if len(l.skip) > 0 {
		skip := "--skip-check=" + strings.Join(l.skip, ",")
		again, back = append(again, skip), append(back, skip)
	}
	if l.undo {
		hint += l.d.Words().Shell(words.Scylla(l.key.Namespace, back...))
	} else {
		interval := ""
		if l.o.Interval != 0 {
			interval = l.o.Interval.String()
		}
		for _, f := range []struct{ name, value, without string }{
			{"--image", l.o.Image, ""}, {"--policy", l.policy, ""}, {"--root-credential", l.root, ""},
			{"--status-report-interval", interval, ""},
			{"--datacenter", l.o.Datacenter, ""}, {"--rack", l.o.Rack, ""},
			{"--controller-namespace", l.o.ControllerNamespace, cli.DefaultControllerNamespace},
		} {
			if f.value != f.without {
				again = append(again, f.name, f.value)
			}
		}
		if l.o.AnyVersion {
			again = append(again, inject.FlagVersion)
		}
		if l.floating {
			again = append(again, cli.FlagFloatingTag)
		}
		hint += l.d.Words().Shell(words.Scylla(l.key.Namespace, again...)) + "\nto revert: " +
			l.d.Words().Shell(words.Scylla(l.key.Namespace, back...))
	}
	if exit.Code(err) == exit.CodeInterrupted {
		l.d.Say(hint + "\n") // an interrupt is printed as one word, without a hint
	}
	return exit.WithHint(err, hint)
}

// set is the current state of a StatefulSet of the cluster.
type set struct {
	*inject.Running
	typed *appsv1.StatefulSet
}

// look reads the StatefulSets of the cluster and plans each. It returns all refusals together.
func (l *live) look(ctx context.Context) ([]set, error) {
	var list appsv1.StatefulSetList
	if err := l.c.List(ctx, &list, client.InNamespace(l.key.Namespace)); err != nil {
		return nil, fmt.Errorf("list StatefulSets of namespace %s: %w", l.key.Namespace, err)
	}
	var sets []set
	var errs []error
	var names []string
	operators, err := l.operators(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		s := &list.Items[i]
		name := cluster.NameOf(s)
		if name != l.key.Name {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			continue
		}
		have, err := untyped(s)
		if err != nil {
			return nil, err
		}
		beside, err := l.configMaps(ctx, s)
		if err != nil {
			return nil, err
		}
		r, err := inject.Plan(have, l.o, append(beside, operators...), l.undo)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sets = append(sets, set{r, s})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, exit.Refused(err)
	}
	if len(sets) == 0 {
		slices.Sort(names)
		e := &cluster.NotFoundError{What: "cluster", Name: l.key.Name, In: "namespace " + l.key.Namespace,
			Known: len(names), Nearest: cluster.Nearest(l.key.Name, names)}
		e.Cure = "no StatefulSet there runs ScyllaDB"
		if len(names) > 0 {
			e.Cure = "its StatefulSets belong to: " + strings.Join(names, ", ")
		}
		return nil, exit.Refused(e)
	}
	return sets, nil
}

func untyped(s *appsv1.StatefulSet) (*unstructured.Unstructured, error) {
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return nil, fmt.Errorf("read statefulset %s/%s: %w", s.Namespace, s.Name, err)
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	return u, nil
}

// configMaps returns the ConfigMaps that the StatefulSet's Pods mount: they may contain ScyllaDB's
// configuration. A missing or unreadable ConfigMap is skipped; a setting that is then missing is
// refused with its flag.
func (l *live) configMaps(ctx context.Context, s *appsv1.StatefulSet) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, name := range inject.ConfigMaps(s) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		switch err := l.c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, u); {
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			l.d.Warn("no permission to get ConfigMap %s/%s: its settings for ScyllaDB are unknown", s.Namespace, name)
		case err != nil:
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", s.Namespace, name, err)
		default:
			out = append(out, u)
		}
	}
	return out, nil
}

// operators returns the Scylla Operator's objects with the cluster's name.
func (l *live) operators(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if l.undo {
		return nil, nil
	}
	found, err := kube.OperatorsOf(ctx, l.c, l.key)
	switch {
	case apierrors.IsForbidden(err):
		l.d.Warn("whether the Scylla Operator has a cluster of this name is unknown: %s", exit.Describe(err))
	case err != nil:
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, obj := range found {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(obj.GroupVersionKind())
		u.SetNamespace(obj.Namespace)
		u.SetName(obj.Name)
		out = append(out, u)
	}
	return out, nil
}

// missing returns the ServiceAccounts and RoleBindings to add.
func (l *live) missing(ctx context.Context, sets []set) ([]*unstructured.Unstructured, error) {
	var there, out []*unstructured.Unstructured
	for _, s := range sets {
		for _, u := range s.Rights(nil) {
			if slices.ContainsFunc(there,
				func(x *unstructured.Unstructured) bool { return inject.Name(x) == inject.Name(u) }) {
				continue
			}
			there = append(there, u)
			have := &unstructured.Unstructured{}
			have.SetGroupVersionKind(u.GroupVersionKind())
			switch err := l.c.Get(ctx, client.ObjectKeyFromObject(u), have); {
			case apierrors.IsNotFound(err):
				out = append(out, u)
			case err != nil:
				return nil, fmt.Errorf("read %s: %w", inject.Name(u), err)
			}
		}
	}
	return out, nil
}

// show prints the changes, and reports whether there are any.
func (l *live) show(ctx context.Context, sets []set, added []*unstructured.Unstructured) (todo bool, err error) {
	var changes []inject.Change
	for _, s := range sets {
		c, err := s.Change()
		if err != nil {
			return false, err
		}
		changes = append(changes, c)
	}
	out := diff(changes)
	if _, err := l.d.Streams.Out.Write(out); err != nil {
		return false, fmt.Errorf("write the changes: %w", err)
	}
	for i, s := range sets {
		c := &changes[i]
		switch {
		case !s.Labelled() || !s.Written():
			l.d.Say(c.Name + " will change\n")
			todo = true
		case s.Held() || !rolled(s.typed):
			l.d.Say(c.Name + " has changed, but not all of its Pods have restarted\n")
			todo = true
		default:
			l.d.Say(c.Name + " unchanged\n")
		}
		for _, n := range c.Notes {
			l.d.Warn("%s: %s", c.Name, n)
		}
	}
	for _, u := range added {
		l.d.Say(inject.Name(u) + " will be added\n")
		todo = true
	}
	l.tellCost(changes)
	if l.undo {
		left, err := l.leftovers(ctx, sets)
		if err != nil {
			return false, err
		}
		for _, u := range left {
			l.d.Say(inject.Name(u) + " will be removed\n")
			todo = true
		}
	}
	return todo, nil
}

// rolled reports whether every Pod has the newest template.
func rolled(s *appsv1.StatefulSet) bool {
	return s.Status.ObservedGeneration >= s.Generation && s.Status.UpdatedReplicas >= s.Status.Replicas
}

func members(sets []set) int {
	n := 0
	for _, s := range sets {
		n += len(cluster.MemberNames(s.typed))
	}
	return n
}

// mayBegin refuses before any change if no controller leads or a node cannot be restarted safely.
// An interrupted roll continues without this check, because it may itself be the reason why a node
// is DOWN; each later step has its own check.
func (l *live) mayBegin(ctx context.Context, sets []set, added []*unstructured.Unstructured) error {
	if !l.undo {
		managed, err := l.managed(ctx)
		if err != nil {
			return err
		}
		lease := &coordinationv1.Lease{}
		switch err := l.c.Get(ctx, client.ObjectKey{Namespace: l.o.ControllerNamespace, Name: api.LeaseName}, lease); {
		case apierrors.IsForbidden(err):
			l.d.Warn("the controller's state is unknown: %s", exit.Describe(err))
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("read Lease %s/%s: %w", l.o.ControllerNamespace, api.LeaseName, err)
		case err != nil || cluster.LeaseAt(lease, l.d.Clock.Now()).Silent:
			return exit.WithHint(
				exit.Refusedf(
					"no controller leads: it creates the member Services and updates the reports that the barriers "+
						"require"),
				"install it first", words.Scylla("", l.install(managed)...)...)
		}
		if len(managed) > 0 && !slices.Contains(managed, l.key.Namespace) {
			return exit.WithHint(
				exit.Refusedf(
					"the controller does not manage namespace %s, only %s: every new Pod would wait indefinitely",
					l.key.Namespace, strings.Join(managed, ", ")),
				"add the namespace", words.Scylla("", l.install(append(managed, l.key.Namespace))...)...)
		}
	}
	objects, err := l.objects(ctx, sets)
	if err == nil {
		err = l.allCreatable(ctx, sets, objects, added)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sets,
		func(s set) bool { _, held := s.Have.GetAnnotations()[api.AnnotationRolling]; return held }) {
		return nil
	}
	now, err := l.ask(ctx, objects)
	if err != nil {
		return err
	}
	bad := l.unsafe(ctx, now, preflight.ForUpgrade, nil)
	if len(bad) == 0 {
		return nil
	}
	for _, r := range bad {
		l.d.Warn("%s", sentence(r))
	}
	return exit.WithHint(exit.Refusedf("%s cannot be restarted now: nothing was changed", l.key),
		"show its status", words.Scylla(l.key.Namespace, "status", l.cluster, "--source=live")...)
}

// managed returns the namespaces that the installed controller manages; none means all. There is no
// Deployment of that name if the controller was installed in another way.
func (l *live) managed(ctx context.Context) ([]string, error) {
	d := &appsv1.Deployment{}
	switch err := l.c.Get(ctx, client.ObjectKey{Namespace: l.o.ControllerNamespace, Name: api.LeaseName}, d); {
	case apierrors.IsForbidden(err):
		l.d.Warn("the namespaces of the controller are unknown: %s", exit.Describe(err))
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("read Deployment %s/%s: %w", l.o.ControllerNamespace, api.LeaseName, err)
	}
	return manifests.Namespaces(d), nil
}

// install returns the command that installs a controller of the same image for these namespaces.
func (l *live) install(namespaces []string) []string {
	args := []string{"install", "--image", l.o.Image}
	if len(namespaces) > 0 {
		args = append(args, manifests.FlagNamespaces+strings.Join(namespaces, ","))
	}
	if l.floating {
		args = append(args, cli.FlagFloatingTag)
	}
	return args
}

func sentence(r preflight.Result) string {
	text := words.Text(r.Text)
	if r.Subject != "" {
		text = r.Subject + ": " + text
	}
	return text
}

// apply sends an object that the injection adds.
func (l *live) apply(ctx context.Context, u *unstructured.Unstructured, more ...client.ApplyOption) error {
	opts := append([]client.ApplyOption{client.FieldOwner(manifests.FieldOwner), client.ForceOwnership}, more...)
	if err := l.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), opts...); err != nil {
		return fmt.Errorf("apply %s: %w", inject.Name(u), err)
	}
	return nil
}

// update writes a planned StatefulSet. It fails if the object has changed since it was read: the
// caller then plans again.
func (l *live) update(ctx context.Context, u *unstructured.Unstructured, more ...client.UpdateOption) error {
	if err := l.c.Update(ctx, u, append([]client.UpdateOption{client.FieldOwner(manifests.FieldOwner)},
		more...)...); err != nil {
		return fmt.Errorf("update %s: %w", inject.Name(u), err)
	}
	return nil
}

// serverDryRun sends every write as a dry run.
func (l *live) serverDryRun(ctx context.Context, sets []set, added []*unstructured.Unstructured) error {
	for _, u := range added {
		if err := l.apply(ctx, u, client.DryRunAll); err != nil {
			return err
		}
	}
	for _, s := range sets {
		u, err := s.WithTemplate()
		if err != nil {
			return err
		}
		if err := l.update(ctx, u, client.DryRunAll); err != nil {
			return err
		}
		l.d.Say(inject.Name(u) + " configured (server dry run)\n")
	}
	return nil
}
