// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Cluster runs nodes in this process, on a network in memory, each with an address of its own and ScyllaDB's ports. It is what
// other packages' tests start; see StartCluster.
type Cluster struct {
	Network *Network

	ctx    context.Context
	cancel context.CancelFunc
	dir    string
	base   Options

	mu    sync.Mutex
	nodes []*Node // current node of each index; restarts replace it
	all   []*Node
}

// StartCluster starts size nodes one after another and returns when all are initialized and see each other UP. base gives what they share
// (version, speed, times); Dir is made below dir, addresses are chosen here, the rack of node i is "rack<i mod 3 + 1>" unless base.Rack is
// set. The API of every node is on its own address, port 10000. Close ends everything; so does the end of ctx.
func StartCluster(ctx context.Context, dir string, size int, base Options) (*Cluster, error) {
	c := &Cluster{Network: NewNetwork(), dir: dir, base: base}
	c.ctx, c.cancel = context.WithCancel(ctx)
	var err error
	for range size {
		var n *Node
		if n, err = c.Add(nil); err == nil {
			err = n.WaitReady(ctx)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = c.WaitAllUp(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) Close() {
	c.cancel()
	c.mu.Lock()
	all := slices.Clone(c.all)
	c.mu.Unlock()
	for _, n := range all {
		n.Kill()
	}
}

func address(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

// Options returns the options of the node with this index, whether it exists or not.
func (c *Cluster) Options(i int) Options {
	o := c.base
	o.Network = c.Network
	o.Dir = filepath.Join(c.dir, fmt.Sprintf("node%d", i))
	o.ListenAddress = address(i)
	o.BroadcastAddress, o.RPCAddress, o.APIAddress = "", "", o.ListenAddress
	if o.Rack == "" {
		o.Rack = fmt.Sprintf("rack%d", i%3+1)
	}
	if len(o.Seeds) == 0 {
		o.Seeds = []string{address(0)}
		if i == 0 && len(c.all) > 0 {
			o.Seeds = nil
			for j := range c.nodes {
				o.Seeds = append(o.Seeds, address(j))
			}
		}
	}
	return o
}

// Add starts one more node without waiting. change may adjust its options.
func (c *Cluster) Add(change func(o *Options)) (*Node, error) {
	c.mu.Lock()
	i := len(c.nodes)
	c.nodes = append(c.nodes, nil)
	c.mu.Unlock()
	return c.Start(i, change)
}

// Start starts node i again, on the data that it left, without waiting.
func (c *Cluster) Start(i int, change func(o *Options)) (*Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.Options(i)
	if change != nil {
		change(&o)
	}
	n, err := StartNode(c.ctx, o)
	if err != nil {
		return nil, err
	}
	c.nodes[i] = n
	c.all = append(c.all, n)
	return n, nil
}

func (c *Cluster) Node(i int) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// Wipe deletes node i's data, as a deleted PVC does. The node must have ended.
func (c *Cluster) Wipe(i int) error { return os.RemoveAll(c.Node(i).Dir()) }

// WaitAllUp returns when every running node sees exactly the running nodes live.
func (c *Cluster) WaitAllUp(ctx context.Context) error {
	for {
		why := ""
		var want []string
		c.mu.Lock()
		running := slices.DeleteFunc(slices.Clone(c.nodes), func(n *Node) bool { return n == nil || n.ctx.Err() != nil })
		c.mu.Unlock()
		for _, n := range running {
			want = append(want, n.Address())
		}
		slices.SortFunc(want, compareIP)
		for _, n := range running {
			if n.stage.Load() < 2 || !slices.Equal(n.endpoints(true), want) {
				why = fmt.Sprintf("%s does not see %v live", n.Address(), want)
			}
		}
		if why == "" {
			return nil
		}
		if err := running[0].clock.sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("wait for all nodes to be up: %s: %w", why, err)
		}
	}
}

// Request calls the node's REST API and returns status and body.
func (n *Node) Request(ctx context.Context, method, path string) (int, string, error) {
	return request(ctx, n.o.Network.Client(), method, n.APIURL()+path)
}
