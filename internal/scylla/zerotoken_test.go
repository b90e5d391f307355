// SPDX-License-Identifier: Apache-2.0

package scylla_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// TestB1AZeroTokenNodeSaysThatItHasJoined: on the way in it does not, and once it serves it does, while it owns no token at all.
func TestB1AZeroTokenNodeSaysThatItHasJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c, err := scyllasim.StartCluster(ctx, t.TempDir(), 2, scyllasim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n, err := c.Add(func(o *scyllasim.Options) { o.ZeroToken = true })
		if err != nil {
			t.Fatal(err)
		}
		reader := scylla.NewReader(scylla.NewClient(n.APIURL(), c.Network.Client()))
		for {
			row := reader.Read(ctx)
			says := cluster.SaysJoined(&row)
			if says != nil && *says {
				if row.OperationMode != "NORMAL" || row.OwnsTokens == nil || *row.OwnsTokens {
					t.Errorf("has joined by a row that says mode %s, tokens %v", row.OperationMode, row.OwnsTokens)
				}
				break
			}
			if row.OperationMode == "NORMAL" && row.Error == nil && len(row.ObservedNodes) == 3 {
				t.Fatalf("NORMAL among its members, and has not joined: %+v", row)
			}
			if ctx.Err() != nil {
				t.Fatalf("never joined: %+v", row)
			}
			time.Sleep(50 * time.Millisecond)
		}
		peer := scylla.NewReader(scylla.NewClient(c.Node(0).APIURL(), c.Network.Client())).Read(ctx)
		for _, o := range peer.ObservedNodes {
			if string(o.HostID) == n.HostID() && o.State != "" && o.State != api.NodeStateNormal {
				t.Errorf("its peer has it as %s", o.State)
			}
		}
	})
}
