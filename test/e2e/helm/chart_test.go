// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

const (
	image  = "localhost/scylla-agent:dev"
	shared = manifests.SharedKind
	own    = "scylladbstatusreports.scylla.scylladb.com"
)

// load reads the chart. version is that of a release; empty leaves it as committed.
func load(t *testing.T, version string) *chart.Chart {
	t.Helper()
	c, err := loader.Load("../../../docs/install/chart")
	if err != nil {
		t.Fatal(err)
	}
	if version != "" {
		c.Metadata.Version, c.Metadata.AppVersion = version, version
	}
	return c
}

// values decodes YAML, with the image if it sets none.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{"image": image}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// helm is one namespace of Helm; without a kubeconfig it renders only.
func helm(t *testing.T, kubeconfig string) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	namespace := manifests.Namespace
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	driver := "secret"
	if kubeconfig == "" {
		driver = "memory"
	}
	if err := cfg.Init(flags, namespace, driver); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func install(t *testing.T, cfg *action.Configuration, c *chart.Chart, text string, set func(*action.Install)) (*release.Release, error) {
	t.Helper()
	i := action.NewInstall(cfg)
	i.ReleaseName, i.Namespace, i.CreateNamespace, i.WaitStrategy = "kubectl-scylla", manifests.Namespace, true, kube.HookOnlyStrategy
	set(i)
	r, err := i.RunWithContext(t.Context(), c, values(t, text))
	if err != nil {
		return nil, err
	}
	return r.(*release.Release), nil
}

func render(t *testing.T, text string, set func(*action.Install)) (*release.Release, error) {
	t.Helper()
	return install(t, helm(t, ""), load(t, ""), text, func(i *action.Install) {
		i.DryRunStrategy, i.KubeVersion = action.DryRunClient, &common.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
		set(i)
	})
}

func asIs(*action.Install) {}

