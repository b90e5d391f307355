// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	serviceNet = "10.96.0.0/16"
	serviceIP  = "10.96.0.1" // of the Service "kubernetes"
	issuer     = "https://kubernetes.default.svc.cluster.local"
)

// reservation holds a TCP port on loopback against every other process of this machine, without listening on it: the API server binds it as well,
// with --permit-port-sharing. So there is no moment between finding a free port and using it, also not when the API server is killed and started
// again.
type reservation struct {
	fd   int
	port int
}

func reservePort() (*reservation, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &reservation{fd: fd, port: name.(*unix.SockaddrInet4).Port}, nil
}

func (r *reservation) Close() error { return unix.Close(r.fd) }

// server returns the API server's URL as the cluster's own processes reach it.
func (c *Cluster) server() string {
	if len(c.nodes) > 0 {
		return "https://" + routerIP + ":6443"
	}
	return fmt.Sprintf("https://127.0.0.1:%d", c.port)
}

// makeCredentials makes every certificate and kubeconfig, and the clients of this process.
func (c *Cluster) makeCredentials() error {
	a, err := newAuthority(filepath.Join(c.dir, "pki"))
	if err != nil {
		return err
	}
	outside := fmt.Sprintf("https://127.0.0.1:%d", c.port)
	admin, err := a.kubeconfig(c.Kubeconfig(), outside, "kubernetes-admin", "system:masters")
	if err != nil {
		return err
	}
	err = errors.Join(
		a.issueFiles("apiserver", "kube-apiserver", nil, "127.0.0.1", "localhost", "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", serviceIP, routerIP),
		a.issueFiles("kubelet-client", "kube-apiserver-kubelet-client", []string{"system:masters"}))
	users := map[string]string{
		"kube-controller-manager": "system:kube-controller-manager",
		"kube-scheduler":          "system:kube-scheduler",
	}
	if len(c.nodes) > 0 {
		users["kube-proxy"] = "system:kube-proxy"
		users["coredns"] = "system:coredns"
	}
	for name, user := range users {
		_, e := a.kubeconfig(filepath.Join(a.dir, name+".kubeconfig"), c.server(), user)
		err = errors.Join(err, e)
	}
	for _, n := range c.nodes {
		_, e := a.kubeconfig(filepath.Join(a.dir, n.name+".kubeconfig"), c.server(), "system:node:"+n.name, "system:nodes")
		// Without the address among its names the API server refuses the kubelet, and logs and exec fail.
		err = errors.Join(err, e, a.issueFiles(n.name, "system:node:"+n.name, []string{"system:nodes"}, n.name, n.ip, "127.0.0.1"))
	}
	if err != nil {
		return err
	}
	if err := os.Symlink(c.binaries.Kubernetes, c.KubectlPath()); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	c.rest = &rest.Config{Host: outside, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: a.pem, CertData: admin.cert, KeyData: admin.key}}
	quiet := rest.CopyConfig(c.rest)
	quiet.WarningHandler = rest.NoWarnings{}
	if c.client, err = client.NewWithWatch(quiet, client.Options{}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if c.http, err = rest.HTTPClientFor(c.rest); err != nil {
		return fmt.Errorf("make HTTP client: %w", err)
	}
	return nil
}

// describeControlPlane registers the components of the control plane.
func (c *Cluster) describeControlPlane() {
	pki := func(name string) string { return c.in("pki", name) }
	c.add("etcd", "etcd", "--data-dir="+c.in("etcd"), "--socket=etcd.sock")
	apiserver := []string{
		"--etcd-servers=unix://etcd.sock", // relative to the working directory, so that it is short enough
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"), "--kubelet-certificate-authority=" + pki("ca.crt"),
		"--kubelet-client-certificate=" + pki("kubelet-client.crt"), "--kubelet-client-key=" + pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--enable-admission-plugins=" + strings.Join(append([]string{"NodeRestriction"}, c.opts.AdmissionPlugins...), ","),
		"--service-account-issuer=" + issuer, "--service-account-key-file=" + pki("sa.pub"),
		"--service-account-signing-key-file=" + pki("sa.key"),
		"--service-cluster-ip-range=" + serviceNet, "--profiling=false",
	}
	if len(c.nodes) > 0 {
		apiserver = append(apiserver, "--bind-address="+routerIP, "--secure-port=6443", "--advertise-address="+routerIP)
	} else {
		// Loopback is refused as the endpoint of the Service "kubernetes", and no Pod could use it.
		apiserver = append(apiserver, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.port),
			"--permit-port-sharing=true", "--endpoint-reconciler-type=none")
	}
	c.add("kube-apiserver", "kube-apiserver", append(apiserver, c.opts.APIServerFlags...)...)
	c.components["kube-apiserver"].ready = c.waitAPIServer
	kubeconfig := pki("kube-controller-manager.kubeconfig")
	c.add("kube-controller-manager", "kube-controller-manager",
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+pki("sa.key"), "--root-ca-file="+pki("ca.crt"),
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
		"--allocate-node-cidrs=false", "--profiling=false",
		// The default of 20 requests a second delays the first service account by 4 s.
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--node-monitor-period=1s", "--node-monitor-grace-period="+c.opts.NodeMonitorGracePeriod.String())
	c.add("kube-scheduler", "kube-scheduler",
		"--kubeconfig="+pki("kube-scheduler.kubeconfig"), "--bind-address=127.0.0.1", "--secure-port=0",
		"--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000")
	if len(c.nodes) > 0 {
		c.add("coredns", "coredns", "-conf", c.in("Corefile"))
		c.components["coredns"].ready = c.waitDNS
	}
}

// startControlPlane starts its components and returns when they work.
func (c *Cluster) startControlPlane(ctx context.Context, begin time.Time) error {
	if err := c.Component("etcd").Start(ctx); err != nil {
		return err
	}
	if err := c.Component("kube-apiserver").Start(ctx); err != nil {
		return err
	}
	c.step(begin, "API server is ready at %s", c.rest.Host)
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := c.Component(name).Start(ctx); err != nil {
			return err
		}
	}
	err := c.waitRunning(ctx, "the default service account", "kube-controller-manager", func(ctx context.Context) (bool, string, error) {
		return c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
	})
	if err != nil {
		return err
	}
	c.step(begin, "control plane is ready")
	return nil
}

func (c *Cluster) waitAPIServer(ctx context.Context) error {
	return c.waitRunning(ctx, "the API server", "kube-apiserver", func(ctx context.Context) (bool, string, error) {
		return c.get(ctx, "/readyz?verbose")
	})
}

// waitRunning waits for cond and fails at once when the component that has to bring it about has ended.
func (c *Cluster) waitRunning(ctx context.Context, what, component string, cond func(context.Context) (bool, string, error)) error {
	return WaitFor(ctx, what, 30*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		done, state, err := cond(ctx)
		if done {
			return true, state, nil
		}
		if ended := c.Component(component).ended(ctx); ended != nil {
			return false, state, Permanent(ended)
		}
		return false, state, err
	})
}

// get reports whether the API server answers a request with 200, and otherwise its answer in one line.
func (c *Cluster) get(ctx context.Context, path string) (ok bool, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.rest.Host+path, nil)
	if err != nil {
		return false, "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, "", err
	}
	if resp.StatusCode == http.StatusOK {
		return true, "", nil
	}
	var failing []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "[-]") {
			failing = append(failing, strings.TrimSpace(line))
		}
	}
	return false, resp.Status + " " + strings.Join(failing, "; "), nil
}
