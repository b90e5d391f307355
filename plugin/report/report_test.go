// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const newcomer = "demo-dc1-rack2-1"

// troubled is a cluster with a node down, a newcomer that waits, and events.
func troubled() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	c.Service("demo-dc1-rack1-0").CreationTimestamp = metav1.NewTime(plugintest.Start)
	return c.Add(
		machine(),
		event("a", "Pod", "demo-dc1-rack3-0", corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container scylla", 7, 10*time.Second),
		event("b", "Pod", newcomer, corev1.EventTypeNormal, "Waiting", "demo-dc1-rack3-0 is seen DOWN", 1, 2*time.Minute),
		event("c", "Pod", "other-0", corev1.EventTypeNormal, "Pulled", "not of this cluster", 1, time.Minute),
	)
}

// machine is the Kubernetes node of all Pods.
func machine() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Annotations: map[string]string{"example.com/x": "hunter2"}},
		Spec:       corev1.NodeSpec{Unschedulable: true, ProviderID: "cloud:///hunter2"},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Images:     []corev1.ContainerImage{{Names: []string{"hunter2"}}},
		},
	}
}

func event(name, kind, about, typ, reason, message string, count int32, ago time.Duration) *corev1.Event {
	at := metav1.NewTime(plugintest.Now.Add(-ago))
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: name},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "demo", Name: about},
		Type:           typ, Reason: reason, Message: message, Count: count, FirstTimestamp: at, LastTimestamp: at,
	}
}

// steady takes out what differs from build to build.
func steady(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if _, v, ok := strings.Cut(line, "kubectlScylla: "); ok {
			text = strings.ReplaceAll(text, strings.TrimSpace(v), "VERSION")
		}
		if _, v, ok := strings.Cut(line, `"kubectlScylla": "`); ok {
			v, _, _ = strings.Cut(v, `"`)
			text = strings.ReplaceAll(text, v, "VERSION")
		}
		if _, v, ok := strings.Cut(line, "by kubectl-scylla "); ok {
			v, _, _ = strings.Cut(v, ".</p>")
			text = strings.ReplaceAll(text, "by kubectl-scylla "+v, "by kubectl-scylla VERSION")
		}
	}
	return text
}

// TestLinesOfSeveralClustersSayWhose: without headers, nothing but the line tells which cluster a node belongs to.
func TestLinesOfSeveralClustersSayWhose(t *testing.T) {
	t.Parallel()
	objects := append(plugintest.New(1, 2).Objects(), plugintest.NewNamed("other", "second", "dc1", 1, 1).Objects()...)
	r := plugintest.Run{Args: []string{"report", "-A", "--no-headers"}, Objects: objects}.Do(t)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if r.Code != 0 || len(lines) != 3 {
		t.Fatalf("%+v", r)
	}
	for i, want := range []string{"  demo/demo", "  demo/demo", "  other/second"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
	}
	if one := (plugintest.Run{Args: []string{"report", "-n", "demo", "--no-headers"}, Objects: objects}).Do(t); !strings.HasPrefix(one.Stdout, "demo-dc1-rack1-0  ") {
		t.Errorf("of one cluster: %+v", one)
	}
}

