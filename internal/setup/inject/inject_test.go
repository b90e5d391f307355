// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

var image = Options{Image: "example.com/scylla-agent:1", ControllerNamespace: "kubectl-scylla", Namespace: "default"}

// fleet are manifests of ScyllaDB in the forms people have; injected/ below it has what becomes of each.
const fleet = "../../../test/simulation/manifests"

func input(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fleet, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func stream(t *testing.T, in []byte, o Options, undo bool) *Manifest {
	t.Helper()
	m, err := Stream(in, o, undo)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// objects of a stream, by name.
func objects(t *testing.T, text []byte) map[string]any {
	t.Helper()
	docs, err := split(text)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, d := range docs {
		for _, u := range d.items {
			out[Name(u)] = u.Object
		}
	}
	return out
}

// Every form in which people run ScyllaDB: what is added is what a person reads in a diff; again changes nothing; undo gives back what was.
func TestStream(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fleet, "*.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			in, image := input(t, name+".yaml"), image
			if slices.Contains([]string{"helm", "jmx-sidecars", "kustomize", "own-entrypoint"}, name) {
				// None of these files has the rack, so the person must give it.
				if _, err := Stream(in, image, false); err == nil || !strings.Contains(err.Error(), "specify --rack") {
					t.Errorf("without cluster, datacenter and rack: %v", err)
				}
				image.Cluster, image.Datacenter, image.Rack = "shop", "eu", "a"
			}
			image.AnyVersion = name == "jmx-sidecars" // of ScyllaDB 2024.2.5
			m := stream(t, in, image, false)
			golden.File(t, filepath.Join(fleet, "injected", name+".yaml"), string(m.Text))
			if again := stream(t, m.Text, image, false); !bytes.Equal(again.Text, m.Text) {
				t.Errorf("a second injection changed:\n%s", cmp.Diff(string(m.Text), string(again.Text)))
			}
			other := image
			other.Image = "example.com/scylla-agent:2"
			if diff := cmp.Diff(objects(t, stream(t, in, other, false).Text), objects(t, stream(t, m.Text, other, false).Text)); diff != "" {
				t.Errorf("another image on top is not the other image (-at once +on top):\n%s", diff)
			}
			if diff := cmp.Diff(objects(t, in), objects(t, stream(t, m.Text, Options{}, true).Text)); diff != "" {
				t.Errorf("undo (-before +after):\n%s", diff)
			}
		})
	}
}

// Comments and order of what is not ScyllaDB's survive.
func TestOtherDocumentsStayAsTheyAre(t *testing.T) {
	m := stream(t, input(t, "plain.yaml"), image, false)
	if want := "  clusterIP: None # headless\n"; !strings.Contains(string(m.Text), want) {
		t.Errorf("%q is gone:\n%s", want, m.Text)
	}
	if len(m.Changes) != 1 || m.Changes[0].Name != "statefulset shop/db" {
		t.Errorf("%+v", m.Changes)
	}
	if want := []string{"serviceaccount shop/scylla-member", "rolebinding shop/kubectl-scylla-member-scylla-member"}; !cmp.Equal(want, m.Added) {
		t.Errorf("added %v, want %v", m.Added, want)
	}
}

