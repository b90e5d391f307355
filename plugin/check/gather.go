// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
)

const (
	// abreast is the number of parallel requests.
	abreast = 8
	// timeout limits the request to one reporter.
	timeout = 10 * time.Second
)

// gather reads the input of preflight. It returns an error only if nothing could be read.
func (o *options) gather(ctx context.Context) (*preflight.Input, error) {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 50, 100 // many small requests
	scheme := kube.NewScheme()
	utilruntime.Must(authorizationv1.AddToScheme(scheme))
	utilruntime.Must(discoveryv1.AddToScheme(scheme))
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	c, err := o.d.ClientOf(cfg, scheme)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	namespace := ""
	if !o.all {
		if namespace, err = o.d.Namespace(); err != nil {
			return nil, err
		}
	}
	in := &preflight.Input{Pre: o.pre, AnyVersion: o.anyVersion, Version: version.Get().Version}
	if err := o.server(ctx, cfg, in); err != nil {
		return nil, err
	}
	if err := o.objects(ctx, c, namespace, in); err != nil {
		return nil, err
	}
	o.installation(ctx, c, in)
	in.Zones = zones(ctx, c, in.Pods)
	if !o.pre {
		o.operator(ctx, c, namespace, in)
	}
	in.Access = append(in.Access, o.access(ctx, c, namespace, in)...)
	if !o.pre {
		in.Denials = o.denials(ctx, cfg, scheme, in)
		in.Reach = reach(ctx, cfg, in.Pods)
	}
	if ctx.Err() != nil {
		return nil, exit.Interrupted(ctx.Err())
	}
	return in, nil
}

// server reads the API server's version, its time and its served CRDs.
func (o *options) server(ctx context.Context, cfg *rest.Config, in *preflight.Input) error {
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	v, err := dc.ServerVersion()
	if err != nil {
		return fmt.Errorf("get the version of the API server: %w", err)
	}
	in.KubernetesMinor, _ = strconv.Atoi(strings.TrimRight(v.Minor, "+")) // zero means unknown
	o.clock(ctx, cfg, in)
	for _, resource := range []string{"scylladbstatusreports", "scylladbdatacenternodesstatusreports"} {
		k := preflight.Kind{Name: resource + "." + api.GroupVersion.Group}
		switch list, err := dc.ServerResourcesForGroupVersion(api.GroupVersion.String()); {
		case apierrors.IsNotFound(err):
		case err != nil:
			k.Err = exit.Describe(err).Error()
		default:
			for _, r := range list.APIResources {
				if r.Name == resource {
					k.Served = append(k.Served, api.GroupVersion.Version)
				}
			}
		}
		in.Kinds = append(in.Kinds, k)
	}
	return nil
}

// clock compares the local time with the Date header of a response, which has whole seconds.
func (o *options) clock(ctx context.Context, cfg *rest.Config, in *preflight.Input) {
	in.Now = o.d.Clock.Now()
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("version").String(), nil)
	if err != nil {
		return
	}
	before := o.d.Clock.Now()
	resp, err := hc.Do(req)
	if err != nil {
		return
	}
	_ = resp.Body.Close()
	server, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return
	}
	in.Now = o.d.Clock.Now()
	middle := before.Add(in.Now.Sub(before) / 2)
	in.Skew, in.SkewKnown = middle.Sub(server.Add(500*time.Millisecond)), true
}

// objects lists the namespace's objects. Only StatefulSets must be readable: without them there is
// nothing to check.
func (o *options) objects(ctx context.Context, c client.Client, namespace string, in *preflight.Input) error {
	var sets appsv1.StatefulSetList
	if err := c.List(ctx, &sets, client.InNamespace(namespace), client.HasLabels{api.LabelCluster}); err != nil {
		return fmt.Errorf("list StatefulSets: %w", err)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{api.LabelCluster}); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	var services corev1.ServiceList
	if err := c.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	in.StatefulSets, in.Services = sets.Items, services.Items
	in.Pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !cluster.IsNodePod(&p) })
	var budgets policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &budgets, client.InNamespace(namespace)); err != nil {
		in.PDBErr = exit.Describe(err).Error()
	}
	in.PDBs = budgets.Items
	var endpoints discoveryv1.EndpointSliceList
	if err := c.List(ctx, &endpoints, client.InNamespace(namespace),
		client.HasLabels{discoveryv1.LabelServiceName}); err != nil {
		in.SlicesErr = exit.Describe(err).Error()
	}
	in.Slices = endpoints.Items
	var reports api.ScyllaDBStatusReportList
	if err := c.List(ctx, &reports, client.InNamespace(namespace)); err == nil {
		in.Reports = reports.Items
	}
	return nil
}