func TestReport(t *testing.T) {
	narrow := cli.Terminal{Out: true, Width: 80, Height: 24}
	noEvents := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*corev1.EventList); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New(`User "bob" cannot list resource "events" in API group "" in the namespace "demo"`))
		}
		return c.List(ctx, list, opts...)
	}}
	existing := filepath.Join(t.TempDir(), "there.zip")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(more ...string) []string { return append([]string{"report", "demo", "-n", "demo"}, more...) }
	cases := map[string]plugintest.Run{
		"table":                       {Args: args(), Objects: troubled().Objects()},
		"table on a terminal":         {Args: args(), Objects: troubled().Objects(), Terminal: narrow},
		"healthy":                     {Args: args("-o", "table"), Objects: plugintest.New(3, 1).Objects()},
		"json":                        {Args: args("-o", "json"), Objects: troubled().Objects()},
		"a field":                     {Args: args("-o", "jsonpath={.items[0].kind} {.items[0].changes[0].text}"), Objects: troubled().Objects()},
		"html":                        {Args: args("-o", "html"), Objects: troubled().Objects()},
		"events may not be listed":    {Args: args(), Objects: troubled().Objects(), Funcs: noEvents},
		"an unknown cluster":          {Args: []string{"report", "dema", "-n", "demo"}, Objects: troubled().Objects()},
		"several, none named":         {Args: []string{"report", "-n", "demo"}, Objects: append(troubled().Objects(), plugintest.NewNamed("demo", "other", "dc1", 1, 1).Objects()...)},
		"an unknown format":           {Args: args("-o", "pdf"), Objects: troubled().Objects()},
		"an archive without a name":   {Args: args("--archive", ""), Objects: troubled().Objects()},
		"an archive to nowhere":       {Args: args("--archive", "-"), Objects: troubled().Objects()},
		"force without an archive":    {Args: args("--force"), Objects: troubled().Objects()},
		"an archive as a tarball":     {Args: args("--archive", "out/demo.tar.gz"), Objects: troubled().Objects()},
		"an archive without a suffix": {Args: args("--archive", "demo"), Objects: troubled().Objects()},
		"logs without an archive":     {Args: args("--logs", "10"), Objects: troubled().Objects()},
		"less than no logs":           {Args: args("--archive", "x.zip", "--logs", "-1"), Objects: troubled().Objects()},
		"an archive as a page":        {Args: args("--archive", "x.zip", "-o", "html"), Objects: troubled().Objects()},
		"a folder that is not there":  {Args: args("--archive", "no/such/x.zip"), Objects: troubled().Objects()},
		"an archive that exists":      {Args: args("--archive", existing), Objects: troubled().Objects()},
	}
	plugintest.Screens(t, cases, func(run plugintest.Run, t testing.TB) string {
		run.Setup = server(t, logs)
		if run.Objects != nil && !slices.ContainsFunc(run.Objects, func(o client.Object) bool { return o.GetName() == "worker-1" }) {
			run.Objects = append(run.Objects, machine())
		}
		return strings.ReplaceAll(steady(run.Transcript(t)), filepath.Dir(existing), "DIR")
	})
}

// server is an API server for what no fake client has: logs and the version.
func server(t testing.TB, log func(pod, container string, previous bool) (int, string)) func(*cli.Deps) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
			return
		}
		parts := strings.Split(r.URL.Path, "/")
		if len(parts) == 8 && parts[7] == "portforward" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "pods is forbidden: no"})
			return
		}
		if len(parts) != 8 || parts[7] != "log" || parts[4] != "demo" {
			t.Errorf("unexpected request %s", r.URL)
			http.NotFound(w, r)
			return
		}
		code, text := log(parts[6], r.URL.Query().Get("container"), r.URL.Query().Get("previous") == "true")
		if code != http.StatusOK {
			reason := metav1.StatusReasonForbidden
			if code == http.StatusBadRequest {
				reason = metav1.StatusReasonBadRequest
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: text})
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }
	}
}

const scyllaLog = `INFO  2026-11-21 11:59:40,001 [shard 0:main] init - Scylla version 2025.2.1 starting
ERROR 2026-11-21 11:59:47,120 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)
WARN  2026-11-21 11:59:47,500 [shard 0:main] init - connecting to https://bob:hunter2@vault/ --password hunter2
ERROR 2026-11-21 11:59:48,000 [shard 0:main] init - Startup failed: std::runtime_error (token=hunter2)
`

func logs(pod, container string, _ bool) (int, string) {
	switch {
	case container == api.ContainerScyllaDB:
		return http.StatusOK, scyllaLog
	case pod == newcomer:
		return http.StatusOK, "waiting\n"
	}
	return http.StatusBadRequest, "container has no log"
}

func forbidden(pod, _ string, _ bool) (int, string) {
	return http.StatusForbidden, `pods "` + pod + `" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "demo"`
}

// archive packs the objects and gives the file's name and what was printed.
func archive(t *testing.T, run plugintest.Run, more ...string) (string, plugintest.Result) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "demo.zip")
	run.Args = append([]string{"report", "demo", "-n", "demo", "--archive", name}, more...)
	res := run.Do(t)
	return name, res
}

// kindsOfSecrets are nine kinds of places where a secret may stand; its word in each is planted(kind).
var kindsOfSecrets = []string{"environment", "argument", "annotation", "last-applied", "label", "volume", "probe", "object", "text"}