// A List of kubectl get, and JSON, are manifests too.
func TestListsAndJSON(t *testing.T) {
	docs, err := split(input(t, "plain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "List"}}
	var items []any
	for _, d := range docs {
		items = append(items, d.root.Object)
	}
	list.Object["items"] = items
	asJSON, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.JSONToYAML(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	want := objects(t, stream(t, input(t, "plain.yaml"), image, false).Text)
	for name, in := range map[string][]byte{"JSON": asJSON, "YAML": asYAML} {
		if diff := cmp.Diff(want, objects(t, stream(t, in, image, false).Text)); diff != "" {
			t.Errorf("%s (-documents +list):\n%s", name, diff)
		}
	}
}

// What could not be right is refused with the field and the cure, and nothing is returned.
func TestRefusals(t *testing.T) {
	edit := func(path string, value any) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(u.Object, value, strings.Split(path, "/")...); err != nil {
				panic(err)
			}
		}
	}
	scylla := func(field string, value any) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			if value == nil {
				delete(list[0].(object), field)
			} else {
				list[0].(object)[field] = value
			}
			_ = unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "containers")
		}
	}
	for name, c := range map[string]struct {
		edit func(*unstructured.Unstructured)
		o    Options
		want string
	}{
		"a shell script": {scylla("command", []any{"/bin/bash", "-ec", "exec /docker-entrypoint.py --seeds=x"}), image,
			`containers[scylla].command is a shell script ("exec /docker-entrypoint.py --seeds=x"), which would ignore the seeds`},
		"no volume":            {scylla("volumeMounts", nil), image, "no volume contains /var/lib/scylla/data: mount a PVC at /var/lib/scylla"},
		"another workdir":      {scylla("args", []any{"--workdir=/data", "--dc=eu", "--rack=a", "--cluster-name=shop"}), image, "no volume contains /data/data: mount a PVC at /data"},
		"data elsewhere":       {scylla("args", []any{"--data-file-directories=/x", "--dc=eu", "--rack=a", "--cluster-name=shop"}), image, "--data-file-directories=/x is not /var/lib/scylla/data"},
		"no place":             {scylla("args", []any{}), image, "the rack is unknown: not in label scylla/rack"},
		"a place contradicted": {edit("spec/x", "x"), Options{Image: "i", Rack: "z"}, `rack is "z" in one place and "a" in another`},
		"a name in capitals":   {scylla("args", []any{"--dc=AWS_US_EAST_1", "--rack=a", "--cluster-name=Test"}), image, `invalid cluster "Test" for label scylla/cluster`},
		"a name with spaces":   {scylla("args", []any{"--dc=eu", "--rack=a", "--cluster-name=Test Cluster"}), image, `invalid cluster "Test Cluster" for label scylla/cluster`},
		"POD_NAME taken":       {scylla("env", []any{object{"name": "POD_NAME", "value": "x"}}), image, "POD_NAME must be the Pod's metadata.name"},
		"an API elsewhere":     {scylla("args", []any{"--api-address=10.0.0.1", "--dc=eu", "--rack=a", "--cluster-name=shop"}), image, "set --api-address=127.0.0.1"},
		"a barrier of its own": {edit("spec/template/spec/initContainers", []any{object{"name": "scylladb-bootstrap-barrier", "image": "x"}}), image,
			"scylladb-bootstrap-barrier already exists and was not injected: remove it first"},
		"a volume of the name": {edit("spec/template/spec/volumes", []any{object{"name": api.VolumeShared, "emptyDir": object{}}}), image, "spec.template.spec.volumes: volume scylla-shared already exists"},
		"a volume of the credential": {edit("spec/template/spec/volumes", []any{object{"name": api.VolumeCredential, "emptyDir": object{}}}), image,
			"spec.template.spec.volumes: volume scylla-credential already exists and was not injected: rename it"},
		"a volume of its Secret": {edit("spec/template/spec/volumes", []any{object{"name": api.VolumeRootCredential, "emptyDir": object{}}}), image,
			"spec.template.spec.volumes: volume scylla-root-credential already exists and was not injected: rename it"},
		"a claim of the name": {func(u *unstructured.Unstructured) {
			claims, _, _ := unstructured.NestedSlice(u.Object, "spec", "volumeClaimTemplates")
			edit("spec/volumeClaimTemplates", append(claims, object{"metadata": object{"name": api.VolumeCredential}}))(u)
		}, image, "spec.volumeClaimTemplates: scylla-credential is the name of a volume that inject adds"},
		"a container of the name": {func(u *unstructured.Unstructured) {
			list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			edit("spec/template/spec/containers", append(list, object{"name": api.ContainerCredential, "image": "x"}))(u)
		}, image, "spec.template.spec.containers: scylla-credential already exists"},
		"a name that no object can have": {scylla("args", []any{"--dc=eu", "--rack=a", "--cluster-name=AWS_US_EAST_1"}), image,
			`invalid cluster "AWS_US_EAST_1" for label scylla/cluster (a lowercase RFC 1123 subdomain`},
		"capitals":           {scylla("args", []any{"--dc=eu", "--rack=a", "--cluster-name=Shop"}), image, `invalid cluster "Shop" for label scylla/cluster`},
		"a relative workdir": {scylla("args", []any{"--workdir=data", "--dc=eu", "--rack=a", "--cluster-name=shop"}), image, `invalid --workdir="data": must be an absolute path`},
		"a workdir of a variable": {scylla("args", []any{"--workdir=/$(DIR)", "--dc=eu", "--rack=a", "--cluster-name=shop"}), image,
			`invalid --workdir="/$(DIR)": must be an absolute path without variables`},
		"a mount at our path": {scylla("volumeMounts", []any{object{"name": "data", "mountPath": "/var/lib/scylla"}, object{"name": "x", "mountPath": "/mnt/shared/"}}), image,
			"containers[scylla].volumeMounts: volume x is mounted at /mnt/shared/, and inject mounts a volume of its own at /mnt/shared: use another path"},
		"a mount below our path": {scylla("volumeMounts", []any{object{"name": "data", "mountPath": "/var/lib/scylla"}, object{"name": "x", "mountPath": "/mnt/shared/x"}}), image,
			"volume x is mounted at /mnt/shared/x"},
		"a mount above our path": {scylla("volumeMounts", []any{object{"name": "data", "mountPath": "/var/lib/scylla"}, object{"name": "x", "mountPath": "/mnt"}}), image,
			"volume x is mounted at /mnt"},
		"data in the query's folder": {func(u *unstructured.Unstructured) {
			scylla("volumeMounts", []any{object{"name": "data", "mountPath": "/tmp"}})(u)
			scylla("args", []any{"--workdir=/tmp", "--dc=eu", "--rack=a", "--cluster-name=shop"})(u)
		}, image, "volume data is mounted at /tmp, and inject mounts a volume of its own at /tmp"},
		"data above the token": {scylla("volumeMounts", []any{object{"name": "data", "mountPath": "/var"}}), image,
			"volume data is mounted at /var, and inject mounts a volume of its own at /var/run/secrets/kubernetes.io/serviceaccount"},
		"data in an emptyDir": {func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "spec", "volumeClaimTemplates")
			edit("spec/template/spec/volumes", []any{object{"name": "data", "emptyDir": object{}}})(u)
		}, image, "is empty after each restart: use a PVC"},
		"the Scylla Operator's": {func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{api.LabelManagedBy: api.ManagedByOperator})
		}, image,
			"the Scylla Operator manages it"},
		"an old ScyllaDB":        {scylla("image", "scylladb/scylla:2025.1.4"), image, "ScyllaDB 2025.1.4 is older than 2025.2.0, so its disk cannot be queried"},
		"a candidate of 2025.2":  {scylla("image", "scylladb/scylla:2025.2.0-rc1"), image, "upgrade ScyllaDB, or allow it with --allow-version"},
		"fields of another type": {edit("spec/replicas", "three"), image, "read statefulset shop/db"},
		"a record that is none": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{api.AnnotationInjected: "{"})
		}, image, "annotation kubectl-scylla.scylladb.com/injected is malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := split(input(t, "plain.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			set := docs[1].root
			c.edit(set)
			in, err := yaml.Marshal(set.Object)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Stream(in, c.o, false)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "statefulset shop/db") {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if m != nil {
				t.Errorf("a manifest was returned:\n%s", m.Text)
			}
		})
	}
}

