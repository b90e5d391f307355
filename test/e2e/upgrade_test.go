// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// gate begins the flag that turns the protection on or off, which a next installation keeps.
const gate = "--feature-gates=BootstrapSynchronisation="

const reportCRD = "scylladbstatusreports.scylla.scylladb.com"

// notYet are what the cluster report of 24 November 2026 did not have, with the file of internal/api that has it today: fields, and the list of the values of one.
var notYet = []struct{ file, path string }{
	{"", "datacenters.nodes.observedNodes.status=enum"},
	{"types_view.go", "status.healthPolicy.lookInterval"}, {"types_view.go", "status.healthPolicy.missedLooks"}, {"types_view.go", "status.healthPolicy.peerCheck"},
	{"types_view.go", "status.healthPolicy.viewLimit"}, {"types_view.go", "status.view.credential"},
	{"types.go", "status.initialSettings"}, {"types.go", "status.rootCredential"}, {"types.go", "status.selfInitialized"},
}

// The controller is upgraded while a barrier waits and a replacement stands between its record and the deletion of the volume, and goes back to the older
// version while a barrier waits. The Pods' agents are older ones all the time. In the end the controller's gate is off, which opens a barrier that waits.
//
// Long: one story, told in order; each part begins with the cluster that the one before has left.
func TestARunningControllerIsUpgradedAndGoesBack(t *testing.T) { // replaces the controller of all: not parallel
	covers(t, "controller", "controller/replacement", "controller/views", "internal/agent/barrier", "internal/api/crds", "internal/replace",
		"plugin/install")
	pods(t, 6)
	w := world(t)
	f := inNamespace(t, w, "upgrade")
	older, newer := f.releases()
	f.installAnew(older)
	if left := lacking(t, f.storedCRD()); len(left) != len(notYet) {
		t.Fatalf("the older CRD lacks only %q", left)
	}
	f.must(w.Deploy(f.ctx, scenario.Cluster{Namespace: f.namespace, Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationHealthPrefix+healthpolicy.FieldStabilisation, "1s")
		for _, cs := range [][]corev1.Container{s.Spec.Template.Spec.InitContainers, s.Spec.Template.Spec.Containers} {
			for i := range cs {
				if cs[i].Image == images.AgentRef {
					cs[i].Image = older.Ref
				}
			}
		}
	}}))
	f.ready(3)
	f.healthy()
	victim, first, second, third := rack3+"-0", rack2+"-1", rack1+"-1", rack2+"-2"
	id, claim, pod := f.hostID(victim), f.claim(victim), f.pod(victim).UID
	deleted := f.deletesOnly("PersistentVolumeClaim data-"+victim+" "+string(claim), "Pod "+victim+" "+string(pod))

	t.Log("a barrier waits, a replacement is recorded, and its deletion does not go through")
	allow := f.keepClaims(victim)
	f.kill(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.untilBarrierRuns(first)
	f.barrierSays(first, victim)
	f.longDown(victim)
	f.label(victim, "=")
	f.untilRefused(victim, id)

	t.Log("upgrade")
	epoch := f.epoch(f.ctx)
	contains(t, "a newer version without --upgrade", newer.install(2), "version v1.4.0 is installed, this is v1.5.0", "--upgrade")
	newer.install(0, "--upgrade")
	f.untilLed(newer, epoch+1)
	if left := lacking(t, f.storedCRD()); len(left) > 0 {
		t.Errorf("after the upgrade the CRD lacks %q", left)
	}
	f.holdsFor(first, 3*time.Second)
	f.untilRefused(victim, id)
	if p := f.pod(victim); f.claim(victim) != claim || p.UID != pod || p.DeletionTimestamp != nil {
		t.Error("the upgrade has deleted something")
	}
	contains(t, "a downgrade during a replacement", older.install(2, "--allow-downgrade"), "the replacement of member "+f.namespace+"/"+victim)
	allow()
	f.finished(victim)
	f.ready(4)
	f.replaced(victim, id, claim)
	if got, want := f.epoch(f.ctx), epoch+1; got != want {
		t.Errorf("epoch %d, want %d", got, want)
	}

	t.Log("and back")
	f.kill(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack1, 2))
	f.untilBarrierRuns(second)
	f.barrierSays(second, victim)
	contains(t, "an older version without --allow-downgrade", older.install(2, "--upgrade"), "an older version does not replace a newer one", "--allow-downgrade")
	older.install(0, "--allow-downgrade")
	f.untilLed(older, epoch+2)
	if left := lacking(t, f.storedCRD()); len(left) > 0 {
		t.Errorf("the older version has taken %q from the CRD", left)
	}
	f.holdsFor(second, 3*time.Second)
	f.revive(victim)
	f.ready(5)
	f.healthy()

	t.Log("the gate is off")
	f.kill(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 3))
	f.untilBarrierRuns(third)
	f.barrierSays(third, victim)
	contains(t, "the older version again", older.install(2, gate+"false"), "fields that this build does not know", "--allow-downgrade")
	older.install(0, gate+"false", "--allow-downgrade")
	f.waitFor("the Lease to list the cluster as unprotected", func(ctx context.Context) (bool, string, error) {
		l := &coordinationv1.Lease{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: "kubectl-scylla", Name: api.LeaseName}, l)
		return err == nil && l.Annotations[api.AnnotationUnprotected] == api.KeepMark(f.namespace, "demo"), fmt.Sprint(l.Annotations), err
	})
	const off = "may start: feature gate BootstrapSynchronisation is off at controller kubectl-scylla-controller-"
	f.barrierSays(third, off)
	f.untilEvent(third, off)

	if n := deleted(); n != 2 {
		t.Errorf("%d objects were deleted, want the claim and the Pod of %s", n, victim)
	}
}