// operator reads the Scylla Operator's clusters, and what `install` and `remote add` applied in
// their namespaces.
func (o *options) operator(ctx context.Context, c client.Client, namespace string, in *preflight.Input) {
	seen := map[cluster.Key]bool{}
	in.Operator.Namesakes = map[cluster.Key]string{}
	for i := range in.StatefulSets {
		set := &in.StatefulSets[i]
		key := cluster.Key{Namespace: set.Namespace, Name: api.ClusterOf(set.Labels)}
		if _, may := cluster.Selected(set, key.Name); may && in.Operator.Namesakes[key] == "" {
			if found, _ := kube.OperatorsOf(ctx, c, key); len(found) > 0 { // a forbidden kind is unknown
				in.Operator.Namesakes[key] = found[0].Kind + " " + found[0].Name
			}
		}
		if set.Labels[api.LabelManagedBy] != api.ManagedByOperator || seen[key] {
			continue
		}
		seen[key] = true
		s, err := o.d.Load(ctx, c, key, kube.Everything("", ""))
		if err != nil {
			in.Operator.Err = exit.Describe(err).Error()
			continue
		}
		in.Operator.Clusters = append(in.Operator.Clusters, s)
	}
	if len(seen) == 0 {
		return
	}
	var bindings rbacv1.RoleBindingList
	if err := c.List(ctx, &bindings, client.InNamespace(namespace),
		client.MatchingLabels{manifests.PartOfLabel: manifests.FieldOwner}); err != nil {
		in.Access = append(in.Access, preflight.Access{Who: preflight.You, For: "check", Right: "list rolebindings",
			Namespace: namespace})
	}
	for i := range bindings.Items {
		switch b := &bindings.Items[i]; {
		case b.RoleRef.Name == manifests.OperatorMemberRole:
			in.Operator.Member = true
		case strings.HasPrefix(b.RoleRef.Name, remote.SecretName("")):
			in.Operator.Remotes = append(in.Operator.Remotes, b.Namespace+"/"+b.RoleRef.Name)
		}
	}
}

// installation reads the objects that `install` applied.
func (o *options) installation(ctx context.Context, c client.Client, in *preflight.Input) {
	ns := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: manifests.Namespace}, ns); err == nil {
		in.Installed = ns.Annotations[manifests.VersionAnnotation]
	}
	d := &appsv1.Deployment{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: manifests.Namespace, Name: api.LeaseName}, d); {
	case err == nil:
		in.Controller, in.Namespaces = d, manifests.Namespaces(d)
	case !apierrors.IsNotFound(err):
		in.ControllerErr = exit.Describe(err).Error()
	}
	l := &coordinationv1.Lease{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: manifests.Namespace, Name: api.LeaseName}, l); err == nil {
		in.Lease = l
	}
	role := &metav1.PartialObjectMetadata{}
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	switch err := c.Get(ctx, client.ObjectKey{Name: manifests.OperatorMemberRole}, role); {
	case err == nil && role.Labels[api.LabelOperatorAggregation] == "true":
		in.Aggregated = role.Name
	case client.IgnoreNotFound(err) != nil:
		in.AggregatedErr = exit.Describe(err).Error()
	}
	for i := range preflight.Policies {
		p := preflight.Admission{Policy: preflight.Policies[i]}
		for kind, there := range map[string]*bool{"ValidatingAdmissionPolicy": &p.There,
			"ValidatingAdmissionPolicyBinding": &p.Bound} {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("admissionregistration.k8s.io/v1")
			u.SetKind(kind)
			switch err := c.Get(ctx, client.ObjectKey{Name: p.Name}, u); {
			case err == nil:
				*there = true
			case !apierrors.IsNotFound(err):
				p.Err = exit.Describe(err).Error()
			}
		}
		in.Admission = append(in.Admission, p)
	}
}

