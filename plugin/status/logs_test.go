// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const loggedBy = "demo-dc1-rack3-0"

// loops is a cluster with a member whose ScyllaDB ends again and again, with that termination message.
func loops(message string) *plugintest.Cluster {
	c := plugintest.New(3, 1).DownSince(loggedBy, 20*time.Minute)
	p := c.Pod(loggedBy)
	p.Spec.NodeName = "worker-3"
	st := &p.Status.ContainerStatuses[0]
	st.Ready, st.RestartCount, st.State = false, 14, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message, FinishedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute))}
	return c.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + loggedBy}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-3", StorageClassName: new("fast")}})
}

// ended is a log line of ScyllaDB.
func ended(text string) string {
	return "ERROR 2026-11-21 11:59:20,123 [shard  0:main] init - Startup failed: " + text + "\n"
}

// What ScyllaDB's log says decides the step, whether the log is read, in the Pod's status, or given by a person; none of them replaces the node.
func TestWhatTheLogSaysDecides(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ log, want string }{
		"aio-max-nr": {"FATAL: Exception during startup, aborting: std::runtime_error (Could not setup Async I/O: Resource temporarily unavailable.)\n" +
			"2026-11-21 11:59:01,107 INFO exited: scylla (exit status 7; not expected)\n", "raise sysctl fs.aio-max-nr on Kubernetes node worker-3, or give ScyllaDB fewer CPUs in StatefulSet demo-dc1-rack3; no data is lost"},
		"no space": {ended("storage_io_error (Storage I/O error: 28: No space left on device)"),
			"enlarge its volume, PVC data-" + loggedBy + ", if its StorageClass fast allows expansion; do not delete files on the volume"},
		"a damaged file": {ended("sstables::malformed_sstable_exception (Failed to read partition from SSTable /var/lib/scylla/data/app/t-1/me-3g-big-Data.db)"),
			"do not delete or replace it: one damaged file does not show that its volume is lost. Check the disk of Kubernetes node worker-3"},
		"a duplicate address": {"ERROR 2026-11-21 11:59:20,123 [shard  0:main] system_keyspace - duplicate IP for host_id 9f3b2c11-77aa-4c2b-9d10-0000000000aa, first IP 10.1.0.21, second IP 10.1.0.22\nAborting on shard 0\n",
			"do not restart nodes that are UP: they may end with the same error"},
		"an address of another": {ended("std::runtime_error (A node with address 10.1.0.2 already exists, cancelling join. Use replace_address if you want to replace this node.)"),
			"do not replace anything, although the log suggests it: check which Pod has this address"},
		"killed": {"2026-11-21 11:58:00,100 INFO exited: scylla (terminated by SIGKILL; not expected)\n",
			"check the memory and the kernel log of Kubernetes node worker-3 (out of memory)"},
		"no majority": {ended("service::raft_operation_timeout_error (group [0aa1] raft operation [read_barrier] timed out)"),
			"do not delete or replace anything yet; check its log"},
		"seeds": {ended("std::runtime_error (Unable to gossip with any nodes={10.0.0.1} (ShadowRound).)"),
			"do not delete or replace anything yet; check its log"},
	} {
		file := filepath.Join(t.TempDir(), "scylla.log")
		if err := os.WriteFile(file, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		for how, run := range map[string]plugintest.Run{
			"read":  {Args: []string{"status", "demo", "-n", "demo"}, Objects: loops("").Objects(), Logs: map[string]string{loggedBy + "/scylla": tc.log}},
			"ended": {Args: []string{"status", "demo", "-n", "demo"}, Objects: loops(tc.log).Objects()},
			"given": {Args: []string{"describe", loggedBy, "-n", "demo", "--log", file}, Objects: loops("").Objects()},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				text := run.Transcript(t)
				got := strings.Join(strings.Fields(text), " ")
				if !strings.Contains(got, tc.want) || !strings.Contains(got, "14 restarts") || strings.Contains(got, "scylla replace ") {
					t.Errorf("want %q, and no replacement, in\n%s", tc.want, text)
				}
			})
		}
	}
}

