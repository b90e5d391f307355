// SPDX-License-Identifier: Apache-2.0

// Package scenario sets the stage that the demo and the end-to-end tests share: a Kubernetes with the project's images, the kinds, rights and
// controller as shipped, and clusters of simulated ScyllaDB made from the manifest in docs/examples. It plays no story of its own and
// checks nothing.
package scenario

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/examples"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
)

const fieldOwner = client.FieldOwner("kubectl-scylla-test")

// World is a running Kubernetes with the project's images in its nodes.
type World struct {
	Cluster *cluster.Cluster
	Images  *images.Set
	Client  client.WithWatch
	Core    corev1client.CoreV1Interface // for logs and metrics, which Client cannot read
	root    string
}

// Options of a World.
type Options struct {
	// Root is the module's folder.
	Root string
	// Dir takes binaries and image archives.
	Dir string
	// Out is told what goes on.
	Out io.Writer
	// Versions of the simulated ScyllaDB to have images of.
	Versions []string
	// APIServerFlags are added to the API server's.
	APIServerFlags []string
}

// Start builds the binaries and images and starts three Kubernetes nodes with them. Stop the World's Cluster when done.
func Start(ctx context.Context, o Options) (*World, error) {
	ctrllog.SetLogger(logr.Discard()) // otherwise controller-runtime complains on stderr that no logger is set
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }
	say("building Kubernetes (minutes the first time, then kept in the cache folder)")
	if _, err := build.Kubernetes(ctx, o.Out); err != nil {
		return nil, err
	}
	say("building kubectl-scylla, scylla-agent and the simulated ScyllaDB")
	set, err := images.Build(ctx, o.Root, o.Dir, o.Versions...)
	if err != nil {
		return nil, err
	}
	say("starting three Kubernetes nodes")
	c, err := cluster.StartNodes(ctx, cluster.Options{Nodes: 3, Images: set.Archives, APIServerFlags: o.APIServerFlags})
	if err != nil {
		return nil, err
	}
	kc, err := client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make client: %w", err), c.Stop())
	}
	core, err := corev1client.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make client: %w", err), c.Stop())
	}
	return &World{Cluster: c, Images: set, Client: kc, Core: core, root: o.Root}, nil
}

// Install installs the kinds, the rights and the controller as a person does, and waits until the controller leads.
func (w *World) Install(ctx context.Context) error {
	r, err := w.Plugin(ctx, "install", "--image", images.AgentRef, "--yes")
	switch {
	case err != nil:
		return err
	case r.Code != 0:
		return fmt.Errorf("install: exit code %d: %s", r.Code, r.Stderr)
	}
	return nil
}

// Hurry makes the controller give a permit once all has been UP for one second, in place of the ten that are shipped: what waits for a permit in most tests
// and in the demo waits for something else.
func (w *World) Hurry(ctx context.Context) error { return w.ControllerArgs(ctx, "--stabilisation=1s") }

// ControllerArgs adds arguments to the controller's, and waits until it runs with them.
func (w *World) ControllerArgs(ctx context.Context, more ...string) error {
	d := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: "kubectl-scylla", Name: "kubectl-scylla-controller"}
	if err := w.Client.Get(ctx, key, d); err != nil {
		return fmt.Errorf("read the controller's deployment: %w", err)
	}
	before := client.MergeFrom(d.DeepCopy())
	args := &d.Spec.Template.Spec.Containers[0].Args
	*args = append(*args, more...)
	if err := w.Client.Patch(ctx, d, before); err != nil {
		return fmt.Errorf("patch the controller's deployment: %w", err)
	}
	_, err := w.Cluster.Kubectl(ctx, "-n", key.Namespace, "rollout", "status", "deployment/"+key.Name, "--timeout=5m")
	return err
}

func (w *World) apply(ctx context.Context, o *unstructured.Unstructured) error {
	// Kinds take a moment to be served after their definition is there.
	return cluster.WaitFor(ctx, fmt.Sprintf("apply of %s %s", o.GetKind(), o.GetName()), 200*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		c := o.DeepCopy()
		err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(c), fieldOwner, client.ForceOwnership)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return false, "", cluster.Permanent(err)
		}
		return err == nil, "", err
	})
}

