// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

// helperVariable makes the test binary start a cluster of that form, print its state directory and wait: a process
// that a test can kill.
const helperVariable = "TEST_CLUSTER_HELPER"

// shared is the one cluster with Kubernetes nodes that most tests use, with the workload running in it.
var shared struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	if form := os.Getenv(helperVariable); form != "" {
		if err := helper(form); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	}
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func helper(form string) error {
	var c *cluster.Cluster
	var err error
	if form == "nodes" {
		c, err = cluster.StartNodes(context.Background(), cluster.Options{Nodes: 1})
	} else {
		c, err = cluster.StartControlPlane(context.Background(), cluster.Options{})
	}
	if err != nil {
		return err
	}
	fmt.Println(filepath.Dir(c.Kubeconfig()))
	return nil
}

// needNodes skips the test, with the reason, where Kubernetes nodes are not possible.
func needNodes(t *testing.T) {
	t.Helper()
	if missing := cluster.MissingPrerequisites(); len(missing) > 0 {
		t.Skipf("needs Kubernetes nodes, which this machine cannot run; missing: %s", strings.Join(missing, "; "))
	}
}

// nodes returns the shared cluster.
func nodes(t *testing.T) *cluster.Cluster {
	t.Helper()
	needNodes(t)
	shared.once.Do(func() { shared.cluster, shared.err = startShared(t) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			var text bytes.Buffer
			shared.cluster.Diagnose(&text)
			t.Log(text.String())
		}
	})
	return shared.cluster
}

func startShared(t *testing.T) (*cluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // the first build of Kubernetes
	defer cancel()
	archive, err := workloadImage(ctx, t.TempDir())
	if err != nil {
		return nil, err
	}
	return cluster.StartNodes(ctx, cluster.Options{Images: []string{archive}, Log: os.Stderr})
}

func workloadImage(ctx context.Context, dir string) (string, error) {
	module, err := build.ModuleDir()
	if err != nil {
		return "", err
	}
	binary, archive := filepath.Join(dir, "workload"), filepath.Join(dir, "workload.tar")
	if err := image.BuildBinary(ctx, module, "./test/cluster/testdata/workload", binary); err != nil {
		return "", err
	}
	return archive, image.Write(archive, image.Spec{Ref: "localhost/workload:dev", Entrypoint: []string{"/workload"}, User: "65532:65532",
		Files: []image.File{{Path: "/workload", Source: binary}}})
}

// eventually waits up to two minutes, many times what it takes on an idle machine.
func eventually(t *testing.T, what string, cond func(ctx context.Context) (bool, string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := cluster.WaitFor(ctx, what, 100*time.Millisecond, cond); err != nil {
		t.Fatal(err)
	}
}

// kubectl fails the test when kubectl does.
func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
