// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestBuildProgressTellsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newBuildWatch("it", &out)
		done := make(chan struct{})
		go w.report(done)
		for _, lines := range []string{
			"go: downloading golang.org/x/sys v0.47.0\n",
			"golang.org/x/sys/unix\nk8s.io/api/core/v1\n",
			modulePath + "/test/cluster/controlplane\n",
		} {
			w.read(strings.NewReader(lines))
			time.Sleep(progressInterval)
			synctest.Wait()
		}
		close(done)
		synctest.Wait()
		want := `building it: 5s, 1 modules downloaded, 0 packages compiled (a cold build has about 2900), now downloading golang.org/x/sys v0.47.0
building it: 10s, 1 modules downloaded, 2 packages compiled (a cold build has about 2900), now compiling k8s.io/api/core/v1
building it: 15s, 1 modules downloaded, 3 packages compiled (a cold build has about 2900), now linking
`
		if out.String() != want {
			t.Errorf("progress is\n%swant\n%s", out.String(), want)
		}
	})
}

func TestFailedBuildShowsTheCompilersWords(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module broken\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { nothing() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := artefact{title: "broken", cache: t.TempDir(), prefix: "broken", sources: []string{dir}, builds: []goBuild{{dir: dir, pkg: ".", name: "broken"}}}
	_, err := a.ensure(t.Context(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("got error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(a.cache, "*broken*")); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
}

func TestArtefactIsBuiltOnceForItsSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module small\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() {}\n")
	a := artefact{title: "small", cache: t.TempDir(), prefix: "small", sources: []string{dir}, builds: []goBuild{{dir: dir, pkg: ".", name: "small"}}}
	ensure := func() string {
		t.Helper()
		path, err := a.ensure(t.Context(), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := ensure()
	before, err := os.Stat(filepath.Join(first, "small"))
	if err != nil {
		t.Fatal(err)
	}
	write("main_test.go", "package main\n")
	write("README", "text")
	if again := ensure(); again != first {
		t.Error("files that are not compiled changed the key")
	}
	if after, err := os.Stat(filepath.Join(first, "small")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it was built again (error %v)", err)
	}
	old := time.Now().Add(-2 * unusedAfter)
	if err := os.Chtimes(first, old, old); err != nil {
		t.Fatal(err)
	}
	write("main.go", "package main\n\nfunc main() { println() }\n")
	if changed := ensure(); changed == first {
		t.Error("a changed source did not change the key")
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what nobody has used for long is still there (error %v)", err)
	}
}

func TestLockIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	waited := false
	if _, err := lock(ctx, path, func() { waited = true }); !errors.Is(err, context.DeadlineExceeded) || !waited {
		t.Errorf("second lock: error %v, said that it waits: %t", err, waited)
	}
	unlock()
	unlock, err = lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestReservedPortIsOthersNotToTake(t *testing.T) {
	r, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)))
	if err == nil {
		_ = l.Close()
		t.Error("a reserved port was taken")
	}
}

func newProvisionerTest(t *testing.T, objects ...client.Object) *Cluster {
	t.Helper()
	c := &Cluster{dir: t.TempDir(), base: insideState,
		client: fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.PersistentVolume{}).Build()}
	if err := os.MkdirAll(filepath.Join(c.dir, "nodes", "node1", volumesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func pendingClaim(name, node string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "uid-of-claim", Annotations: map[string]string{annSelectedNode: node}},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To(StorageClass)},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

func TestProvisionerServesOneClaimThoughAnotherCannotBeServed(t *testing.T) {
	c := newProvisionerTest(t, pendingClaim("a-nowhere", "node9"), pendingClaim("data", "node1"))
	err := c.provisionOnce(t.Context())
	if err == nil || !strings.Contains(err.Error(), "claim demo/a-nowhere") {
		t.Errorf("got error %v, want it to name the claim on a node that does not exist", err)
	}
	var pv corev1.PersistentVolume
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "pvc-uid-of-claim"}, &pv); err != nil {
		t.Fatal(err)
	}
	if want := insideState + "/nodes/node1/volumes/pvc-uid-of-claim"; pv.Spec.Local.Path != want || pv.Spec.ClaimRef.Name != "data" {
		t.Errorf("volume has path %s for claim %s, want %s for data", pv.Spec.Local.Path, pv.Spec.ClaimRef.Name, want)
	}
	info, err := os.Stat(filepath.Join(c.dir, "nodes", "node1", volumesDir, pv.Name))
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("its directory has mode %v, error %v", info, err)
	}
}

func TestProvisionerWipesReleasedVolumesAndOnlyItsOwn(t *testing.T) {
	volume := func(name, path string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annProvisionedBy: provisioner}},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased},
		}
	}
	bound := volume("bound", insideState+"/nodes/node1/volumes/bound")
	bound.Status.Phase = corev1.VolumeBound
	c := newProvisionerTest(t, volume("done", insideState+"/nodes/node1/volumes/done"), bound,
		volume("outside", insideState+"/nodes/node1/volumes/../../../../.."), volume("high", insideState+"/nodes/node1"))
	for _, dir := range []string{"done", "bound"} {
		path := filepath.Join(c.dir, "nodes", "node1", volumesDir, dir)
		if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := c.provisionOnce(t.Context())
	if err == nil || strings.Count(err.Error(), "is not one of the cluster's volumes") != 2 {
		t.Errorf("got error %v, want the two paths outside refused", err)
	}
	left, err := os.ReadDir(filepath.Join(c.dir, "nodes", "node1", volumesDir))
	if err != nil || len(left) != 1 || left[0].Name() != "bound" {
		t.Errorf("directories left are %v (error %v), want only the bound one", left, err)
	}
	var pv corev1.PersistentVolume
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "done"}, &pv); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the volume object is still there (error %v)", err)
	}
}

func TestModuleDirIsFoundFromBelow(t *testing.T) {
	want, err := ModuleDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(want, "test", "cluster", "controlplane")) // a module of its own on the way up
	if got, err := ModuleDir(); got != want || err != nil {
		t.Errorf("got %q, error %v, want %q", got, err, want)
	}
}

// A package that both modules have in the same version and with the same flags is compiled once: with others, a fresh
// machine would compile the 900 packages that the product and Kubernetes share twice.
func TestModulesThatBothListHaveOneVersion(t *testing.T) {
	versions := func(path string) map[string]string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`).FindAllStringSubmatch(string(b), -1) {
			of[m[1]] = m[2]
		}
		return of
	}
	ours, kubernetes := versions("../../go.mod"), versions("controlplane/go.mod")
	shared := 0
	for module, version := range kubernetes {
		if other, both := ours[module]; both {
			shared++
			if other != version {
				t.Errorf("%s: go.mod has %s, test/cluster/controlplane/go.mod has %s", module, other, version)
			}
		}
	}
	if shared < 50 {
		t.Errorf("the go.mod files share %d modules: are they still read rightly?", shared)
	}
	if v := kubernetes["k8s.io/kubernetes"]; v != KubernetesVersion {
		t.Errorf("KubernetesVersion is %s, the module's version is %s", KubernetesVersion, v)
	}
}
