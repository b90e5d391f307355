// SPDX-License-Identifier: Apache-2.0

package adopt_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/adopt"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// sim is a cluster of simulated ScyllaDB nodes, with the annotations of their Services.
type sim struct {
	c        *scyllasim.Cluster
	recorded map[string]string
}

func (s *sim) Members(ctx context.Context) ([]*cluster.Member, error) {
	var nodes []adopt.Node
	for i := range 3 {
		row := scylla.NewReader(scylla.NewClient(s.c.Node(i).APIURL(), s.c.Network.Client())).Read(ctx)
		name := fmt.Sprintf("db-%d", i)
		nodes = append(nodes, adopt.Node{Member: name, Recorded: hostid.ID(s.recorded[name]), Joined: s.recorded[name] != "", Said: &row})
	}
	return adopt.Asked(nodes...), nil
}

func (s *sim) Flush(ctx context.Context, member string) error {
	var i int
	if _, err := fmt.Sscanf(member, "db-%d", &i); err != nil {
		return err
	}
	return scylla.NewClient(s.c.Node(i).APIURL(), s.c.Network.Client()).FlushSystemLocal(ctx)
}

func (s *sim) Record(_ context.Context, id adopt.Identity) error {
	s.recorded[id.Member] = string(id.HostID)
	return nil
}

// disk returns the answer of the query container for a node's data directory.
func (s *sim) disk(t *testing.T, i int) (bootstrap.Bootstrapped, string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.c.Node(i).Dir(), "data", "system", "local-*", "*-Data.db"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := rules.ParseVersion("2026.2.0")
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	args := append([]string{"query", "--system-schema", "--keyspace=system", "--table=local", "--output-format=json",
		"--query=SELECT bootstrapped, host_id FROM scylla_sstable.local"}, files...)
	code := scyllasim.SSTableCommand(v, args, func(string) string { return t.TempDir() }, &out, &errOut)
	answer, _ := bootstrap.ParseQuery(out.Bytes(), code)
	return answer, string(bootstrap.ParseHostID(out.Bytes()))
}

// TestB4AdoptionOfSimulatedNodes: before the adoption the disks do not show the nodes as bootstrapped, after it all do, with the recorded host ID;
// and while one node is DOWN nothing is done.
func TestB4AdoptionOfSimulatedNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c, err := scyllasim.StartCluster(ctx, t.TempDir(), 3, scyllasim.Options{Version: "2026.2.0"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s := &sim{c: c, recorded: map[string]string{}}
		for i := range 3 {
			if answer, _ := s.disk(t, i); answer == bootstrap.BootstrappedYes {
				t.Errorf("node %d is flushed before anybody has asked for it: the test proves nothing", i)
			}
		}
		var who []adopt.Identity
		for {
			if who, err = adopt.Run(ctx, s); err == nil {
				break
			}
			if ctx.Err() != nil || !strings.Contains(err.Error(), "not seen UP") && !strings.Contains(err.Error(), "under way") {
				t.Fatal(err) // gossip may not have converged yet
			}
			time.Sleep(100 * time.Millisecond)
		}
		for i, id := range who {
			answer, onDisk := s.disk(t, i)
			if answer != bootstrap.BootstrappedYes || onDisk != string(id.HostID) || s.recorded[id.Member] != c.Node(i).HostID() || onDisk != c.Node(i).HostID() {
				t.Errorf("%s: disk %v %s, recorded %s, runs %s", id.Member, answer, onDisk, s.recorded[id.Member], c.Node(i).HostID())
			}
		}
		c.Node(2).Kill()
		if _, err := adopt.Run(ctx, s); err == nil || !strings.Contains(err.Error(), "db-2 cannot be queried") {
			t.Errorf("with a dead node: %v", err)
		}
	})
}