// Cluster says how a cluster of simulated ScyllaDB differs from docs/examples/scylladb.yaml for the demo, injected.
type Cluster struct {
	// Namespace takes the place of "demo"; the cluster keeps its name.
	Namespace string
	// Unguarded leaves out the barrier: pods start whenever they like.
	Unguarded bool
	// Version of the simulated ScyllaDB; images.DefaultVersion when empty.
	Version string
	// Env is added to ScyllaDB's container.
	Env map[string]string
	// Injected is the release that injects the manifest; nil for the build under test.
	Injected *images.Release
	// Only are the StatefulSets to apply; empty for all.
	Only []string
	// RootCredential is given to `inject`, in the cluster's own namespace: with managed its Secret is applied with the manifest. Empty: not given.
	RootCredential string
	// Mutate, when set, changes each StatefulSet before it is applied.
	Mutate func(*appsv1.StatefulSet)
}

// guarded is the example's manifest for the demo as `kubectl scylla inject` prints it.
func (w *World) guarded(ctx context.Context, c Cluster) ([]*unstructured.Unstructured, error) {
	b, err := os.ReadFile(filepath.Join(w.root, "docs/examples/scylladb.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read example manifest: %w", err)
	}
	plain, err := examples.Demo(string(b))
	if err != nil {
		return nil, err
	}
	by := cmp.Or(c.Injected, &images.Release{Plugin: w.Images.Plugin, Ref: images.AgentRef})
	args := []string{"inject", "-f", "-", "--image", by.Ref}
	if c.RootCredential != "" {
		plain = strings.ReplaceAll(plain, "namespace: demo", "namespace: "+c.Namespace)
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": c.Namespace}}}
		if err := w.apply(ctx, namespace); err != nil {
			return nil, err
		}
		args = append(args, "--root-credential="+c.RootCredential)
	}
	r, err := w.run(ctx, by.Plugin, strings.NewReader(plain), args...)
	switch {
	case err != nil:
		return nil, err
	case r.Code != 0:
		return nil, fmt.Errorf("inject the example manifest: exit code %d: %s", r.Code, r.Stderr)
	}
	objs, err := manifests.Decode(strings.NewReader(r.Stdout))
	if err != nil {
		return nil, fmt.Errorf("decode what was injected: %w", err)
	}
	if c.RootCredential == "managed" {
		objs = slices.Insert(objs, 0, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": api.RootCredentialSecret("demo")},
			"stringData": map[string]any{"username": "admin", "password": "QXJ7ONLYINTHISTEST4WZKD2VA"},
		}})
	}
	return objs, nil
}

// Deploy applies the example manifest with the differences of c.
func (w *World) Deploy(ctx context.Context, c Cluster) error {
	objs, err := w.guarded(ctx, c)
	if err != nil {
		return err
	}
	for _, o := range objs {
		if o.GetKind() == "Namespace" {
			o.SetName(c.Namespace)
		} else {
			o.SetNamespace(c.Namespace)
		}
		switch o.GetKind() {
		case "RoleBinding":
			subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
			subjects[0].(map[string]any)["namespace"] = c.Namespace
			if err := unstructured.SetNestedSlice(o.Object, subjects, "subjects"); err != nil {
				return err
			}
		case "StatefulSet":
			if len(c.Only) > 0 && !slices.Contains(c.Only, o.GetName()) {
				continue
			}
			var s appsv1.StatefulSet
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s); err != nil {
				return fmt.Errorf("decode StatefulSet %s: %w", o.GetName(), err)
			}
			c.adapt(&s)
			m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
			if err != nil {
				return fmt.Errorf("encode StatefulSet %s: %w", o.GetName(), err)
			}
			delete(m, "status")
			o.Object = m
		}
		if err := w.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (c Cluster) adapt(s *appsv1.StatefulSet) {
	spec := &s.Spec.Template.Spec
	var inits []corev1.Container
	for _, i := range spec.InitContainers {
		if c.Unguarded && (i.Name == api.ContainerBarrier || i.Name == api.ContainerBootstrappedQuery) {
			continue
		}
		inits = append(inits, i)
	}
	spec.InitContainers = inits
	for _, cs := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range cs {
			cs[i].ImagePullPolicy = corev1.PullNever
			if c.Version != "" && strings.HasPrefix(cs[i].Image, "localhost/scylla:") {
				cs[i].Image = images.ScyllaRef(c.Version)
			}
			for j, a := range cs[i].Args {
				if c.Version != "" && strings.HasPrefix(a, "--scylla-image=") {
					cs[i].Args[j] = "--scylla-image=" + images.ScyllaRef(c.Version)
				}
			}
			switch cs[i].Name { // a quick story
			case api.ContainerBarrier:
				cs[i].Args = append(cs[i].Args, "--stabilisation=1s")
			case api.ContainerReporter:
				cs[i].Args = append(cs[i].Args, "--status-report-interval=1s")
			}
			if cs[i].Name == api.ContainerScyllaDB {
				for k, v := range c.Env {
					cs[i].Env = setEnv(cs[i].Env, k, v)
				}
			}
		}
	}
	if c.Mutate != nil {
		c.Mutate(s)
	}
}

