// SPDX-License-Identifier: Apache-2.0

package scylla_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// TestC3EveryVersionThatHasACoordinatorSaysWhoItIs: a row carries the leader of group 0 from 6.0 on, and none before, which is no gap either.
func TestC3EveryVersionThatHasACoordinatorSaysWhoItIs(t *testing.T) {
	for version, has := range map[string]bool{
		"5.4.9": false, "6.0.1": true, "6.2.3": true, "2025.1.4": true, "2025.4.0": true, "2026.2.0": true, "2026.4.0-dev": true,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				c, err := scyllasim.StartCluster(ctx, t.TempDir(), 1, scyllasim.Options{Version: version})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				reader := scylla.NewReader(scylla.NewClient(c.Node(0).APIURL(), c.Network.Client()))
				row := reader.Read(ctx)
				for _, gap := range reader.Gaps() {
					if strings.Contains(gap.Error(), "/raft/") {
						t.Error(gap)
					}
				}
				want := ""
				if has {
					want = c.Node(0).HostID()
				}
				if string(row.Coordinator) != want {
					t.Errorf("coordinator %q, want %q", row.Coordinator, want)
				}
				text, err := api.EncodeNodeStatusReport(&row)
				if err != nil {
					t.Fatal(err)
				}
				back, err := api.DecodeNodeStatusReport(text)
				if err != nil || string(back.Coordinator) != want {
					t.Errorf("%+v, %v", back, err)
				}
			})
		})
	}
}

// TestC5TwoFoundersOfOneNameAreTwoClusters: the answers of two nodes of the simulator that each created a cluster, as a member does that lost its disk and has only itself as seed.
func TestC5TwoFoundersOfOneNameAreTwoClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c, err := scyllasim.StartCluster(ctx, t.TempDir(), 1, scyllasim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		own := c.Options(1).ListenAddress
		n, err := c.Add(func(o *scyllasim.Options) { o.Seeds = []string{own} })
		if err != nil {
			t.Fatal(err)
		}
		if err := n.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		var rows []matrix.Row
		for _, n := range []*scyllasim.Node{c.Node(0), n} {
			said := scylla.NewReader(scylla.NewClient(n.APIURL(), c.Network.Client())).Read(ctx)
			row := matrix.FromCells([][]api.ObservedNodeStatusReport{said.ObservedNodes})[0]
			row.Reporter, row.Report = matrix.Ref{HostID: said.HostID}, &said
			if said.Coordinator != said.HostID {
				t.Errorf("coordinator %q of the founder %s", said.Coordinator, said.HostID)
			}
			rows = append(rows, row)
		}
		if split := matrix.New(rows, matrix.Options{}).Split(); len(split) != 2 {
			t.Errorf("split %v of rows %+v", split, rows)
		}
	})
}