// planted is the secret of a kind. No pattern of secrets finds it: only the place where it stands tells that it is one.
func planted(kind string) string { return "hunter2-" + kind }

// secrets are the objects of a cluster with every kind of secret in its Pods, StatefulSets, Services, claims and Kubernetes node.
func secrets() []client.Object {
	c := troubled()
	plant := func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted("last-applied"), "vault.example.com/role": planted("annotation")}
		p.Labels["db-password"] = planted("label")
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "demo-tls"}}},
			corev1.Volume{Name: "csi", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", VolumeAttributes: map[string]string{"share": planted("volume")}}}})
		s := &p.Spec.Containers[0]
		s.Env = []corev1.EnvVar{{Name: "DB_PASSWORD", Value: planted("environment")}, {Name: "PLAIN", Value: planted("environment")}}
		s.Command = []string{"sh", "-c", "mysql -p" + planted("argument") + " && exec /opt/scylla --smp=2 --superuser-password=" + planted("argument")}
		s.Args = []string{"--smp=2", "--auth-token", planted("argument"), planted("argument")}
		s.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: planted("probe")}}}}}
		s.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ping", planted("probe")}}}}
		s.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"stop", planted("probe")}}}}
	}
	objects := append(c.Objects(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-tls", Labels: map[string]string{api.LabelCluster: "demo"}}, Data: map[string][]byte{"tls.key": []byte(planted("object"))}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "scylla-config", Labels: map[string]string{api.LabelCluster: "demo"}}, Data: map[string]string{"scylla.yaml": planted("object")}},
		event("d", "Pod", "demo-dc1-rack1-0", corev1.EventTypeWarning, "Failed", "pull from https://bob:"+planted("text")+"@registry/x with token="+planted("text"), 1, time.Minute),
	)
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Pod:
			row, had := o.Annotations[api.AnnotationNodeStatusReport]
			t := corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
			plant(&t)
			if o.ObjectMeta, o.Spec = t.ObjectMeta, t.Spec; had {
				o.Annotations[api.AnnotationNodeStatusReport] = row
			}
		case *appsv1.StatefulSet:
			plant(&o.Spec.Template)
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, "team.example.com/note", planted("annotation"))
		case *corev1.Service, *corev1.PersistentVolumeClaim, *corev1.Node:
			notes := map[string]string{"team.example.com/note": planted("annotation"), "kubectl.kubernetes.io/last-applied-configuration": planted("last-applied")}
			maps.Copy(notes, o.GetAnnotations())
			o.SetAnnotations(notes)
		}
	}
	return objects
}

func unzip(t *testing.T, name string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
	}
	return files
}

