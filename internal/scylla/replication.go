// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
)

const (
	// keyspaceTraces contains query traces, which may be lost.
	keyspaceTraces = "system_traces"
	// hasTablets is part of the error for describe_ring of a keyspace with tablets, from 6.0 on.
	hasTablets = "has tablet table. Query describe_ring with the table parameter"
	// maxTables limits the queried tables of a keyspace with tablets: all have the keyspace's
	// replication factor.
	maxTables = 32
)

var (
	// limitRing is the limit for the ranges of a keyspace: 256 per node with vnodes, a few hundred
	// bytes per replica.
	limitRing = bounded.Limit{Bytes: 512 << 20, Items: 1 << 20, ItemBytes: 256 << 10, Cure: oddAnswer}
	// limitTables is the limit for the list of all tables.
	limitTables = bounded.Limit{Bytes: 32 << 20, Items: 1 << 18, ItemBytes: 4 << 10, Cure: oddAnswer}
)

// Replication returns the replica placement of every non-local keyspace except traces: GET
// /storage_service/keyspaces, describe_ring and, for a keyspace with tablets, /column_family. From
// 6.2 on replication=tablets lists the keyspaces with tablets; 6.0 and 6.1 refuse describe_ring for
// them. [code api/storage_service.cc, api/column_family.cc, service/storage_service.cc:3940; the
// part for tablets was not run against a real ScyllaDB]
func (c *Client) Replication(ctx context.Context) ([]maintenance.Keyspace, error) {
	members, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := byAddress(members)
	if err != nil {
		return nil, err
	}
	names, err := c.strings(ctx, "/storage_service/keyspaces?type=non_local_strategy")
	if err != nil {
		return nil, err
	}
	tablets, err := c.strings(ctx, "/storage_service/keyspaces?replication=tablets")
	if err != nil {
		return nil, err
	}
	var tables map[string][]string // by keyspace, read on first use
	var out []maintenance.Keyspace
	for _, name := range names {
		if name == keyspaceTraces {
			continue
		}
		ring := &ringReader{hosts: hosts, seen: map[string]bool{}}
		path := "/storage_service/describe_ring/" + url.PathEscape(name)
		var err error
		byTable := slices.Contains(tablets, name)
		if !byTable {
			err = c.get(ctx, path, ring.read)
			e, ok := errors.AsType[*APIError](err)
			byTable = ok && e.Status == http.StatusInternalServerError && strings.Contains(e.Message, hasTablets)
		}
		if byTable {
			if tables == nil {
				if tables, err = c.tables(ctx); err != nil {
					return nil, err
				}
			}
			err = nil
			for _, table := range tables[name][:min(maxTables, len(tables[name]))] {
				if err = c.get(ctx, path+"?table="+url.QueryEscape(table), ring.read); err != nil {
					break
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("keyspace %s: %w", name, err)
		}
		out = append(out, maintenance.Keyspace{Name: name, Tablets: byTable, Replicas: ring.sets})
	}
	return out, nil
}

// byAddress maps addresses to host IDs. Errors: a member without a host ID or a valid address, or
// two members at one address.
func byAddress(members []Member) (map[netip.Addr]hostid.ID, error) {
	out := make(map[netip.Addr]hostid.ID, len(members))
	for _, m := range members {
		ip, err := netip.ParseAddr(m.Address)
		id := hostid.Known(m.HostID)
		switch {
		case err != nil || id == "":
			return nil, fmt.Errorf("member %q at address %q cannot be found in a ring", m.HostID, m.Address)
		case out[ip.Unmap()] != "" && out[ip.Unmap()] != id:
			return nil, fmt.Errorf("members %s and %s share address %s: their replicas cannot be distinguished",
				out[ip.Unmap()], m.HostID, m.Address)
		}
		out[ip.Unmap()] = id
	}
	return out, nil
}

// ringReader collects the distinct replica sets of ranges.
type ringReader struct {
	hosts map[netip.Addr]hostid.ID
	seen  map[string]bool
	sets  [][]hostid.ID
}

func (r *ringReader) read(b io.Reader) error {
	type span struct {
		Endpoints []string `json:"endpoints"`
	}
	return bounded.Each(limitRing, b, theAnswer, func(i int, s span) error {
		var set []hostid.ID
		for _, text := range s.Endpoints {
			ip, err := netip.ParseAddr(text)
			if err != nil || r.hosts[ip.Unmap()] == "" {
				return fmt.Errorf("range %d has a replica at %q, which is not the address of a member", i, text)
			}
			set = append(set, r.hosts[ip.Unmap()])
		}
		slices.Sort(set)
		if key := hostid.Join(set); !r.seen[key] {
			r.seen[key] = true
			r.sets = append(r.sets, set)
		}
		return nil
	})
}

// tables returns the names of all tables by keyspace.
func (c *Client) tables(ctx context.Context) (map[string][]string, error) {
	type table struct {
		Keyspace string `json:"ks"`
		Name     string `json:"cf"`
	}
	out := map[string][]string{}
	return out, c.get(ctx, "/column_family/", func(b io.Reader) error {
		return bounded.Each(limitTables, b, theAnswer, func(_ int, t table) error {
			out[t.Keyspace] = append(out[t.Keyspace], t.Name)
			return nil
		})
	})
}