// TestBesideOperator1OneNameTwice: the barriers of two clusters of one name in a namespace read the reports of both. A cluster that is injected gets its new label, with a warning.
func TestBesideOperator1OneNameTwice(t *testing.T) {
	t.Parallel()
	object := func(kind, version, namespace, name string) string {
		return fmt.Sprintf("\n---\napiVersion: scylla.scylladb.com/%s\nkind: %s\nmetadata: {namespace: %s, name: %s}\n", version, kind, namespace, name)
	}
	plain := input(t, "plain.yaml")
	guarded, err := Stream(plain, image, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		in      []byte
		beside  string
		refused bool
		noted   bool
	}{
		"ScyllaDBDatacenter":     {plain, object("ScyllaDBDatacenter", "v1alpha1", "shop", "shop"), true, false},
		"ScyllaCluster":          {plain, object("ScyllaCluster", "v1", "shop", "shop"), true, false},
		"ScyllaDBCluster":        {plain, object("ScyllaDBCluster", "v1alpha1", "shop", "shop"), true, false},
		"of another namespace":   {plain, object("ScyllaCluster", "v1", "other", "shop"), false, false},
		"of another name":        {plain, object("ScyllaCluster", "v1", "shop", "other"), false, false},
		"injected before":        {guarded.Text, object("ScyllaCluster", "v1", "shop", "shop"), false, true},
		"another kind of theirs": {plain, object("ScyllaDBMonitoring", "v1alpha1", "shop", "shop"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Stream(append(slices.Clone(tc.in), tc.beside...), image, false)
			if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "create one of the two clusters in another namespace") {
				t.Fatalf("%v", err)
			}
			if m != nil && strings.Contains(strings.Join(m.Changes[0].Notes, " "), "label that the operator does not select") != tc.noted {
				t.Errorf("%q", m.Changes[0].Notes)
			}
		})
	}
}

