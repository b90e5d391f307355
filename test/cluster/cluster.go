// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// Limits. The usual times are a tenth of them; a machine that does other work can be that much slower.
const (
	readyLimit = 90 * time.Second
	callLimit  = 30 * time.Second
	stopLimit  = 40 * time.Second
)

// Options describe a cluster. The zero value is good.
type Options struct {
	// Nodes is how many Kubernetes nodes StartNodes makes, node1 and up; 0 means 3. Their zones
	// (topology.kubernetes.io/zone) are rack1, rack2, rack3, rack1 and so on, the region is dc1.
	Nodes int
	// Images are archives (package image writes them) loaded into every Kubernetes node before it runs pods.
	Images []string
	// StateDir holds everything the cluster writes. Empty: a temporary directory that is removed with the cluster.
	// One that is given must be empty or absent, and stays.
	StateDir string
	// Log gets a line for each step; nil discards them.
	Log io.Writer
	// APIServerFlags are appended to those of kube-apiserver, so that they win over the cluster's own.
	APIServerFlags []string
	// AdmissionPlugins are enabled besides the default ones and NodeRestriction.
	AdmissionPlugins []string
	// NodeMonitorGracePeriod is how long a Kubernetes node may be silent until it is NotReady. Kubernetes' default is
	// 50 s; 0 means 10 s here, because tests wait for it. Not below 5 s: a busy machine would lose healthy nodes.
	NodeMonitorGracePeriod time.Duration
}

// Cluster is a running Kubernetes. Its methods may be called at the same time.
type Cluster struct {
	opts     Options
	binaries build.Binaries
	dir      string   // state directory on the host
	handle   *os.File // dir, held open for the control sockets
	base     string   // dir as the cluster's processes see it
	nodes    []*node

	keeper     *exec.Cmd
	keeperDone chan struct{} // closed when the keeper has ended
	lifeline   *os.File
	owner      string // the keeper, in the form that control groups are named after
	control    *supervisor.Client
	held       []io.Closer // reserved ports and listeners

	port       int // of the API server on the host's loopback
	rest       *rest.Config
	http       *http.Client
	client     client.WithWatch
	components map[string]*Component

	background context.Context // ends with Stop
	stopping   context.CancelFunc
	tasks      sync.WaitGroup
	stopOnce   sync.Once
	stopErr    error

	imagesMu sync.Mutex
	images   []string // archives below the state directory, for nodes that start later
}

// StartControlPlane starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, as the
// calling user. There are no Kubernetes nodes: pods of a StatefulSet are made and stay Pending. It returns after about
// 3 s, when the default service account exists. The cluster ends with Stop, or with the calling process.
func StartControlPlane(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Nodes != 0 || len(opts.Images) != 0 {
		return nil, errors.New("start control plane: it has no Kubernetes nodes and no images; use StartNodes")
	}
	return start(ctx, opts)
}