// `right` is one permission that the user or the controller needs.
type right struct{ verb, group, resource, sub, name, namespace, what string }

func (r right) String() string {
	s := r.verb + " " + r.resource
	if r.sub != "" {
		s += "/" + r.sub
	}
	return s
}

const own = "scylla.scylladb.com"

// The user's permissions.
var (
	toRead = []right{
		{verb: "list", resource: "services", what: "status"}, {verb: "list", resource: "pods", what: "status"},
		{verb: "list", group: "apps", resource: "statefulsets", what: "status"},
		{verb: "list", resource: "persistentvolumeclaims", what: "replace"},
		{verb: "list", group: own, resource: "scylladbdatacenternodesstatusreports", what: "status"},
		{verb: "get", group: own, resource: "scylladbstatusreports", what: "status"},
		{verb: "create", resource: "pods", sub: "portforward", what: "status --source=live"},
		{verb: "patch", resource: "services", what: "replace"},
		{verb: "create", group: "events.k8s.io", resource: "events", what: "replace"},
	}
	toInstall = []right{
		{verb: "create", group: "apiextensions.k8s.io", resource: "customresourcedefinitions", what: "install"},
		{verb: "create", group: "rbac.authorization.k8s.io", resource: "clusterroles", what: "install"},
		{verb: "create", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies",
			what: "install"},
		{verb: "create", resource: "namespaces", what: "install"},
	}
	ofMember = []right{
		{verb: "list", resource: "services", what: "the barrier"},
		{verb: "watch", resource: "services", what: "the barrier"},
		{verb: "list", resource: "pods", what: "the barrier"}, {verb: "patch", resource: "pods", what: "the reporter"},
		{verb: "list", group: "apps", resource: "statefulsets", what: "the barrier"},
		{verb: "list", group: own, resource: "scylladbdatacenternodesstatusreports", what: "the barrier"},
		{verb: "create", group: "events.k8s.io", resource: "events", what: "the barrier"},
		{verb: "get", group: "coordination.k8s.io", resource: "leases", name: api.LeaseName,
			namespace: manifests.Namespace, what: "the barrier"},
	}
	ofController = []right{
		{verb: "watch", resource: "pods", what: "the controller"},
		{verb: "patch", resource: "services", what: "the controller"},
		{verb: "create", resource: "pods", sub: "eviction", what: "a replacement"},
		{verb: "delete", resource: "persistentvolumeclaims", what: "a replacement"},
		{verb: "patch", group: own, resource: "scylladbstatusreports", sub: "status", what: "the report"},
		{verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: manifests.Namespace,
			what: "the controller"},
	}
)

// access checks all permissions, several in parallel, and returns them in a fixed order.
func (o *options) access(ctx context.Context, c client.Client, namespace string,
	in *preflight.Input) []preflight.Access {
	var all []preflight.Access
	var ask []func(*preflight.Access)
	add := func(who, user, ns string, rights []right) {
		for _, r := range rights {
			if r.namespace == "" {
				r.namespace = ns
			}
			all = append(all, preflight.Access{Who: who, For: r.what, Right: r.String(), Namespace: ns})
			ask = append(ask, func(a *preflight.Access) { review(ctx, c, user, r, a) })
		}
	}
	rights := toRead
	if o.pre {
		rights = slices.Concat(toInstall, toRead[:2])
	}
	add(preflight.You, "", namespace, rights)
	if !o.pre {
		if in.Controller != nil && in.Ours() {
			for _, ns := range in.ManagedIn(namespace) {
				add(preflight.TheController, "system:serviceaccount:"+manifests.Namespace+":"+api.LeaseName, ns,
					ofController)
			}
		}
		for _, account := range accounts(in.StatefulSets) {
			ns, name, _ := strings.Cut(account, "/")
			add(account, "system:serviceaccount:"+ns+":"+name, ns, ofMember)
		}
	}
	each(len(all), func(i int) { ask[i](&all[i]) })
	return all
}

