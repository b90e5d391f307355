// SPDX-License-Identifier: Apache-2.0

package scylla_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// TestA5WhetherTopologyIsManagedByRaft: a cluster created before 6.0 reports through its upgrade state that it is not, until an administrator upgrades its topology too.
func TestA5WhetherTopologyIsManagedByRaft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c, err := scyllasim.StartCluster(ctx, t.TempDir(), 1, scyllasim.Options{Version: "5.4.9"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		reader := scylla.NewReader(scylla.NewClient(c.Node(0).APIURL(), c.Network.Client()))
		if row := reader.Read(ctx); !row.LegacyTopology {
			t.Errorf("5.4: %+v", row)
		}
		c.Node(0).Stop()
		n, err := c.Start(0, func(o *scyllasim.Options) { o.Version = "6.0.1" })
		if err != nil {
			t.Fatal(err)
		}
		reader = scylla.NewReader(scylla.NewClient(n.APIURL(), c.Network.Client()))
		upgrading := false
		for {
			row := reader.Read(ctx)
			if row.OperationMode == "NORMAL" {
				if !row.LegacyTopology {
					if !upgrading {
						t.Errorf("not upgraded, and managed by Raft: %+v", row)
					}
					break
				}
				code, _, err := n.Request(ctx, "POST", "/storage_service/raft_topology/upgrade")
				upgrading = upgrading || err == nil && code == 200
			}
			if ctx.Err() != nil {
				t.Fatalf("never upgraded: %+v", row)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if row := reader.Read(ctx); row.LegacyTopology {
			t.Errorf("after the upgrade: %+v", row)
		}
	})
}