// That logs must not be read is a note, and the Pod's own words remain.
func TestLogsThatMustNotBeReadAreANote(t *testing.T) {
	t.Parallel()
	denied := logServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`)
	})
	text := flat(plugintest.Run{Args: []string{"status", "demo", "-n", "demo"}, Objects: loops("").Objects(), Setup: denied}.Transcript(t))
	for _, want := range []string{"scylla exits with code 1, 14 restarts", "note: log of " + loggedBy + " not read: no permission; request verb get on resource pods/log"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// logServer is an API server that answers for logs.
func logServer(t *testing.T, answer http.HandlerFunc) func(*cli.Deps) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }
	}
}

// TestADirectoryOfMustGather: what another tool has gathered is read with the logs in it, by status and by describe.
func TestADirectoryOfMustGather(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	dir := t.TempDir()
	pod := filepath.Join(dir, "namespaces", "demo", "pods", member)
	if err := os.MkdirAll(pod, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		filepath.Join(dir, "all.yaml"): plugintest.SavedYAML(t, plugintest.New(3, 1).Down(member).Objects()),
		filepath.Join(pod, "scylla.previous"): []byte("2026-11-21T11:40:11.123456789Z FATAL: Exception during startup, aborting: " +
			"std::runtime_error (Could not setup Async I/O: Resource temporarily unavailable. The most common cause is not enough request capacity in /proc/sys/fs/aio-max-nr.)\n"),
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"status":             "raise sysctl fs.aio-max-nr on Kubernetes node worker-1",
		"describe " + member: "AioExhausted",
	} {
		got := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo", "--from", dir)}.Do(t)
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: want %q in\n%s%s", args, want, got.Stdout, got.Stderr)
		}
	}
}

// A full volume has the command for its StorageClass, whether the reporter or ScyllaDB's log says that it is full.
func TestAFullVolumeIsEnlargedByItsStorageClass(t *testing.T) {
	t.Parallel()
	class := func(name, provisioner string, expands any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
			"metadata": map[string]any{"name": name}, "provisioner": provisioner}}
		if expands != nil {
			o.Object["allowVolumeExpansion"] = expands
		}
		return o
	}
	const grows = `kubectl patch pvc data-` + loggedBy + ` --type=merge -p '{"spec":{"resources":{"requests":{"storage":"150Gi"}}}}' -n demo`
	for name, tc := range map[string]struct {
		class    *unstructured.Unstructured
		capacity string
		want     []string
		patches  bool
		grown    bool // 10 s ago, after the volume was full
	}{
		"it allows it": {class("fast", "ebs.csi.aws.com", true), "100Gi", []string{
			"enlarge PVC data-" + loggedBy + " (now 100Gi), which cannot be undone: StorageClass fast allows it; 150Gi is an example", grows,
			"The template in StatefulSet demo-dc1-rack3 keeps the old size"}, true, false},
		"it was enlarged since": {class("fast", "ebs.csi.aws.com", true), "100Gi", []string{"if its StorageClass fast allows expansion"}, false, true},
		"it has no capacity":    {class("fast", "ebs.csi.aws.com", true), "0", []string{"if its StorageClass fast allows expansion"}, false, false},
		"it forbids it":         {class("fast", "ebs.csi.aws.com", nil), "100Gi", []string{"StorageClass fast does not allow PVC data-" + loggedBy, "nodetool " + loggedBy + " -n demo -- listsnapshots"}, false, false},
		"local volumes":         {class("fast", "kubernetes.io/no-provisioner", true), "100Gi", []string{"has a local volume (StorageClass fast), which cannot be enlarged"}, false, false},
		"it is not readable":    {class("other", "ebs.csi.aws.com", true), "100Gi", []string{"if its StorageClass fast allows expansion", "kubectl get pvc,storageclass -n demo"}, false, false},
		"it is being enlarged":  {class("fast", "ebs.csi.aws.com", true), "50Gi", []string{"is being enlarged from 50Gi to 100Gi", "kubectl describe pvc data-" + loggedBy}, false, false},
	} {
		loop := loops("storage_io_error (Storage I/O error: 28: No space left on device)")
		full := plugintest.New(3, 1).Says(func(n plugintest.Node, said *api.NodeStatusReport) {
			if n.Name == loggedBy {
				said.DiskUsedPercent = new(int32(95))
			}
		})
		full.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + loggedBy}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-3", StorageClassName: new("fast")}})
		for what, c := range map[string]*plugintest.Cluster{"log": loop, "reporter": full} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				objects := append(edit(c.Objects(), "", func(p *corev1.PersistentVolumeClaim) {
					p.Labels = map[string]string{api.LabelCluster: "demo"}
					p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}
					p.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tc.capacity)}}
					if tc.grown {
						p.ManagedFields = stage.Written(`{"f:status":{"f:capacity":{}}}`)
						p.ManagedFields[0].Time.Time = plugintest.Now.Add(-10 * time.Second)
					}
				}), tc.class)
				text := printed(t, objects, "status demo", "status demo --from "+plugintest.Save(t, objects))
				for _, want := range tc.want {
					if strings.Count(text, want) < 2 {
						t.Errorf("want %q in\n%s", want, text)
					}
				}
				if strings.Contains(text, "patch pvc") != tc.patches || !strings.Contains(strings.ToLower(text), "do not delete files on the volume") || strings.Contains(text, "scylla replace ") {
					t.Errorf("patches: want %t in\n%s", tc.patches, text)
				}
			})
		}
	}
}
