// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// Where things are inside the cluster's namespaces, whatever the host calls them.
const (
	insideState = "/run/kubectl-scylla/state"
	insideBin   = "/run/kubectl-scylla/bin"
)

// Addresses. They exist only inside the cluster's network namespaces, so every cluster has the same.
const (
	routerIP   = "10.200.0.1" // control plane and DNS; the bridge that connects all Kubernetes nodes
	nodeNet    = "10.200.0."
	firstNode  = 10 // node1 is .11
	podNet     = "10.244."
	maxNodes   = 100
	pauseImage = "localhost/pause:dev"
)

// node is one Kubernetes node: a server in mount, pid and network namespaces of its own with kubelet, containerd and
// kube-proxy in it.
type node struct {
	c       *Cluster
	index   int // 1-based
	name    string
	ip      string
	control *supervisor.Client

	mu      sync.Mutex
	starts  int  // how often it was booted
	powered bool // booted and not killed
}

// StartNodes starts a whole Kubernetes with real nodes. It needs root on Linux and the programs that
// MissingPrerequisites looks for, and returns after about 5 s, when every Kubernetes node is Ready and DNS answers.
// Nothing of it is visible outside its namespaces but one port on loopback, to the API server. The cluster ends with
// Stop, or with the calling process, however that ends.
func StartNodes(ctx context.Context, opts Options) (*Cluster, error) {
	if missing := MissingPrerequisites(); len(missing) > 0 {
		return nil, fmt.Errorf("start cluster with Kubernetes nodes: missing here: %s; "+
			"test/cluster/install-prerequisites.sh installs the Debian packages", strings.Join(missing, "; "))
	}
	opts.Nodes = cmp.Or(opts.Nodes, 3)
	if opts.Nodes < 1 || opts.Nodes > maxNodes {
		return nil, fmt.Errorf("start cluster with Kubernetes nodes: Nodes is %d, must be 1 to %d", opts.Nodes, maxNodes)
	}
	return start(ctx, opts)
}

func newNode(c *Cluster, index int) *node {
	n := &node{c: c, index: index, name: fmt.Sprintf("node%d", index), ip: fmt.Sprintf("%s%d", nodeNet, firstNode+index)}
	n.control = supervisor.NewClient(c.handle, n.name+".sock")
	return n
}

func (n *node) podCIDR() string { return fmt.Sprintf("%s%d.0/24", podNet, n.index) }

// kubernetes returns the path of the multi-call binary as the cluster's processes see it.
func (c *Cluster) kubernetes() string {
	if len(c.nodes) > 0 {
		return filepath.Join(insideBin, filepath.Base(c.binaries.Kubernetes))
	}
	return c.binaries.Kubernetes
}

// innerConfig is that of the server in the cluster's outer namespaces.
func (c *Cluster) innerConfig() *supervisor.Config {
	return &supervisor.Config{
		Dir: insideState, Socket: "cluster.sock", Forward: routerIP + ":6443",
		Binds:   []supervisor.Bind{{From: c.dir, To: insideState}, {From: filepath.Dir(c.binaries.Kubernetes), To: insideBin}},
		Sysctls: map[string]string{"net/ipv4/ip_forward": "1"},
	}
}

// makeNetwork makes the bridge that is the cluster's network, and the routes to the pods.
func (c *Cluster) makeNetwork(ctx context.Context) error {
	batch := []string{
		"link set lo up",
		"link add br0 type bridge",
		"addr add " + routerIP + "/24 dev br0",
		"link set br0 up",
	}
	for _, n := range c.nodes {
		batch = append(batch, fmt.Sprintf("route add %s via %s", n.podCIDR(), n.ip))
	}
	if err := runIP(ctx, c.control, batch); err != nil {
		return fmt.Errorf("make the cluster's network: %w", err)
	}
	return nil
}

func runIP(ctx context.Context, control *supervisor.Client, batch []string) error {
	_, err := control.Run(ctx, supervisor.Command{Argv: []string{"ip", "-batch", "-"}, Stdin: []byte(strings.Join(batch, "\n") + "\n")})
	return err
}

// bootNodes boots all Kubernetes nodes at once, up to a running containerd with all images.
func (c *Cluster) bootNodes(ctx context.Context) <-chan error {
	booted := make(chan error, 1)
	if len(c.nodes) == 0 {
		booted <- nil
		return booted
	}
	go func() {
		err := c.prepareImages()
		if err == nil {
			err = c.eachNode(func(n *node) error {
				return errors.Join(n.writeFiles(), n.boot(ctx))
			})
		}
		booted <- err
	}()
	return booted
}