// All refusals are reported at once.
func TestEveryRefusalIsSaid(t *testing.T) {
	in := strings.NewReplacer("--dc, eu, ", "", "{name: data, mountPath: /var/lib/scylla}", "").Replace(string(input(t, "plain.yaml")))
	_, err := Stream([]byte(in), image, false)
	for _, want := range []string{"no volume contains", "the datacenter is unknown"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// The example manifest is injected without a warning, has all guards in their order, and is unchanged after the guards are removed.
func TestTheExampleIsInjected(t *testing.T) {
	b, err := os.ReadFile("../../../docs/examples/scylladb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := image
	guarded, err := Stream(b, o, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range guarded.Changes {
		if len(c.Notes) > 0 {
			t.Errorf("%s: %v", c.Name, c.Notes)
		}
	}
	if len(guarded.Changes) != 3 {
		t.Errorf("%d StatefulSets of ScyllaDB, want 3", len(guarded.Changes))
	}
	docs, err := split(guarded.Text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{api.ContainerReporter, containerCopy, "scylladb-config-copy", api.ContainerBootstrappedQuery, api.ContainerBarrier}
	for _, d := range docs {
		if !Is(d.root) {
			continue
		}
		_, spec := podTemplate(d.root)
		var got []string
		for _, c := range spec["initContainers"].([]any) {
			got = append(got, c.(object)["name"].(string))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: init containers (-want +got):\n%s", d.root.GetName(), diff)
		}
		if command := container(spec, "scylla")["command"]; !cmp.Equal(command, []any{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}) {
			t.Errorf("%s: command %v", d.root.GetName(), command)
		}
	}
	bare, err := Stream(guarded.Text, o, true)
	if err != nil {
		t.Fatal(err)
	}
	before, err := split(b)
	if err != nil {
		t.Fatal(err)
	}
	after, err := split(bare.Text)
	if err != nil {
		t.Fatal(err)
	}
	roots := func(docs []document) []object {
		var out []object
		for _, d := range docs {
			if d.root != nil {
				out = append(out, d.root.Object)
			}
		}
		return out
	}
	if diff := cmp.Diff(roots(before), roots(after)); diff != "" {
		t.Errorf("after --undo (-before +after):\n%s", diff)
	}
}

// stored writes the account's deprecated alias beside its name, as the API server does, which reads either.
func stored(set *unstructured.Unstructured) {
	if _, spec := podTemplate(set); spec["serviceAccountName"] != nil {
		spec["serviceAccount"] = spec["serviceAccountName"]
	}
}

// For any StatefulSet: Undo after injection restores it, and a second injection changes nothing.
func TestUndoIsTheInverse(t *testing.T) {
	plain := input(t, "plain.yaml")
	rapid.Check(t, func(rt *rapid.T) {
		docs, err := split(plain)
		if err != nil {
			rt.Fatal(err)
		}
		set := docs[1].root
		draw(rt, set)
		r, err := statefulSet(set, image, nil)
		if err != nil {
			rt.Fatal(err)
		}
		stored(r.Object)
		back, err := Undo(r.Object)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(set.Object, back.Object); diff != "" {
			rt.Fatalf("undone (-before +after):\n%s", diff)
		}
		again, err := statefulSet(r.Object, image, nil)
		if err != nil {
			rt.Fatal(err)
		}
		stored(again.Object)
		if diff := cmp.Diff(r.Object.Object, again.Object.Object); diff != "" {
			rt.Fatalf("twice (-once +twice):\n%s", diff)
		}
	})
}

func draw(rt *rapid.T, set *unstructured.Unstructured) {
	maybe := func(what string) bool { return rapid.Bool().Draw(rt, what) }
	_, spec := podTemplate(set)
	c := container(spec, "scylla")
	if maybe("labels") {
		set.SetLabels(map[string]string{"a": "b", api.LabelManagedBy: rapid.SampledFrom([]string{"Helm", api.ManagedByUs}).Draw(rt, "manager")})
	}
	if maybe("annotations") {
		set.SetAnnotations(map[string]string{"a": "b"})
	}
	if maybe("command") {
		c["command"] = []any{entrypoint, "--smp=1"}
	}
	if maybe("env") {
		c["env"] = []any{object{"name": "POD_NAMESPACE", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.namespace"}}}}
	}
	if maybe("init container") {
		spec["initContainers"] = []any{object{"name": "mine", "image": "x"}}
	}
	if maybe("volume") {
		spec["volumes"] = []any{object{"name": "mine", "emptyDir": object{}}}
	}
	if maybe("account") {
		spec["serviceAccountName"] = rapid.SampledFrom([]string{"default", "mine", DefaultServiceAccount}).Draw(rt, "account's name")
		spec["serviceAccount"] = spec["serviceAccountName"] // as the API server writes it
	}
	if maybe("token") {
		spec["automountServiceAccountToken"] = maybe("mounted")
	}
	if maybe("a field of the future") {
		spec["future"] = object{"x": int64(1)}
	}
}

// Any input gives a manifest or an error.
func FuzzStream(f *testing.F) {
	for _, name := range []string{"plain.yaml", "configmap.yaml", "injected/plain.yaml"} {
		b, err := os.ReadFile(filepath.Join(fleet, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Add([]byte(`{"kind":"List","items":[1,{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"annotations":{"kubectl-scylla.scylladb.com/injected":"{\"container\":\"x\"}"}}}]}`), true)
	f.Fuzz(func(t *testing.T, in []byte, undo bool) {
		m, err := Stream(in, image, undo)
		if (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// A second injection keeps the feature gates.
func TestTheFeatureGatesAreKept(t *testing.T) {
	in, other := input(t, "plain.yaml"), image
	other.Image = "example.com/scylla-agent:2"
	gated := Options{Image: "example.com/scylla-agent:2", FeatureGates: "BootstrapSynchronisation=false"}
	kept := stream(t, stream(t, in, gated, false).Text, other, false)
	if n := strings.Count(string(kept.Text), "- --feature-gates=BootstrapSynchronisation=false\n"); n != 1 {
		t.Errorf("the next injection keeps the feature gates %d times:\n%s", n, kept.Text)
	}
	gated.FeatureGates = "BootstrapSynchronisation=true"
	if back := stream(t, kept.Text, gated, false); strings.Contains(string(back.Text), "feature-gates") {
		t.Errorf("the feature gate is not turned on again:\n%s", back.Text)
	}
}

// A second injection keeps the barriers' policy.
func TestThePolicyIsKept(t *testing.T) {
	in := input(t, "plain.yaml")
	reports, other, permits := image, image, image
	reports.Policy, other.Image, permits.Policy = api.PolicyReports, "example.com/scylla-agent:2", api.PolicyPermits
	m := stream(t, in, reports, false)
	for name, c := range map[string]struct {
		o    Options
		want int
	}{"again": {reports, 1}, "another image": {other, 1}, "back": {permits, 0}} {
		if text := string(stream(t, m.Text, c.o, false).Text); strings.Count(text, "- --policy=reports\n") != c.want || strings.Contains(text, "--policy=permits") {
			t.Errorf("%s: want it %d times:\n%s", name, c.want, text)
		}
	}
	if diff := cmp.Diff(objects(t, in), objects(t, stream(t, m.Text, Options{}, true).Text)); diff != "" {
		t.Errorf("undo (-before +after):\n%s", diff)
	}
	bad := strings.Replace(string(m.Text), "policy=reports", "policy=none", 1)
	if _, err := Stream([]byte(bad), other, false); err == nil || !strings.Contains(err.Error(), `.args: unknown --policy="none": use one of permits, reports`) {
		t.Errorf("what no barrier takes: %v", err)
	}
}

// A second injection keeps the interval of the reporter.
func TestTheIntervalIsKept(t *testing.T) {
	in := input(t, "plain.yaml")
	long, other, short := image, image, image
	long.Interval, other.Image, short.Interval = 20*time.Second, "example.com/scylla-agent:2", healthpolicy.Interval
	m := stream(t, in, long, false)
	if !slices.ContainsFunc(m.Changes[0].Notes, func(n string) bool {
		return strings.Contains(n, "up to 20s late and valid for up to 40s")
	}) {
		t.Errorf("notes %q", m.Changes[0].Notes)
	}
	for name, c := range map[string]struct {
		o    Options
		want int
	}{"again": {long, 1}, "another image": {other, 1}, "the default": {short, 0}} {
		if text := string(stream(t, m.Text, c.o, false).Text); strings.Count(text, "- --status-report-interval=20s\n") != c.want || strings.Count(text, "-interval=") != c.want {
			t.Errorf("%s: want it %d times:\n%s", name, c.want, text)
		}
	}
	if diff := cmp.Diff(objects(t, in), objects(t, stream(t, m.Text, Options{}, true).Text)); diff != "" {
		t.Errorf("undo (-before +after):\n%s", diff)
	}
	for _, bad := range []string{"31s", "999ms", "often"} {
		text := strings.Replace(string(m.Text), "interval=20s", "interval="+bad, 1)
		if _, err := Stream([]byte(text), other, false); err == nil || !strings.Contains(err.Error(), "must be a duration from 1s to 30s") {
			t.Errorf("%s, which no reporter takes: %v", bad, err)
		}
	}
}

// TestNoHarm8NoSupervisordOfAnotherPod: on the Kubernetes node's network another Pod's supervisord may answer on the port, so none is queried; and no port of it is opened anywhere.
func TestNoHarm8NoSupervisordOfAnotherPod(t *testing.T) {
	plain := string(input(t, "plain.yaml"))
	onHost := strings.Replace(plain, "\n    spec:\n", "\n    spec:\n      hostNetwork: true\n", 1)
	for text, want := range map[string]bool{plain: false, onHost: true} {
		out := string(stream(t, []byte(text), image, false).Text)
		if got := strings.Contains(out, "- --scylla-supervisor-url=\n"); got != want {
			t.Errorf("hostNetwork %v: the reporter queries no supervisord: %v", want, got)
		}
		if strings.Contains(out, "9001") {
			t.Errorf("port 9001 is named: %s", out)
		}
	}
}

// An added container starts without the registry, and the query is the image that ScyllaDB's container gets.
func TestPullPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		image, policy string
		query         string
	}{
		"a version":                 {"scylladb/scylla:2026.2.0", "", "IfNotPresent"},
		"a floating tag":            {"scylladb/scylla", "", "Always"},
		"the person's own":          {"scylladb/scylla:2026.2.0", "Never", "Never"},
		"a floating tag, their own": {"scylladb/scylla:latest", "IfNotPresent", "IfNotPresent"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := split(input(t, "plain.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			set := docs[1].root
			list, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "containers")
			list[0].(object)["image"] = c.image
			if c.policy != "" {
				list[0].(object)["imagePullPolicy"] = c.policy
			}
			if err := unstructured.SetNestedSlice(set.Object, list, "spec", "template", "spec", "containers"); err != nil {
				t.Fatal(err)
			}
			res, err := statefulSet(set, image, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := typed(res.Object)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, c := range s.Spec.Template.Spec.InitContainers {
				got[c.Name] = string(c.ImagePullPolicy)
			}
			want := map[string]string{
				api.ContainerReporter: "IfNotPresent", containerCopy: "IfNotPresent", api.ContainerBarrier: "IfNotPresent", api.ContainerBootstrappedQuery: c.query,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