// scylla runs the plugin.
func scylla(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
	if got := plugin.Execute(t.Context(), d, append([]string{"kubectl-scylla"}, args...)); got != code {
		t.Fatalf("kubectl scylla %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, &out)
	}
	return out.String()
}

// byName are objects without what only Helm or only install writes.
func byName(t *testing.T, documents string) map[string]map[string]any {
	t.Helper()
	objects, err := manifests.Decode(strings.NewReader(documents))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, u := range objects {
		if u.GetKind() == "Namespace" {
			continue // made by helm --create-namespace
		}
		annotations := u.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		delete(annotations, manifests.VersionAnnotation)
		u.SetAnnotations(annotations)
		key := u.GetKind() + "/" + u.GetName()
		if u.GetName() == manifests.NamespaceRole {
			key += " in " + u.GetNamespace()
		}
		all[key] = u.Object
	}
	return all
}

// TestChartIsWhatInstallApplies: with each value, the chart has the objects of install with the flag.
func TestChartIsWhatInstallApplies(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		flags  []string // of install
		args   []string // of the controller, which install has no flag for
		less   string   // an object that is missing
		more   []string // files with objects that install does not apply
		labels map[string]any
	}{
		"nothing but the image": {},
		"an image by digest": {values: "image: localhost/scylla-agent@sha256:" + strings.Repeat("0a", 32),
			flags: []string{"--image=localhost/scylla-agent@sha256:" + strings.Repeat("0a", 32)}},
		"replicas":       {values: "replicas: 3", flags: []string{"--replicas=3"}},
		"the gate":       {values: "featureGates: {BootstrapSynchronisation: false}", flags: []string{"--feature-gates=BootstrapSynchronisation=false"}},
		"namespaces":     {values: "namespaces: [a, b]", flags: []string{"--namespaces=a,b"}},
		"secure metrics": {values: "monitoring: {secure: true}", flags: []string{"--metrics-secure"}},
		"policy":         {values: "policy: {stabilisation: 1m30s, maxPermits: 2}", args: []string{"--stabilisation=1m30s", "--max-permits=2"}},
		"the operator's": {values: "scyllaOperator: true", less: "CustomResourceDefinition/" + shared},
		"monitoring": {values: "monitoring: {enabled: true, labels: {release: prometheus}}", more: []string{"podmonitors.yaml", "prometheusrule.yaml"},
			labels: map[string]any{"release": "prometheus", "app.kubernetes.io/part-of": "kubectl-scylla"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := render(t, tc.values, asIs)
			if err != nil {
				t.Fatal(err)
			}
			want := byName(t, scylla(t, 0, append([]string{"install", "--dry-run=client", "-o", "yaml", "--image=" + image}, tc.flags...)...))
			delete(want, tc.less)
			if len(tc.args) > 0 {
				d := &unstructured.Unstructured{Object: want["Deployment/kubectl-scylla-controller"]}
				containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
				c := containers[0].(map[string]any)
				for _, a := range tc.args {
					c["args"] = append(c["args"].([]any), a)
				}
				if err := unstructured.SetNestedSlice(d.Object, containers, "spec", "template", "spec", "containers"); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range tc.more {
				b, err := os.ReadFile("../../../docs/monitoring/" + file)
				if err != nil {
					t.Fatal(err)
				}
				for key, object := range byName(t, string(b)) {
					object["metadata"].(map[string]any)["labels"] = tc.labels
					want[key] = object
				}
			}
			if diff := cmp.Diff(want, byName(t, r.Manifest)); diff != "" {
				t.Errorf("the chart is not what install applies (-install +chart):\n%s", diff)
			}
			if !strings.Contains(r.Info.Notes, "kubectl scylla inject CLUSTER -n NAMESPACE --image localhost/scylla-agent") {
				t.Errorf("no next step in the notes:\n%s", r.Info.Notes)
			}
		})
	}
}

// TestWrongValuesAreRefused: the error names the value and what is wrong with it.
func TestWrongValuesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		set    func(*action.Install)
		want   string
	}{
		"no image":          {values: `image: ""`, want: "image is empty: set it to your copy of scylla-agent"},
		"no reference":      {values: `image: "a b"`, want: `image: "a b" is not an image reference`},
		"latest":            {values: "image: localhost:5000/scylla-agent:latest", want: `image: "localhost:5000/scylla-agent:latest" has no fixed version`},
		"no tag":            {values: "image: localhost:5000/scylla-agent", want: "has no fixed version"},
		"no replicas":       {values: "replicas: 0", want: "at '/replicas': minimum: got 0, want 1"},
		"an unknown gate":   {values: "featureGates: {Bootstrap: true}", want: "at '/featureGates': additional properties 'Bootstrap' not allowed"},
		"text as a gate":    {values: `featureGates: {BootstrapSynchronisation: "false"}`, want: "at '/featureGates/BootstrapSynchronisation': got string, want boolean"},
		"an unknown value":  {values: "replica: 3", want: "additional properties 'replica' not allowed"},
		"namespaces":        {values: "namespaces: a", want: "at '/namespaces': got string, want array"},
		"a namespace":       {values: "namespaces: [A]", want: "at '/namespaces/0': 'A' does not match pattern"},
		"a duration":        {values: `policy: {stabilisation: "30"}`, want: "at '/policy/stabilisation': '30' does not match pattern"},
		"permits":           {values: "policy: {maxPermits: 65}", want: "at '/policy/maxPermits': maximum: got 65, want 64"},
		"no token":          {values: "monitoring: {enabled: true, secure: true}", want: "the PodMonitor of this chart has no token"},
		"another namespace": {set: func(i *action.Install) { i.Namespace = "default" }, want: "the controller's namespace is kubectl-scylla: add --namespace kubectl-scylla --create-namespace"},
		"an old Kubernetes": {set: func(i *action.Install) {
			i.KubeVersion = &common.KubeVersion{Version: "v1.29.0", Major: "1", Minor: "29"}
		},
			want: "chart requires kubeVersion: >=1.30.0-0 which is incompatible with Kubernetes v1.29.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.set == nil {
				tc.set = asIs
			}
			if _, err := render(t, tc.values, tc.set); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// server is a real API server with Helm, kubectl and the plugin.
type server struct {
	t *testing.T
	c *cluster.Cluster
}

func (s server) helm() *action.Configuration { return helm(s.t, s.c.Kubeconfig()) }

func (s server) install(version string, set func(*action.Install)) error {
	s.t.Helper()
	_, err := install(s.t, s.helm(), load(s.t, version), "", set)
	return err
}

func (s server) upgrade(c *chart.Chart, text string) error {
	s.t.Helper()
	u := action.NewUpgrade(s.helm())
	u.Namespace, u.WaitStrategy = manifests.Namespace, kube.HookOnlyStrategy
	_, err := u.RunWithContext(s.t.Context(), "kubectl-scylla", c, values(s.t, text))
	return err
}

func (s server) uninstall() {
	s.t.Helper()
	u := action.NewUninstall(s.helm())
	u.WaitStrategy = kube.HookOnlyStrategy
	got, err := u.Run("kubectl-scylla")
	if err != nil {
		s.t.Fatal(err)
	}
	s.want("helm uninstall", got.Info, "kept due to the resource policy", own)
}

func (s server) kubectl(input string, args ...string) string {
	s.t.Helper()
	out, err := s.c.KubectlInput(s.t.Context(), input, args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s server) scylla(code int, args ...string) string {
	s.t.Helper()
	return scylla(s.t, code, append(args, "--kubeconfig="+s.c.Kubeconfig())...)
}

func (s server) want(what, text string, parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			s.t.Errorf("%s: %q is missing in:\n%s", what, part, text)
		}
	}
}

