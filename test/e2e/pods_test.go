// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// podsPerCore is how many Pods of simulated ScyllaDB, or processes of a control plane, one core serves without probes and leases that fail.
const podsPerCore = 4

var (
	capacity = int64(podsPerCore * runtime.GOMAXPROCS(0))
	room     = semaphore.NewWeighted(capacity)
	stated   sync.Map // name of a test -> most Pods that it has at a time
)

// pods waits until the machine has room for the most ScyllaDB Pods that a test, with its subtests, has at a time, and takes it until the test's Pods are gone.
// Call it after t.Parallel and before anything is deployed. A test of more Pods than the machine has room for runs alone.
func pods(t *testing.T, most int) {
	t.Helper()
	share, began := min(int64(most), capacity), time.Now()
	if err := room.Acquire(t.Context(), share); err != nil {
		t.Fatalf("wait for room for %d Pods: %v", most, err)
	}
	t.Logf("room for %d Pods after %s", most, time.Since(began).Round(time.Second)) // go test counts that time as the test's
	stated.Store(t.Name(), most)
	t.Cleanup(func() { room.Release(share) })
}

// mostPods is what the test, or the one that it is part of, has stated.
func mostPods(t *testing.T) int {
	t.Helper()
	for name := t.Name(); ; {
		if most, ok := stated.Load(name); ok {
			return most.(int) //nolint:forcetypeassert // stored above
		}
		i := strings.LastIndex(name, "/")
		if i < 0 {
			t.Fatal("state the most ScyllaDB Pods that this test has at a time, before it deploys: pods(t, 4)")
		}
		name = name[:i]
	}
}

// covers names the packages of the product whose behaviour a test proves. Others read it in the source; running, it does nothing.
func covers(t *testing.T, _ ...string) { t.Helper() }

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests wait for room, not for their turn: those of one story wait for each other, and each of them has to have begun.
	if err := flag.Set("test.parallel", "100"); err != nil {
		panic(err)
	}
	code := m.Run()
	if stage.health != nil && !stage.health.report() && !*rehearse { // rehearsals stop the controller in many ways
		fmt.Println("the controller was restarted, and no test has asked for it")
		code = max(code, 1)
	}
	if stage.world != nil {
		if err := stage.world.Cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the test cluster:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}