func TestArchiveHoldsNoSecret(t *testing.T) {
	name, res := archive(t, plugintest.Run{Objects: secrets(), Setup: server(t, logs)})
	if res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	out := strings.ReplaceAll(steady(res.Stdout), filepath.Dir(name), "DIR")
	out = strings.Replace(out, support.Size(info.Size()), "SIZE", 1)
	plugintest.Golden(t, "archive-summary.txt", out)
	files := unzip(t, name)
	for file, text := range files {
		for _, kind := range append(kindsOfSecrets, "") {
			if word := strings.TrimSuffix(planted(kind), "-"); strings.Contains(text, word) {
				t.Errorf("%s has a secret, %s:\n%s", file, word, text)
			}
		}
		if strings.Contains(text, "scylla-config") || strings.Contains(text, "tls.key") {
			t.Errorf("%s tells of a ConfigMap's or Secret's contents", file)
		}
	}
	want := []string{
		"clusters/demo/demo/datacenter-reports.json", "clusters/demo/demo/events.json", "clusters/demo/demo/kubernetes-nodes.json",
		"clusters/demo/demo/logs/demo-dc1-rack2-1/scylladb-bootstrap-barrier.log", "clusters/demo/demo/logs/demo-dc1-rack3-0/scylla.log",
		"clusters/demo/demo/logs/demo-dc1-rack3-0/scylla.previous.log", "clusters/demo/demo/persistentvolumeclaims.json", "clusters/demo/demo/pods.json",
		"clusters/demo/demo/services.json", "clusters/demo/demo/snapshot.json", "clusters/demo/demo/statefulsets.json",
		"clusters/demo/demo/status-report.json", "clusters/demo/demo/waiting-containers.json",
		"manifest.json", "report.html",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var m support.Manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	if !m.TakenAt.Equal(&metav1.Time{Time: plugintest.Now}) || len(m.Files) != len(files)-1 || m.Clusters[0].Kubernetes != "v1.37.2" || m.Clusters[0].Images["scylladb/scylla:2025.2.1"] != 4 {
		t.Errorf("%+v", m)
	}
	var waiting []support.Container
	if err := json.Unmarshal([]byte(files["clusters/demo/demo/waiting-containers.json"]), &waiting); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(waiting, func(c support.Container) bool { return c.Container == api.ContainerScyllaDB })
	if i < 0 {
		t.Fatalf("%+v", waiting)
	}
	if c := waiting[i]; c.First == nil || !strings.Contains(c.First.Line, "request canceled") || !strings.Contains(c.Last.Line, "Startup failed") || c.Diagnosis == nil || c.Diagnosis.Code != "JoinCancelled" {
		t.Errorf("%+v %+v %+v", c, c.First, c.Diagnosis)
	}
}

func TestArchiveWithoutRights(t *testing.T) {
	noPVCs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		what := map[string]bool{"*v1.EventList": true, "*v1.PersistentVolumeClaimList": true}[fmt.Sprintf("%T", list)]
		if what {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
		}
		return c.List(ctx, list, opts...)
	}}
	name, res := archive(t, plugintest.Run{Objects: troubled().Objects(), Funcs: noPVCs, Setup: server(t, forbidden)})
	info, err := os.Stat(name)
	if err != nil {
		t.Fatalf("%v: %+v", err, res)
	}
	plugintest.Golden(t, "archive-without-rights.txt", strings.Replace(strings.ReplaceAll(steady(res.Stdout), filepath.Dir(name), "DIR"), support.Size(info.Size()), "SIZE", 1))
	if res.Code != 0 {
		t.Errorf("exit %d", res.Code)
	}
	live := plugintest.Run{Args: []string{"status", "demo", "-n", "demo"}, Objects: troubled().Objects(), Funcs: noPVCs, Setup: server(t, forbidden)}.Do(t)
	saved := plugintest.Run{Args: []string{"status", "--from", name}}.Do(t)
	if diff := cmp.Diff(plugintest.AsArchived(live.Stdout), saved.Stdout); diff != "" || live.Code != saved.Code {
		t.Errorf("exit %d and %d (-live +saved):\n%s", live.Code, saved.Code, diff)
	}
}

// generated is the one field of a document that says when that was made.
var generated = regexp.MustCompile(`"?generatedAt"?: "[^"]*"|Drawn [^<]* by `)

func ungenerated(document string) string { return generated.ReplaceAllString(document, "generatedAt") }