func (c *Cluster) eachNode(do func(*node) error) error {
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = do(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// prepareImages puts the pause image and those of the options where the nodes can read them.
func (c *Cluster) prepareImages() error {
	pause := filepath.Join(c.dir, "images", "pause.tar")
	err := image.Write(pause, image.Spec{Ref: pauseImage, Entrypoint: []string{"/pause"}, User: "65535:65535",
		Files: []image.File{{Path: "/pause", Source: c.binaries.Pause}}})
	if err != nil {
		return err
	}
	c.images = append(c.images, "images/pause.tar")
	for _, path := range c.opts.Images {
		if _, err := c.takeImage(path); err != nil {
			return err
		}
	}
	return nil
}

// takeImage copies an archive into the state directory, because the namespaces do not show the host's /tmp.
func (c *Cluster) takeImage(path string) (string, error) {
	src, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("load image: %w", err)
	}
	defer src.Close()
	c.imagesMu.Lock()
	defer c.imagesMu.Unlock()
	name := fmt.Sprintf("images/%d.tar", len(c.images))
	dst, err := os.Create(filepath.Join(c.dir, name))
	if err != nil {
		return "", fmt.Errorf("load image: %w", err)
	}
	_, err = io.Copy(dst, src)
	if err := errors.Join(err, dst.Close()); err != nil {
		return "", fmt.Errorf("load image %s: %w", path, err)
	}
	c.images = append(c.images, name)
	return name, nil
}

// LoadImage loads an image archive into every Kubernetes node, also into those that are down, once they start. A
// former image of the same name stays with the containers that run it.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	if len(c.nodes) == 0 {
		return errors.New("load image: the cluster has no Kubernetes nodes")
	}
	name, err := c.takeImage(archive)
	if err != nil {
		return err
	}
	return c.eachNode(func(n *node) error {
		if !n.up() {
			return nil
		}
		return n.load(ctx, name)
	})
}

func (n *node) up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.powered
}

func (n *node) in(elem ...string) string {
	return n.c.in(append([]string{"nodes", n.name}, elem...)...)
}

// writeFiles writes the node's configuration files and makes its directories.
func (n *node) writeFiles() error {
	dir := filepath.Join(n.c.dir, "nodes", n.name)
	for _, sub := range []string{"cni", "volumes", "podlogs", "kubelet", "volumeplugins"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return fmt.Errorf("prepare %s: %w", n.name, err)
		}
	}
	type object = map[string]any
	pki := func(name string) string { return n.c.in("pki", name) }
	// ptp, not bridge: with routes between pods all their traffic passes the node's packet filter, so that Services
	// work between two pods of one node without br_netfilter, which not every kernel has.
	cni := object{"cniVersion": "1.0.0", "name": "pods", "plugins": []object{
		{"type": "ptp", "ipMasq": false, "ipam": object{"type": "host-local", "dataDir": n.in("ipam"),
			"ranges": [][]object{{{"subnet": n.podCIDR()}}}, "routes": []object{{"dst": "0.0.0.0/0"}}}},
		{"type": "portmap", "capabilities": object{"portMappings": true}, "snat": true},
	}}
	grace := n.c.opts.NodeMonitorGracePeriod
	kubelet := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.ip,
		"authentication": object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": true},
			"x509": object{"clientCAFile": pki("ca.crt")}},
		"authorization": object{"mode": "Webhook"},
		"tlsCertFile":   pki(n.name + ".crt"), "tlsPrivateKeyFile": pki(n.name + ".key"),
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"cgroupDriver":             "cgroupfs", "cgroupRoot": "/" + supervisor.Cgroup(n.c.owner) + "/" + n.name,
		"failCgroupV1": false, "failSwapOn": false,
		"clusterDomain": "cluster.local", "clusterDNS": []string{routerIP}, "resolvConf": "",
		"makeIPTablesUtilChains": false,
		// Turned off it breaks the kubelet's view of its file systems, and with it eviction and stats.
		"localStorageCapacityIsolation": true,
		"serializeImagePulls":           false,
		// Images come from files: one that is collected as garbage could not be pulled again.
		"imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
		"evictionHard": object{"memory.available": "64Mi"},
		"maxPods":      250, "kubeAPIQPS": 200, "kubeAPIBurst": 400, "eventRecordQPS": 0,
		// The lease is renewed four times in its duration, so a healthy node is never close to the grace period.
		"nodeLeaseDurationSeconds": max(1, int(grace.Seconds())*4/5), "nodeStatusUpdateFrequency": (grace / 5).String(),
		"syncFrequency": "10s", "volumePluginDir": n.in("volumeplugins"), "podLogsDir": n.in("podlogs"),
	}
	proxy := object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
		"clientConnection": object{"kubeconfig": pki("kube-proxy.kubeconfig")}, "clusterCIDR": podNet + "0.0/16",
		// These limits are the machine's, not the network namespace's.
		"conntrack":        object{"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
		"hostnameOverride": n.name, "metricsBindAddress": "127.0.0.1:10249", "healthzBindAddress": "127.0.0.1:10256",
		"nodePortAddresses": []string{"127.0.0.1/32"},
	}
	err := os.WriteFile(filepath.Join(dir, "containerd.toml"), []byte(n.containerdConfig()), 0o644)
	for name, content := range map[string]object{"cni/10-pods.conflist": cni, "kubelet.yaml": kubelet, "kube-proxy.yaml": proxy} {
		text, e := json.MarshalIndent(content, "", "  ") // JSON is YAML
		err = errors.Join(err, e, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", n.name, err)
	}
	return nil
}