func start(ctx context.Context, opts Options) (c *Cluster, err error) {
	opts.Log = cmp.Or[io.Writer](opts.Log, io.Discard)
	opts.NodeMonitorGracePeriod = cmp.Or(opts.NodeMonitorGracePeriod, 10*time.Second)
	if opts.NodeMonitorGracePeriod < 5*time.Second {
		return nil, fmt.Errorf("start cluster: NodeMonitorGracePeriod is %s, must be at least 5s", opts.NodeMonitorGracePeriod)
	}
	c = &Cluster{opts: opts, components: map[string]*Component{}, keeperDone: make(chan struct{})}
	if c.binaries, err = build.Kubernetes(ctx, opts.Log); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	supervisor.Sweep(os.TempDir())
	c.background, c.stopping = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not ready within %s", readyLimit))
	defer cancel()
	if err := c.bringUp(ctx); err != nil {
		var detail bytes.Buffer
		c.tails(&detail)
		return nil, errors.Join(fmt.Errorf("start cluster: %w\n%s", err, detail.String()), c.Stop())
	}
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context) error {
	begin := time.Now()
	if err := c.makeStateDir(); err != nil {
		return err
	}
	for i := range c.opts.Nodes {
		c.nodes = append(c.nodes, newNode(c, i+1))
	}
	if c.opts.Nodes > 0 {
		c.base = insideState
	}
	if err := c.openPort(); err != nil {
		return err
	}
	if err := c.makeCredentials(); err != nil {
		return err
	}
	c.describeControlPlane()
	for _, n := range c.nodes {
		n.describe()
	}
	if err := c.startKeeper(ctx); err != nil {
		return err
	}
	c.step(begin, "supervisor runs, state is in %s", c.dir)
	if len(c.nodes) > 0 {
		if err := c.makeNetwork(ctx); err != nil {
			return err
		}
	}
	// The nodes' runtimes load their images while the control plane starts.
	booted := c.bootNodes(ctx)
	err := c.startControlPlane(ctx, begin)
	if err == nil && len(c.nodes) > 0 {
		err = c.startAddons(ctx, begin)
	}
	if err != nil {
		return errors.Join(err, stopWaiting(ctx, booted))
	}
	if len(c.nodes) == 0 {
		return nil
	}
	if err := <-booted; err != nil {
		return err
	}
	if err := c.startKubelets(ctx); err != nil {
		return err
	}
	c.step(begin, "%d Kubernetes nodes are ready", len(c.nodes))
	return nil
}

func stopWaiting(ctx context.Context, booted <-chan error) error {
	select {
	case err := <-booted:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (c *Cluster) step(begin time.Time, format string, args ...any) {
	fmt.Fprintf(c.opts.Log, "%4.1fs %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
}

func (c *Cluster) makeStateDir() error {
	if c.opts.StateDir == "" {
		dir, err := os.MkdirTemp("", supervisor.Prefix+"*")
		if err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
		c.dir = dir
		me, err := supervisor.Owner(os.Getpid())
		if err == nil {
			err = supervisor.WriteOwner(dir, me)
		}
		if err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	} else {
		dir, err := filepath.Abs(c.opts.StateDir)
		if err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return errors.Join(fmt.Errorf("state directory %s is not empty; give a new one", dir), err)
		}
		c.dir = dir
	}
	c.base = c.dir
	for _, sub := range []string{"logs", "images", "nodes"} {
		if err := os.Mkdir(filepath.Join(c.dir, sub), 0o755); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	}
	var err error
	if c.handle, err = os.Open(c.dir); err != nil {
		return fmt.Errorf("open state directory: %w", err)
	}
	return nil
}

// openPort takes the port on the host's loopback where clients reach the API server.
func (c *Cluster) openPort() error {
	if len(c.nodes) > 0 {
		// The listener itself is handed into the cluster's namespaces, where connections are forwarded.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("open port for the API server: %w", err)
		}
		c.held = append(c.held, l)
		c.port = l.Addr().(*net.TCPAddr).Port
		return nil
	}
	r, err := reservePort()
	if err != nil {
		return fmt.Errorf("reserve port for the API server: %w", err)
	}
	c.held = append(c.held, r)
	c.port = r.port
	return nil
}

// Long: a process is started, and each way to fail cleans up.
func (c *Cluster) startKeeper(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(c.dir, "logs", "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start supervisor: %w", err)
	}
	defer log.Close()
	config := supervisor.Config{Dir: c.dir, Socket: "cluster.sock"}
	if c.opts.StateDir == "" {
		config.Remove = c.dir
	}
	var listener *os.File
	if len(c.nodes) > 0 {
		config.Inner = c.innerConfig()
		for _, n := range c.nodes {
			config.Cgroups = append(config.Cgroups, n.name)
		}
		if listener, err = c.held[0].(*net.TCPListener).File(); err != nil {
			return fmt.Errorf("start supervisor: %w", err)
		}
		defer listener.Close()
	}
	cmd, lifeline, err := supervisor.KeeperCommand(c.binaries.Supervisor, config, log, listener)
	if err != nil {
		return fmt.Errorf("start supervisor: %w", err)
	}
	err = cmd.Start()
	_ = cmd.ExtraFiles[0].Close() // the keeper has the read end now
	if err != nil {
		_ = lifeline.Close()
		return fmt.Errorf("start supervisor: %w", err)
	}
	c.keeper, c.lifeline = cmd, lifeline
	if len(c.nodes) > 0 {
		// Only the keeper and its server are to hold the listening socket.
		_ = c.held[0].Close()
		c.held = nil
	}
	owner, ownerErr := supervisor.Owner(cmd.Process.Pid)
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		if ownerErr == nil {
			// After an orderly end there is nothing left to do here; after a kill of the keeper there is.
			supervisor.Cleanup(owner, config.Remove)
		}
		close(c.keeperDone)
	}()
	if ownerErr != nil {
		return fmt.Errorf("start supervisor: %w", ownerErr)
	}
	c.owner = owner
	if c.opts.StateDir == "" {
		if err := supervisor.WriteOwner(c.dir, owner); err != nil {
			return fmt.Errorf("start supervisor: %w", err)
		}
	}
	c.control = supervisor.NewClient(c.handle, config.Socket)
	return WaitFor(ctx, "the supervisor", 5*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		select {
		case <-c.keeperDone:
			return false, "", Permanent(errors.New("it ended; see supervisor.log"))
		default:
		}
		err := c.control.Ping(ctx)
		return err == nil, "", err
	})
}