// Every read verb says of an archive what it said of the cluster, an hour later and letter by letter.
func TestArchiveShowsWhatWasLive(t *testing.T) {
	later := clocktesting.NewFakeClock(plugintest.Now.Add(time.Hour))
	ghost := plugintest.New(3, 1).Ghost("demo-dc1-rack2-0")
	unlabelled := plugintest.New(1, 2).NoReports()
	for _, o := range unlabelled.Objects() {
		labels := o.GetLabels()
		delete(labels, api.LabelCluster)
		o.SetLabels(labels)
	}
	forced := troubled()
	forced.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceReason: "drill"}
	replacing := troubled()
	replacing.Service("demo-dc1-rack3-0").Labels[api.LabelReplace] = ""
	replacing.Service("demo-dc1-rack3-0").Labels[api.LabelReplacingNodeHostID] = plugintest.HostID(2)
	live := func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		rows := map[string]*api.NodeStatusReport{}
		for i := range s.Pods {
			rows[s.Pods[i].Name] = &api.NodeStatusReport{HostID: hostid.ID(plugintest.HostID(i)), OwnsTokens: new(true), OperationMode: "NORMAL", ScyllaVersion: "2025.2.1",
				ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(plugintest.HostID(0)), Status: api.NodeStatusUp}, {HostID: hostid.ID(plugintest.HostID(1)), Status: api.NodeStatusDown}}}
		}
		facts := map[string]cluster.LiveFacts{s.Pods[0].Name: {Schemas: map[string][]string{"a": {"10.0.0.1"}, "b": {"10.0.0.2"}}}}
		return s.WithLive(rows, facts, nil), nil
	}
	for name, c := range map[string]struct {
		cluster *plugintest.Cluster
		name    string
		live    func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error)
		source  string
		logs    func(pod, container string, previous bool) (int, string)
	}{
		"healthy":               {cluster: plugintest.New(3, 2)},
		"one down":              {cluster: troubled()},
		"no right to read logs": {cluster: troubled(), logs: forbidden},
		"operator's":            {cluster: troubled().Operator()},
		"annotations only":      {cluster: troubled().NoReports()},
		"a ghost":               {cluster: ghost},
		"a row missing":         {cluster: plugintest.New(3, 1).NoRow("demo-dc1-rack2-0")},
		"forced":                {cluster: forced},
		"a replacement":         {cluster: replacing},
		"the source asked for":  {cluster: troubled(), source: "annotation"},
		"what the nodes said":   {cluster: plugintest.New(1, 2), live: live, source: "live"},
		"asked as none spoke":   {cluster: plugintest.New(1, 2).NoReports().NoRow("demo-dc1-rack1-0").NoRow("demo-dc1-rack1-1"), live: live},
		"without labels":        {cluster: unlabelled, name: "demo-dc1-rack1"},
		"two datacenters":       {cluster: plugintest.New(2, 1).AddDatacenter("dc2", 2, 1).Down("demo-dc2-rack1-0")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := c.name
			if cluster == "" {
				cluster = "demo"
			}
			if c.logs == nil {
				c.logs = logs
			}
			run := plugintest.Run{Objects: c.cluster.Objects(), Live: c.live, Setup: server(t, c.logs)}
			file := filepath.Join(t.TempDir(), "a.zip")
			source := []string{}
			if c.source != "" {
				source = []string{"--source", c.source}
			}
			packing := run
			packing.Args = append([]string{"report", cluster, "-n", "demo", "--archive", file}, source...)
			if res := packing.Do(t); res.Code != 0 {
				t.Fatalf("%+v", res)
			}
			verbs := [][]string{
				{"status", cluster}, {"status", cluster, "-o", "wide"}, {"status", cluster, "-o", "yaml"}, {"status", "-A"}, {"barrier"}, {"barrier", "-o", "json"},
				{"report", cluster}, {"report", cluster, "-o", "json"}, {"report", cluster, "-o", "html"},
				{"replace", "status"}, {"replace", "status", "-o", "json"},
				{"dashboard", cluster, "--once", "--width", "160", "--height", "60"},
			}
			for _, s := range c.cluster.Objects() {
				if _, ok := s.(*corev1.Service); ok {
					// Without the log: an archive has none of a container that is well.
					verbs = append(verbs, []string{"barrier", s.GetName()},
						[]string{"describe", s.GetName(), "-o", "jsonpath={range .items[*]}{.node} {.seenBy} {.sees} {.findings} {.pod} {.claim} {.kubernetesNode} {.newcomer} {.replacement} {.events}{end}"})
				}
			}
			for _, verb := range verbs {
				was, is := run, plugintest.Run{Clock: later}
				was.Args = slices.Concat(verb, []string{"-n", "demo"}, source)
				is.Args = slices.Concat(verb, []string{"--from", file}, source)
				want, got := was.Do(t), is.Do(t)
				if diff := cmp.Diff(plugintest.AsArchived(ungenerated(want.Stdout)), plugintest.WithoutFrom(ungenerated(got.Stdout))); diff != "" || want.Code != got.Code {
					t.Errorf("%v: exit %d live, %d saved (-live +saved):\n%s%s%s", verb, want.Code, got.Code, diff, want.Stderr, got.Stderr)
				}
				if want.Stdout == "" {
					t.Errorf("%v shows nothing: %s", verb, want.Stderr)
				}
			}
			// From standard input it is the same.
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := plugintest.Run{Args: append([]string{"status", cluster, "--from", file}, source...), Clock: later}.Do(t)
			b := plugintest.Run{Args: append([]string{"status", cluster, "--from", "-"}, source...), Stdin: string(data), Clock: later}.Do(t)
			a.Stdout, b.Stdout = plugintest.WithoutFrom(a.Stdout), plugintest.WithoutFrom(b.Stdout)
			if a != b {
				t.Errorf("file: %+v\nstandard input: %+v", a, b)
			}
		})
	}
}