const containerdSocket = "/run/containerd/containerd.sock"

func (n *node) containerdConfig() string {
	// restrict_oom_score_adj: without CAP_SYS_RESOURCE, as root in many containers, every sandbox would fail.
	return fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  disable_apparmor = true
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, n.in("containerd"), containerdSocket, pauseImage, cniDir(), n.in("cni"))
}

// boot powers the node on: namespaces, network, containerd with all images.
func (n *node) boot(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.powered {
		return fmt.Errorf("boot %s: it runs already", n.name)
	}
	n.starts++
	if n.starts > 1 {
		if err := supervisor.RenewCgroup(n.c.owner, n.name); err != nil {
			return fmt.Errorf("boot %s: %w", n.name, err)
		}
	}
	config := &supervisor.Config{
		Dir: insideState, Socket: n.name + ".sock",
		Binds:   []supervisor.Bind{{From: insideState, To: insideState}, {From: insideBin, To: insideBin}},
		Sysctls: map[string]string{"net/ipv4/ip_forward": "1"},
		// What the kubelet wants to set for the whole machine (and kube-proxy would not find writable).
		Pretended: map[string]string{
			"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
			"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
		},
		Scratch: []string{n.in("containerd")},
	}
	status, err := n.c.control.Start(ctx, supervisor.Process{Name: n.name, Server: config, Log: "logs/" + n.name + ".log"})
	if err != nil {
		return fmt.Errorf("boot %s: %w", n.name, err)
	}
	n.powered = true
	err = WaitFor(ctx, "the supervisor of "+n.name, 5*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		if s, err := n.c.control.Status(ctx, n.name); err == nil && !s.Running {
			return false, "", Permanent(fmt.Errorf("it ended: %s", s.Exit))
		}
		err := n.control.Ping(ctx)
		return err == nil, "", err
	})
	if err == nil {
		err = n.connect(ctx, status.PID)
	}
	if err != nil {
		return fmt.Errorf("boot %s: %w", n.name, err)
	}
	if err := n.c.Component(n.name + "/containerd").Start(ctx); err != nil {
		return err
	}
	n.c.imagesMu.Lock()
	images := slices.Clone(n.c.images)
	n.c.imagesMu.Unlock()
	for _, name := range images {
		if err := n.load(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// connect plugs the node into the cluster's bridge. pid is the node's server as the cluster's server sees it.
func (n *node) connect(ctx context.Context, pid int) error {
	// The name on the bridge changes with each boot, because the kernel removes the former interface some time after
	// the node has died; the hardware address does not, because neighbours remember it for a while.
	port := fmt.Sprintf("n%d-%d", n.index, n.starts)
	err := runIP(ctx, n.c.control, []string{
		fmt.Sprintf("link add %s type veth peer name eth0 address 02:00:0a:c8:00:%02x netns %d", port, firstNode+n.index, pid),
		fmt.Sprintf("link set %s master br0 up", port),
	})
	if err != nil {
		return fmt.Errorf("connect to the bridge: %w", err)
	}
	batch := []string{"link set lo up", "addr add " + n.ip + "/24 dev eth0", "link set eth0 up", "route add default via " + routerIP}
	for _, peer := range n.c.nodes {
		if peer != n {
			batch = append(batch, fmt.Sprintf("route add %s via %s", peer.podCIDR(), peer.ip))
		}
	}
	if err := runIP(ctx, n.control, batch); err != nil {
		return fmt.Errorf("set addresses: %w", err)
	}
	return nil
}

// load imports an archive and waits until the CRI plugin knows it, which it learns a moment later: a pod that starts
// in between with imagePullPolicy Never would be set back by seconds.
func (n *node) load(ctx context.Context, name string) error {
	info, err := image.Read(filepath.Join(n.c.dir, name))
	if err != nil {
		return err
	}
	if _, err := n.ctr(ctx, "images", "import", "--digests=false", n.c.in(name)); err != nil {
		return fmt.Errorf("load image %s: %w", info.Ref, err)
	}
	return WaitFor(ctx, "image "+info.Ref+" on "+n.name, 20*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		out, err := n.ctr(ctx, "images", "ls", "name=="+info.Ref)
		return strings.Contains(out, "io.cri-containerd.image=managed"), out, err
	})
}

// ctr runs containerd's own client in the node.
func (n *node) ctr(ctx context.Context, args ...string) (string, error) {
	out, err := n.control.Run(ctx, supervisor.Command{Argv: append([]string{"ctr", "-a", containerdSocket, "-n", "k8s.io"}, args...)})
	return string(out), err
}

// startKubelets starts what needs the API server on all nodes and waits until they are Ready.
func (c *Cluster) startKubelets(ctx context.Context) error {
	return c.eachNode(func(n *node) error { return n.join(ctx) })
}

func (n *node) join(ctx context.Context) error {
	since := time.Now().Truncate(time.Second)
	for _, name := range []string{"kubelet", "kube-proxy"} {
		if err := n.c.Component(n.name + "/" + name).Start(ctx); err != nil {
			return err
		}
	}
	return n.waitReady(ctx, since)
}

// KillNode cuts the power of Kubernetes node i (1 is node1): its kubelet, runtime and pods die at once and its
// addresses are gone from the network. Its disk stays.
func (c *Cluster) KillNode(i int) error {
	n, err := c.node(i)
	if err != nil {
		return fmt.Errorf("kill Kubernetes node: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.powered {
		return fmt.Errorf("kill Kubernetes node: %s is down already", n.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if err := c.control.Signal(ctx, n.name, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill Kubernetes node %s: %w", n.name, err)
	}
	n.powered = false
	n.control.Close()
	return nil
}

// StartNode boots Kubernetes node i again after KillNode and waits until it is Ready. Its pods start again with the
// same volumes.
func (c *Cluster) StartNode(ctx context.Context, i int) error {
	n, err := c.node(i)
	if err != nil {
		return fmt.Errorf("start Kubernetes node: %w", err)
	}
	if err := n.boot(ctx); err != nil {
		return err
	}
	return n.join(ctx)
}

func (c *Cluster) node(i int) (*node, error) {
	if i < 1 || i > len(c.nodes) {
		return nil, fmt.Errorf("there is no node %d; the cluster has %d", i, len(c.nodes))
	}
	return c.nodes[i-1], nil
}

// describe registers the node's components.
func (n *node) describe() {
	zone := fmt.Sprintf("rack%d", (n.index-1)%3+1)
	for name, argv := range map[string][]string{
		"containerd": {"containerd", "--config", n.in("containerd.toml")},
		"kubelet": {n.c.kubernetes(), "kubelet", "--config=" + n.in("kubelet.yaml"), "--kubeconfig=" + n.c.in("pki", n.name+".kubeconfig"),
			"--hostname-override=" + n.name, "--node-ip=" + n.ip, "--root-dir=" + n.in("kubelet"), "--cert-dir=" + n.in("kubelet", "pki"),
			"--node-labels=topology.kubernetes.io/region=dc1,topology.kubernetes.io/zone=" + zone, "--v=2"},
		"kube-proxy": {n.c.kubernetes(), "kube-proxy", "--config=" + n.in("kube-proxy.yaml")},
	} {
		full := n.name + "/" + name
		p := &Component{
			name:    full,
			control: func() *supervisor.Client { return n.control },
			process: supervisor.Process{Name: name, Argv: argv, Env: n.c.environment(), Log: "logs/" + n.name + "-" + name + ".log"},
		}
		if name == "containerd" {
			p.ready = func(ctx context.Context) error {
				return WaitFor(ctx, full, 20*time.Millisecond, func(ctx context.Context) (bool, string, error) {
					if ended := p.ended(ctx); ended != nil {
						return false, "", Permanent(ended)
					}
					_, err := n.ctr(ctx, "version")
					return err == nil, "", err
				})
			}
		}
		n.c.components[full] = p
	}
}