// release is a version of the plugin and of the agent's image, which the Kubernetes nodes have.
type release struct {
	*images.Release
	f *fixture
}

// releases are two of one tree; the older one has the older CRD, and never writes what that does not have.
func (f *fixture) releases() (older, newer release) {
	f.t.Helper()
	root, err := filepath.Abs("../..")
	f.must(err)
	dir, replaced := f.t.TempDir(), map[string]string{}
	change := func(file string, edit func([]byte) []byte) {
		path := filepath.Join(root, "internal/api", file)
		text, err := os.ReadFile(path)
		f.must(err)
		replaced[path] = filepath.Join(dir, filepath.Base(file))
		f.must(os.WriteFile(replaced[path], edit(text), 0o600))
	}
	change("crds/scylla.scylladb.com_scylladbstatusreports.yaml", func(crd []byte) []byte { return without(f.t, crd) })
	for _, file := range []string{"types.go", "types_view.go"} {
		change(file, func(text []byte) []byte {
			for _, n := range notYet {
				if n.file != file {
					continue
				}
				name := n.path[strings.LastIndex(n.path, ".")+1:]
				field := regexp.MustCompile(`(?mi)^(\s+` + name + ` \S+ )` + "`.*`$")
				if found := len(field.FindAll(text, -1)); found != 1 {
					f.t.Fatalf("%d fields %s in %s, want 1", found, name, file)
				}
				text = field.ReplaceAll(text, []byte("$1`json:\"-\"`"))
			}
			return text
		})
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	f.must(err)
	f.must(os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	build := func(version string, more ...string) release {
		r, err := images.BuildRelease(f.ctx, root, dir, version, more...)
		f.must(err)
		f.must(f.Cluster.LoadImage(f.ctx, r.Archive))
		return release{r, f}
	}
	return build("v1.4.0", "-overlay="+filepath.Join(dir, "overlay.json")), build("v1.5.0")
}

// install runs the release's own plugin, which must end with the given code.
func (r release) install(wantCode int, args ...string) string {
	r.f.t.Helper()
	out, errs, code := builtPlugin{r.f.ctx, r.Plugin, r.f.Cluster.Kubeconfig()}.execute(append([]string{"install", "--image=" + r.Ref, "--yes"}, args...)...)
	if code != wantCode {
		r.f.t.Fatalf("install %s %v: exit %d, want %d\n%s%s", r.Version, args, code, wantCode, out, errs)
	}
	return out + errs
}

// installAnew installs a release where nothing of ours is, and brings the shipped one of all tests back when the test ends.
func (f *fixture) installAnew(r release) {
	f.t.Helper()
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if res, err := f.Plugin(ctx, "install", "--image", images.AgentRef, "--yes", "--upgrade", gate+"true"); err != nil || res.Code != 0 {
			f.t.Errorf("install the shipped version: %v, exit %d\n%s%s", err, res.Code, res.Stdout, res.Stderr)
		}
		if err := f.Hurry(ctx); err != nil {
			f.t.Error(err)
		}
	})
	f.waitFor("the StatefulSets of earlier tests to be gone", func(ctx context.Context) (bool, string, error) { // uninstall refuses beside them
		var l appsv1.StatefulSetList
		err := f.Client.List(ctx, &l)
		return len(l.Items) == 0, fmt.Sprintf("%d StatefulSets", len(l.Items)), err
	})
	if res, err := f.Plugin(f.ctx, "uninstall", "--yes"); err != nil || res.Code != 0 {
		f.t.Fatalf("uninstall: %v, exit %d\n%s%s", err, res.Code, res.Stdout, res.Stderr)
	}
	if out, err := f.Cluster.Kubectl(f.ctx, "delete", "crd", reportCRD); err != nil {
		f.t.Fatal(out, err)
	}
	f.waitFor("the namespace of the controller to be gone", func(ctx context.Context) (bool, string, error) {
		err := f.Client.Get(ctx, client.ObjectKey{Name: "kubectl-scylla"}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
	r.install(0)
}

func (f *fixture) storedCRD() []byte {
	f.t.Helper()
	out, err := f.Cluster.Kubectl(f.ctx, "get", "crd", reportCRD, "-o", "json")
	f.must(err)
	return []byte(out)
}

// without is a CRD without notYet.
func without(t *testing.T, crd []byte) []byte {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(crd, &doc); err != nil {
		t.Fatal(err)
	}
	for _, n := range notYet {
		in, key := place(doc, n.path)
		if _, ok := in[key]; !ok {
			t.Fatalf("the CRD has no %s", n.path)
		}
		delete(in, key)
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lacking are those of notYet that a CRD does not have.
func lacking(t *testing.T, crd []byte) (paths []string) {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(crd, &doc); err != nil {
		t.Fatal(err)
	}
	for _, n := range notYet {
		in, key := place(doc, n.path)
		if _, ok := in[key]; !ok {
			paths = append(paths, n.path)
		}
	}
	return paths
}

// place is where the schema of the CRD's only version has what a path of notYet names; nil for nowhere.
func place(crd map[string]any, path string) (in map[string]any, key string) {
	at := func(m map[string]any, key string) map[string]any { child, _ := m[key].(map[string]any); return child }
	versions, _ := at(crd, "spec")["versions"].([]any)
	version, _ := versions[0].(map[string]any)
	schema := at(at(version, "schema"), "openAPIV3Schema")
	path, attribute, _ := strings.Cut(path, "=")
	names := strings.Split(path, ".")
	for i, name := range names {
		if items := at(schema, "items"); items != nil {
			schema = items
		}
		if i == len(names)-1 && attribute == "" {
			return at(schema, "properties"), name
		}
		schema = at(at(schema, "properties"), name)
	}
	return schema, attribute
}

// keepClaims has admission refuse every deletion of a claim of the namespace, as an administrator's policy does, until allow is called.
func (f *fixture) keepClaims(member string) (allow func()) {
	f.t.Helper()
	const name = "upgrade-keeps-claims"
	policy := `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: ` + name + `}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [persistentvolumeclaims]}]},
  validations: [{expression: "false", reason: Forbidden, message: claims are kept}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: ` + name + `}, spec: {policyName: ` + name + `,
  validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + f.namespace + `}}}}}
`
	if out, err := f.Cluster.KubectlInput(f.ctx, policy, "apply", "-f", "-"); err != nil {
		f.t.Fatal(out, err)
	}
	done := false
	allow = func() {
		if !done {
			done = true
			out, err := f.Cluster.Kubectl(context.WithoutCancel(f.ctx), "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name)
			if err != nil {
				f.t.Error(out, err)
			}
		}
	}
	f.t.Cleanup(allow)
	f.waitFor("admission to refuse the deletion of claims", func(ctx context.Context) (bool, string, error) {
		err := f.Client.Delete(ctx, f.pvc(member), client.DryRunAll)
		return apierrors.IsForbidden(err), fmt.Sprint(err), nil
	})
	return allow
}

// untilRefused waits until a replacement is recorded and its controller has tried to delete the claim.
func (f *fixture) untilRefused(member, hostID string) {
	f.t.Helper()
	f.waitFor("the deletion of the claim of "+member+" to be refused", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, s)
		rec := replace.ReadRecord(s.Labels, s.Annotations)
		recorded := string(rec.Original) == hostID && rec.PVCsRecorded && rec.Refused != nil
		return err == nil && recorded && strings.Contains(rec.Refused.Message, "claims are kept"), fmt.Sprint(s.Labels, s.Annotations), err
	})
}

// epoch is that of the stored view.
func (f *fixture) epoch(ctx context.Context) int64 {
	r, err := f.report(ctx, "demo")
	if err != nil || r.Status.View == nil {
		return 0
	}
	return r.Status.View.Epoch
}

// untilLed waits until all Pods of the controller are of a release, and the stored view is of this epoch and no other new one.
func (f *fixture) untilLed(r release, epoch int64) {
	f.t.Helper()
	was := f.epoch(f.ctx)
	f.waitFor(fmt.Sprintf("%s to lead with epoch %d", r.Version, epoch), func(ctx context.Context) (bool, string, error) {
		var l corev1.PodList
		if err := f.Client.List(ctx, &l, client.InNamespace("kubectl-scylla")); err != nil {
			return false, "", err
		}
		other := slices.ContainsFunc(l.Items, func(p corev1.Pod) bool { return p.Spec.Containers[0].Image != r.Ref })
		got := f.epoch(ctx)
		if got != was && got != epoch {
			return false, "", cluster.Permanent(fmt.Errorf("the epoch was %d and is %d, want %d", was, got, epoch))
		}
		return !other && got == epoch, fmt.Sprintf("%d Pods, of another release: %v, epoch %d", len(l.Items), other, got), nil
	})
}

// deletesOnly complains of each claim or Pod of the namespace that is deleted and not named as "KIND NAME UID", until the returned function ends that. It returns
// the number of those that were deleted.
func (f *fixture) deletesOnly(named ...string) (end func() int) {
	f.t.Helper()
	var deleted atomic.Int32
	var watches sync.WaitGroup
	var stops []func()
	for kind, list := range map[string]client.ObjectList{"Pod": &corev1.PodList{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}} {
		w, err := f.Client.Watch(f.ctx, list, client.InNamespace(f.namespace))
		f.must(err)
		stops = append(stops, w.Stop)
		watches.Go(func() {
			for e := range w.ResultChan() {
				o, ok := e.Object.(client.Object)
				if !ok || e.Type != watch.Deleted {
					continue
				}
				deleted.Add(1)
				if is := fmt.Sprintf("%s %s %s", kind, o.GetName(), o.GetUID()); !slices.Contains(named, is) {
					f.t.Errorf("%s was deleted, and not only %q", is, named)
				}
			}
		})
	}
	end = func() int {
		for _, stop := range stops {
			stop()
		}
		watches.Wait()
		return int(deleted.Load())
	}
	f.t.Cleanup(func() { end() })
	return end
}
