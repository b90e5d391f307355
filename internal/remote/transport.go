// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// FlagAllowUnsafe is the controller's flag that sets Config.AllowUnsafe.
const FlagAllowUnsafe = "allow-unsafe-remotes"

// answer limits one answer of a remote, after decompression. A report is an object in etcd, which
// stores at most 1.5 MiB.
var answer = bounded.Limit{Bytes: 2 << 20}

// maxValues limits the commas of one answer. Each adds at most one value, and an empty object of
// three bytes takes hundreds in memory. A report of 1.5 MiB has at most 50,000.
const maxValues = 1 << 16

// maxReports limits the reports of one remote. Each is an answer of its own.
const maxReports = 32

func (c Config) refused(what string) error {
	return c.KeyFault("refused unless the controller has --" + FlagAllowUnsafe + ": " + what)
}

// unsafeIn returns what in a kubeconfig's cluster would let another server answer for the remote,
// or lead the controller to the services of its own Kubernetes node; empty if nothing does.
func unsafeIn(cluster *clientcmdapi.Cluster) string {
	var found []string
	if cluster.InsecureSkipTLSVerify {
		found = append(found, "insecure-skip-tls-verify")
	}
	u, err := url.Parse(cluster.Server)
	if err != nil || u.Scheme != "https" {
		found = append(found, "a server that does not begin with https://")
	}
	if err == nil {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && local(ip) {
			found = append(found, "a server with a link-local address")
		}
	}
	if cluster.ProxyURL != "" {
		found = append(found, "proxy-url")
	}
	return strings.Join(found, ", ")
}

// metadata is the address of AWS's instance metadata over IPv6, which is not link-local.
var metadata = netip.MustParseAddr("fd00:ec2::254")

// nat64 is the prefix by which a gateway reaches the IPv4 address in the last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// local reports whether an address is link-local: services of a Kubernetes node or of its cloud,
// such as instance metadata with credentials.
func local(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip == metadata
}

// restrict limits what the remote's API server can make a client do: connect elsewhere, or use much
// memory.
func (c Config) restrict(cfg *rest.Config) {
	// The server's warnings would be written to the log.
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	if !c.AllowUnsafe {
		cfg.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
			Control: func(_, address string, _ syscall.RawConn) error { // after the resolution of names
				if at, err := netip.ParseAddrPort(address); err != nil || local(at.Addr()) {
					return c.refused("a server with a link-local address")
				}
				return nil
			}}).DialContext
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next, c} })
}

// transport restricts answers. It is below the transports that add credentials, so that a redirect
// is refused before these send the token to another server.
type transport struct {
	next http.RoundTripper
	c    Config
}

// RoundTrip returns an answer that is read within the limits.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.Header.Get("Location") != "" && resp.StatusCode/100 == 3 && !t.c.AllowUnsafe {
		_ = resp.Body.Close()
		return nil, t.c.refused("a server that redirects")
	}
	// client-go decodes what the server chooses. In YAML, CBOR or protobuf a comma is no measure.
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		resp.Header.Set("Content-Type", "text/plain")
	}
	resp.Body = &body{Closer: resp.Body, limited: answer.Reader(resp.Body, what), left: maxValues}
	return resp, nil
}

// WrappedRoundTripper lets client-go close idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

const what = "an answer of its API server"

type body struct {
	io.Closer
	limited io.Reader
	left    int
}

// Read returns a *bounded.TooLargeError beyond the limits.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.limited.Read(p)
	if b.left -= bytes.Count(p[:n], []byte{','}); b.left < 0 {
		return 0, &bounded.TooLargeError{What: what, Limit: fmt.Sprintf("%d values", maxValues)}
	}
	return n, err
}

// Refusal returns the error of this package in err, nil if there is none. Its text is constant and
// repeats nothing of the remote.
func Refusal(err error) error {
	if secret, ok := errors.AsType[*SecretError](err); ok {
		return secret
	}
	if large, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		return large
	}
	return nil
}