// What a replacement is about is in logs and in the Scylla Operator's conditions, which are not among the objects of an archive; it has what every
// verb would have found there.
func TestArchiveTellsWhyAReplacementFailed(t *testing.T) {
	const replaced = "demo-dc1-rack3-0"
	const removed = "ERROR 2026-11-21 12:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (The node has already been removed from the cluster)\n"
	now := func(text string) func(_, _ string, previous bool) (int, string) {
		return func(_, _ string, previous bool) (int, string) {
			if previous {
				return http.StatusBadRequest, "there is no run before"
			}
			return http.StatusOK, text
		}
	}
	conditions := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "demo", "name": "demo"},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "ServiceControllerProgressing", "status": "True", "reason": "WaitingForPodReadiness", "message": "token=hunter2"},
		}},
	}}
	conditions.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	byOperator := slices.DeleteFunc(plugintest.New(4, 1).Replacing(replaced).Operator().Objects(), func(o client.Object) bool {
		return o.GetObjectKind().GroupVersionKind() == api.ScyllaDBDatacenterGVK
	})
	abandoned := plugintest.New(4, 1).Replacing(replaced)
	for _, label := range []string{api.LabelReplace, api.LabelReplacingNodeHostID} {
		delete(abandoned.Service(replaced).Labels, label)
	}
	done := plugintest.New(4, 1)
	done.Service(replaced).Annotations[api.AnnotationReplaceLast] = `{"request":"r","outcome":"Replaced","hostID":"` + plugintest.HostID(9) + `","newHostID":"` + plugintest.HostID(2) + `","finishedAt":"` + plugintest.Now.Add(-time.Minute).Format(time.RFC3339) + `"}`
	for name, tc := range map[string]struct {
		objects []client.Object
		logs    func(pod, container string, previous bool) (int, string)
		want    string // in replace status
	}{
		"it failed, and the run before says why": {
			plugintest.New(4, 1).Replacing(replaced).Exited(replaced, 0).Objects(),
			func(_, _ string, previous bool) (int, string) {
				if previous {
					return http.StatusOK, scyllaLog
				}
				return http.StatusOK, removed
			}, "some required nodes are dead",
		},
		"it failed, and no word of the line is an error's": {
			plugintest.New(4, 1).Replacing(replaced).Exited(replaced, 0).Objects(),
			func(_, _ string, previous bool) (int, string) {
				if previous {
					return http.StatusOK, "the topology coordinator has banned this node: received notification of being banned from the cluster from 10.0.0.1\n"
				}
				return http.StatusOK, "ERROR what follows from it\n"
			}, "banned from the cluster",
		},
		"it failed while it runs":     {plugintest.New(4, 1).Replacing(replaced).Objects(), now(removed), "already been removed"},
		"it hangs":                    {plugintest.New(4, 1).Replacing(replaced).Objects(), now("ERROR 2026-11-21 12:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (something)\n"), "log of ScyllaDB on Pod"},
		"it goes on":                  {plugintest.New(4, 1).Replacing(replaced).Objects(), now("INFO all is well\n"), "Join"},
		"its labels are gone":         {abandoned.Objects(), now(removed), "was removed too late"},
		"the Scylla Operator does it": {append(byOperator, conditions), now(removed), "ServiceControllerProgressing: WaitingForPodReadiness"},
		"it is over":                  {done.Objects(), now(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			setup := server(t, tc.logs)
			archived, res := archive(t, plugintest.Run{Objects: tc.objects, Setup: setup})
			if res.Code != 0 {
				t.Fatalf("%+v", res)
			}
			nowhere := func(d *cli.Deps) {
				d.RESTConfig = func() (*rest.Config, error) {
					t.Error("an archive sends somebody to a cluster")
					return nil, errors.New("no")
				}
			}
			for _, verb := range [][]string{
				{"status", "demo"}, {"status", "demo", "-o", "json"}, {"barrier", replaced}, {"report", "demo", "-o", "jsonpath={.items[0].replacements}"}, {"dashboard", "demo", "--once"},
				{"replace", "status"}, {"replace", "status", "-o", "json"}, {"replace", "status", replaced},
			} {
				live := plugintest.Run{Args: append(verb[:len(verb):len(verb)], "-n", "demo"), Objects: tc.objects, Setup: setup}.Do(t)
				saved := plugintest.Run{Args: append(verb[:len(verb):len(verb)], "--from", archived), Setup: nowhere, Clock: clocktesting.NewFakeClock(plugintest.Now.Add(30 * time.Minute))}.Do(t)
				// What looks like a secret is taken out of an archive.
				want := strings.ReplaceAll(plugintest.AsArchived(ungenerated(live.Stdout)), "token=hunter2", "token=[redacted]")
				if diff := cmp.Diff(want, plugintest.WithoutFrom(ungenerated(saved.Stdout))); diff != "" || live.Code != saved.Code {
					t.Errorf("%v: exit %d and %d (-live +saved):\n%s", verb, live.Code, saved.Code, diff)
				}
				if verb[0] == "replace" && !strings.Contains(live.Stdout, tc.want) {
					t.Errorf("%v does not say %q:\n%s", verb, tc.want, live.Stdout)
				}
			}
			if page := unzip(t, archived)["report.html"]; strings.HasPrefix(name, "it failed") && !strings.Contains(page, tc.want) {
				t.Error("the page does not say why")
			}
		})
	}
}