func (s server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestChartOnAnAPIServer: installed, upgraded, removed and installed again; beside `kubectl scylla install` each refuses the other.
func TestChartOnAnAPIServer(t *testing.T) {
	s := server{t, plane.Start(t)}
	const report = `{apiVersion: scylla.scylladb.com/v1alpha1, kind: ScyllaDBStatusReport, metadata: {name: kept, namespace: default}}`
	description := func(crd string) string {
		return s.kubectl("", "get", "crd", crd, "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.description}")
	}

	// An older chart, whose CRDs have other content.
	old := load(t, "1.2.0")
	for _, f := range old.Templates {
		if f.Name == "templates/crds.yaml" {
			f.Data = bytes.ReplaceAll(f.Data, []byte("      openAPIV3Schema:\n        description: |-\n          "), []byte("      openAPIV3Schema:\n        description: |-\n          Old. "))
		}
	}
	r, err := install(t, s.helm(), old, "", asIs)
	s.must(err)
	s.want("an older CRD", description(own), "Old.")
	s.want("the older CRD of the operator", description(shared), "Old.")
	s.kubectl(r.Manifest, "get", "-f", "-") // each object is there
	s.kubectl(report, "apply", "-f", "-")
	s.want("install beside Helm", s.scylla(2, "install", "--image="+image, "--yes"), "Helm release kubectl-scylla/kubectl-scylla has serviceaccount/kubectl-scylla-controller", "use helm upgrade")
	s.want("uninstall beside Helm", s.scylla(0, "uninstall", "--yes"), "kubectl scylla install has applied nothing here", "objects of Helm release kubectl-scylla/kubectl-scylla stay")

	s.must(s.upgrade(load(t, "1.3.0"), "replicas: 2\nimage: localhost/scylla-agent:1.3.0"))
	for _, crd := range []string{own, shared} {
		if got := description(crd); strings.Contains(got, "Old.") {
			t.Errorf("the upgrade has left CRD %s: %s", crd, got)
		}
	}
	s.want("the upgraded controller", s.kubectl("", "-n", "kubectl-scylla", "get", "deployment,pdb", "-o", "jsonpath={range .items[*]}{.kind} {.spec.replicas} {.spec.template.spec.containers[*].image} {end}"),
		"Deployment 2 localhost/scylla-agent:1.3.0", "PodDisruptionBudget")
	s.want("an older chart", fmt.Sprint(s.upgrade(load(t, "1.2.0"), "")), "version 1.3.0 is installed, this chart is 1.2.0", "set allowDowngrade=true")
	s.must(s.upgrade(load(t, "1.2.0"), "allowDowngrade: true"))
	s.want("one controller", s.kubectl("", "-n", "kubectl-scylla", "get", "pdb", "--ignore-not-found", "-o", "name")+"none", "none")

	// The operator applies the CRD that it shares, and has it from then on.
	operators := s.kubectl("", "get", "crd", shared, "-o", "json")
	s.kubectl(fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": %q}, "spec": %s}`, shared, spec(t, operators)),
		"apply", "--server-side", "--force-conflicts", "--field-manager=operator", "-f", "-")
	s.must(s.upgrade(load(t, "1.4.0"), ""))
	s.want("the operator's CRD", description(shared), "The operator's.")

	s.want("before Helm removes it", s.scylla(0, "uninstall", "--dry-run=client"), "objects of Helm release kubectl-scylla/kubectl-scylla stay")
	s.uninstall()
	left := strings.Fields(s.kubectl("", "get", "deployment,role,rolebinding,serviceaccount,clusterrole,clusterrolebinding,validatingadmissionpolicy,crd,priorityclass", "-A",
		"-l", "app.kubernetes.io/part-of=kubectl-scylla", "-o", "name"))
	if diff := cmp.Diff([]string{"customresourcedefinition.apiextensions.k8s.io/" + shared, "customresourcedefinition.apiextensions.k8s.io/" + own}, slices.Sorted(slices.Values(left))); diff != "" {
		t.Errorf("left by helm uninstall (-want +got):\n%s", diff)
	}
	s.kubectl("", "-n", "default", "get", "scylladbstatusreport", "kept")
	s.must(s.install("1.4.0", asIs)) // takes its CRDs again
	s.uninstall()

	// Beside an installation of the plugin.
	s.scylla(0, "install", "--image="+image, "--yes", "--wait=false")
	s.want("helm install beside install", fmt.Sprint(s.install("", asIs)), "exists and cannot be imported into the current release: invalid ownership metadata")
	s.must(s.install("", func(i *action.Install) { i.TakeOwnership, i.ForceConflicts = true, true }))
	s.want("uninstall after Helm has taken it", s.scylla(0, "uninstall", "--yes"), "objects of Helm release kubectl-scylla/kubectl-scylla stay")
	s.kubectl("", "-n", "kubectl-scylla", "get", "deployment", "kubectl-scylla-controller")
	s.kubectl("", "-n", "default", "get", "scylladbstatusreport", "kept")
}

// spec is the spec of a CRD, as JSON, in the operator's words.
func spec(t *testing.T, crd string) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(crd)); err != nil {
		t.Fatal(err)
	}
	s := maps.Clone(u.Object["spec"].(map[string]any))
	delete(s, "conversion")
	versions := s["versions"].([]any)
	schema := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	schema["description"] = "The operator's."
	b, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = yaml.YAMLToJSON(b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