// Stop ends every process of the cluster and removes what it left; with a StateDir of its own that directory stays.
// It may be called more than once.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		c.stopping()
		c.tasks.Wait()
		if c.keeper != nil {
			_ = c.lifeline.Close()
			select {
			case <-c.keeperDone:
			case <-time.After(stopLimit):
				_ = c.keeper.Process.Kill()
				<-c.keeperDone
				c.stopErr = fmt.Errorf("stop cluster: its supervisor did not end within %s and was killed", stopLimit)
			}
		} else if c.opts.StateDir == "" && c.dir != "" {
			c.stopErr = os.RemoveAll(c.dir)
		}
		for _, h := range c.held {
			_ = h.Close()
		}
		for _, n := range c.nodes {
			n.control.Close()
		}
		if c.control != nil {
			c.control.Close()
		}
		if c.http != nil {
			c.http.CloseIdleConnections()
		}
		if c.handle != nil {
			_ = c.handle.Close()
		}
	})
	return c.stopErr
}

// Done is closed when the cluster has ended, by Stop or because its supervisor died.
func (c *Cluster) Done() <-chan struct{} { return c.keeperDone }

// Kubeconfig returns the path of a kubeconfig of an administrator (group system:masters) that works from the host.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "admin.kubeconfig") }

// RESTConfig returns a new configuration for clients with the rights of Kubeconfig and without a client-side limit of
// their rate.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

// KubectlPath returns the path of a kubectl of the cluster's version. It does not know the cluster: give it
// --kubeconfig or KUBECONFIG.
func (c *Cluster) KubectlPath() string { return filepath.Join(c.dir, "kubectl") }

// KubectlEnviron is the environment in which a program finds that kubectl, and in which it keeps its cache in the cluster's folder.
func (c *Cluster) KubectlEnviron() []string {
	return []string{"PATH=" + c.dir + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECACHEDIR=" + filepath.Join(c.dir, "kubectl-cache")}
}

// Kubectl runs kubectl as the administrator and returns its standard output; the error holds its standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with standard input, as for "apply -f -".
func (c *Cluster) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.KubectlPath(), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"))
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// LogDir returns the directory of the components' logs. It goes with the state directory.
func (c *Cluster) LogDir() string { return filepath.Join(c.dir, "logs") }

// NodeNames returns the names of the Kubernetes nodes: node1, node2 and so on.
func (c *Cluster) NodeNames() []string {
	names := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		names[i] = n.name
	}
	return names
}

// in returns a path below the state directory as the cluster's processes see it.
func (c *Cluster) in(elem ...string) string {
	return filepath.Join(append([]string{c.base}, elem...)...)
}