// Plain saved objects have no logs, and the command must not read them from the cluster of the kubeconfig.
func TestSavedObjectsSendNobodyToACluster(t *testing.T) {
	const replaced = "demo-dc1-rack3-0"
	file := plugintest.Save(t, plugintest.New(4, 1).Replacing(replaced).Exited(replaced, 0).Objects())
	for _, verb := range [][]string{{"status"}, {"barrier", replaced}, {"report"}, {"dashboard", "--once"}, {"replace", "status"}} {
		res := plugintest.Run{Args: append(verb, "--from", file), Setup: func(d *cli.Deps) {
			d.RESTConfig = func() (*rest.Config, error) {
				t.Errorf("%v asks for a cluster", verb)
				return nil, errors.New("no")
			}
		}}.Do(t)
		if res.Stdout == "" {
			t.Errorf("%v: %+v", verb, res)
		}
	}
}

func TestArchiveReplacesOnlyWhenForced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "demo.zip")
	run := plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", name}, Objects: plugintest.New(1, 1).Objects(), Setup: server(t, logs)}
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := run.Do(t); res.Code != 2 {
		t.Errorf("%+v", res)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "mine" {
		t.Errorf("%q %v", data, err)
	}
	run.Args = append(run.Args, "--force")
	if res := run.Do(t); res.Code != 0 {
		t.Errorf("%+v", res)
	}
	data, err := os.ReadFile(name)
	if err != nil || !bytes.HasPrefix(data, []byte("PK")) {
		t.Errorf("%.20q %v", data, err)
	}
	// Nothing half-written is left beside it.
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	run.Args = append(run.Args, "-o", "jsonpath={.kind} {.clusters[0].name} {.createdAt}")
	if res := run.Do(t); res.Stdout != "ReportArchive demo 2026-11-21T12:00:00Z" {
		t.Errorf("%+v", res)
	}
}

// Saved objects can be packed too: they are then redacted, and parts that were not saved stay unknown.
func TestArchiveOfSavedObjects(t *testing.T) {
	objects := troubled().Objects()
	for name, objects := range map[string][]client.Object{
		"all": objects,
		"without Pods": slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool {
			_, pod := o.(*corev1.Pod)
			return pod
		}),
		"reports only": slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool {
			_, report := o.(*api.ScyllaDBDatacenterNodesStatusReport)
			return !report
		}),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "demo.zip")
			// Events are not read from saved objects.
			objects = slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { _, e := o.(*corev1.Event); return e })
			from := plugintest.Save(t, objects)
			if res := (plugintest.Run{Args: []string{"report", "--from", from, "--archive", file}}).Do(t); res.Code != 0 {
				t.Fatalf("%+v", res)
			}
			want := plugintest.Run{Args: []string{"status", "--from", from}}.Do(t)
			got := plugintest.Run{Args: []string{"status", "--from", file}}.Do(t)
			if want.Stdout != got.Stdout || want.Code != got.Code || !strings.HasPrefix(got.Stderr, "archive of 2026-11-21 11:5") {
				t.Errorf("saved: %+v\narchived: %+v", want, got)
			}
		})
	}
}