// accounts returns the ServiceAccounts of guarded Pods, as namespace/name.
func accounts(sets []appsv1.StatefulSet) []string {
	var all []string
	for _, s := range sets {
		spec := s.Spec.Template.Spec
		name := cmp.Or(spec.ServiceAccountName, "default")
		if cluster.HasBarrier(&spec) && s.Labels[api.LabelManagedBy] != api.ManagedByOperator &&
			!slices.Contains(all, s.Namespace+"/"+name) {
			all = append(all, s.Namespace+"/"+name)
		}
	}
	slices.Sort(all)
	return all
}

// denials tries for each account of guarded Pods a write that the admission policy must deny: a
// foreign annotation on one of its Pods, without that Pod's token. It is a dry run, so nothing
// changes even if the write is allowed. An account without permission to patch Pods has its own
// result.
func (o *options) denials(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme,
	in *preflight.Input) []preflight.Denial {
	var all []preflight.Denial
	for _, account := range accounts(in.StatefulSets) {
		namespace, name, _ := strings.Cut(account, "/")
		at := slices.IndexFunc(in.Pods, func(p corev1.Pod) bool {
			return p.Namespace == namespace && cmp.Or(p.Spec.ServiceAccountName, "default") == name &&
				cluster.HasBarrier(&p.Spec)
		})
		if at < 0 ||
			slices.ContainsFunc(in.Access, func(a preflight.Access) bool {
				return a.Who == account &&
					a.Right == "patch pods" && !a.Allowed
			}) {
			continue
		}
		d := preflight.Denial{Account: account, Pod: in.Pods[at].Name}
		as := rest.CopyConfig(cfg)
		as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + name,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
		c, err := o.d.ClientOf(as, scheme)
		if err == nil {
			err = c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: d.Pod}},
				client.RawPatch(types.MergePatchType,
					[]byte(`{"metadata":{"annotations":{"kubectl-scylla.scylladb.com/check":"dry run"}}}`)),
				client.DryRunAll)
		}
		switch {
		// Kubernetes' message names the policy.
		case err != nil && strings.Contains(err.Error(), "'"+preflight.Policies[0].Name+"'"):
			d.Denied = true
		case err != nil:
			d.Err = exit.Describe(err).Error()
		}
		all = append(all, d)
	}
	return all
}

// review checks one permission of a user; an empty user is the caller.
func review(ctx context.Context, c client.Client, user string, r right, a *preflight.Access) {
	attributes := &authorizationv1.ResourceAttributes{Namespace: r.namespace, Verb: r.verb, Group: r.group,
		Resource: r.resource, Subresource: r.sub, Name: r.name}
	var err error
	if user == "" {
		s := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		err = c.Create(ctx, s)
		a.Allowed = s.Status.Allowed
	} else {
		ns := strings.Split(user, ":")[2]
		s := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: user,
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}}}
		err = c.Create(ctx, s)
		a.Allowed = s.Status.Allowed
	}
	if err != nil {
		a.Err = exit.Describe(err).Error()
	}
}

// reach queries all running reporters.
func reach(ctx context.Context, cfg *rest.Config, pods []corev1.Pod) map[string]string {
	type target struct {
		namespace, name string
		port            int
	}
	var targets []target
	for _, p := range pods {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if c.Name == api.ContainerReporter && len(c.Ports) > 0 && p.Status.Phase == corev1.PodRunning {
				targets = append(targets, target{p.Namespace, p.Name, int(c.Ports[0].ContainerPort)})
			}
		}
	}
	said := make([]string, len(targets))
	each(len(targets), func(i int) {
		t := targets[i]
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := kube.AskPort(ctx, cfg, t.namespace, t.name, t.port, "/readyz"); err != nil {
			said[i] = exit.Describe(err).Error()
		}
	})
	all := map[string]string{}
	for i, t := range targets {
		all[t.namespace+"/"+t.name] = said[i]
	}
	return all
}

// each runs n calls, several in parallel.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, abreast)
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	wg.Wait()
}