func setEnv(env []corev1.EnvVar, name, value string) []corev1.EnvVar {
	for i := range env {
		if env[i].Name == name {
			env[i] = corev1.EnvVar{Name: name, Value: value}
			return env
		}
	}
	return append(env, corev1.EnvVar{Name: name, Value: value})
}

// WaitReady waits until exactly n ScyllaDB Pods of the namespace are there and ready.
func (w *World) WaitReady(ctx context.Context, namespace string, n int) error {
	return cluster.WaitFor(ctx, fmt.Sprintf("%d ready Pods in %s", n, namespace), 200*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		pods, err := w.Pods(ctx, namespace)
		if err != nil {
			return false, "", err
		}
		var state []string
		ready := 0
		for _, p := range pods {
			if Ready(&p) {
				ready++
			}
			state = append(state, p.Name+" "+Describe(&p))
		}
		return ready == n && len(pods) == n, strings.Join(state, ", "), nil
	})
}

// Pods lists the namespace's ScyllaDB Pods, sorted by name as the API server does.
func (w *World) Pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var l corev1.PodList
	if err := w.Client.List(ctx, &l, client.InNamespace(namespace), client.MatchingLabels{api.LabelPodType: api.PodTypeNode}); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", namespace, err)
	}
	return l.Items, nil
}

// Ready is the Pod's own condition.
func Ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// Describe says what each container of a Pod is doing, in one line.
func Describe(p *corev1.Pod) string {
	parts := []string{string(p.Status.Phase)}
	for _, s := range append(append([]corev1.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...) {
		switch {
		case s.State.Running != nil && s.Ready:
			parts = append(parts, s.Name+":ready")
		case s.State.Running != nil:
			parts = append(parts, s.Name+":running")
		case s.State.Waiting != nil && s.State.Waiting.Reason != "PodInitializing":
			parts = append(parts, s.Name+":"+s.State.Waiting.Reason)
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			parts = append(parts, fmt.Sprintf("%s:exit %d %s", s.Name, s.State.Terminated.ExitCode, s.State.Terminated.Message))
		}
	}
	return strings.Join(parts, " ")
}

// Scale sets the number of replicas of a rack's StatefulSet.
func (w *World) Scale(ctx context.Context, namespace, statefulSet string, replicas int32) error {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: statefulSet}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := w.Client.Patch(ctx, s, patch); err != nil {
		return fmt.Errorf("scale %s/%s to %d: %w", namespace, statefulSet, replicas, err)
	}
	return nil
}

// Result of a command.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Plugin runs the built kubectl-scylla against the World with its admin's kubeconfig.
func (w *World) Plugin(ctx context.Context, args ...string) (Result, error) {
	return w.run(ctx, w.Images.Plugin, nil, args...)
}

func (w *World) run(ctx context.Context, plugin string, in io.Reader, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, plugin, args...)
	cmd.Env = slices.Concat(os.Environ(), w.Cluster.KubectlEnviron(), []string{"KUBECONFIG=" + w.Cluster.Kubeconfig(), "NO_COLOR=1", "COLUMNS=250"})
	var out, errb bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errb
	err := cmd.Run()
	r := Result{Stdout: out.String(), Stderr: errb.String(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("run kubectl-scylla %s: %w", strings.Join(args, " "), err)
	}
	return r, nil
}

// ContainerLog returns what a container has written so far.
func (w *World) ContainerLog(ctx context.Context, namespace, pod, container string) (string, error) {
	b, err := w.Core.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read log of container %s of pod %s/%s: %w", container, namespace, pod, err)
	}
	return string(b), nil
}
