// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

const token = "s3cret-t0ken"

// configured is a remote whose Secret was written with these fields of a kubeconfig's cluster.
func configured(t *testing.T, cluster string) remote.Config {
	t.Helper()
	c, err := remote.FromSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: "eu",
			Labels:      map[string]string{api.LabelRemoteKubeconfig: "eu", api.LabelCluster: "demo"},
			Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "demo"}},
		Data: map[string][]byte{api.KeyKubeconfig: []byte(`{"current-context": "x",
			"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
			"users": [{"name": "u", "user": {"token": "` + token + `"}}],
			"clusters": [{"name": "c", "cluster": ` + cluster + `}]}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const flag = "--allow-unsafe-remotes"

// TestAnUnverifiedRemoteIsRefusedByName: a Secret may be written by hand.
func TestAnUnverifiedRemoteIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cluster, want string }{
		"verified":                   {`{"server": "https://eu.example:6443", "certificate-authority-data": "eA=="}`, ""},
		"public authority":           {`{"server": "https://eu.example:6443"}`, ""},
		"private address":            {`{"server": "https://10.0.0.1:6443"}`, ""},
		"upper case":                 {`{"server": "HTTPS://10.0.0.1:6443"}`, ""},
		"not verified":               {`{"server": "https://eu.example", "insecure-skip-tls-verify": true}`, "insecure-skip-tls-verify"},
		"http":                       {`{"server": "http://eu.example"}`, "https://"},
		"no scheme":                  {`{"server": "10.0.0.1:6443"}`, "https://"},
		"host alone":                 {`{"server": "eu.example"}`, "https://"},
		"another scheme":             {`{"server": "ftp://eu.example"}`, "https://"},
		"not a URL":                  {`{"server": "https://[eu"}`, "https://"},
		"a proxy":                    {`{"server": "https://eu.example", "proxy-url": "http://` + token + `:3128"}`, "proxy-url"},
		"a SOCKS proxy":              {`{"server": "https://eu.example", "proxy-url": "socks5://10.0.0.1"}`, "proxy-url"},
		"instance metadata":          {`{"server": "https://169.254.169.254"}`, "link-local"},
		"link-local with a port":     {`{"server": "https://169.254.1.1:6443/"}`, "link-local"},
		"link-local IPv6":            {`{"server": "https://[fe80::1]:6443"}`, "link-local"},
		"link-local IPv6, interface": {`{"server": "https://[fe80::1%25eth0]:6443"}`, "link-local"},
		"IPv4 in IPv6":               {`{"server": "https://[::ffff:169.254.169.254]"}`, "link-local"},
		"IPv4 behind NAT64":          {`{"server": "https://[64:ff9b::a9fe:a9fe]"}`, "link-local"},
		"instance metadata, IPv6":    {`{"server": "https://[fd00:ec2::254]"}`, "link-local"},
		"multicast":                  {`{"server": "https://224.0.0.1"}`, "link-local"},
		"two":                        {`{"server": "http://169.254.169.254"}`, "https://, a server with a link-local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := configured(t, c.cluster)
			_, err := config.RESTConfig()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want == "":
			case err == nil:
				t.Error("accepted")
			case !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), "secret sys/eu"):
				t.Errorf("error %v", err)
			case strings.Contains(err.Error(), token):
				t.Errorf("the error has content of the Secret: %v", err)
			}
			config.AllowUnsafe = true
			if _, err := config.RESTConfig(); err != nil && strings.Contains(err.Error(), flag) {
				t.Errorf("allowed, and refused: %v", err)
			}
		})
	}
}

// server is an API server over TLS, and the cluster of a kubeconfig for it.
func server(t *testing.T, h http.HandlerFunc) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, fmt.Sprintf(`{"server": %q, "certificate-authority-data": %q}`, s.URL, base64.StdEncoding.EncodeToString(ca))
}

func list(t *testing.T, c remote.Config) ([]api.ScyllaDBDatacenterNodesStatusReport, error) {
	t.Helper()
	cl, err := c.Client()
	if err != nil {
		return nil, err
	}
	reports, _, err := c.List(t.Context(), cl)
	return reports, err
}

// TestANameThatLeadsToALinkLocalAddressIsRefused replaces the resolver, so it is not parallel.
func TestANameThatLeadsToALinkLocalAddressIsRefused(t *testing.T) {
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerDNS(theirs, [4]byte{169, 254, 169, 254})
		return ours, nil
	}}
	_, err := list(t, configured(t, `{"server": "https://metadata.eu.example"}`))
	if refusal := remote.Refusal(err); refusal == nil || !strings.Contains(refusal.Error(), "link-local") || !strings.Contains(refusal.Error(), flag) {
		t.Errorf("error %v", err)
	}
}

// answerDNS answers each question over TCP: one address for A, none for others.
func answerDNS(c net.Conn, ip [4]byte) {
	defer c.Close()
	for size := make([]byte, 2); ; {
		if _, err := io.ReadFull(c, size); err != nil {
			return
		}
		m := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(c, m); err != nil {
			return
		}
		end := 12 + bytes.IndexByte(m[12:], 0) + 5
		isA := m[end-3] == 1
		m = append(m[:2:2], append([]byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, m[12:end]...)...)
		if isA {
			m[7] = 1
			m = append(m, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ip[0], ip[1], ip[2], ip[3])
		}
		if _, err := c.Write(append([]byte{byte(len(m) >> 8), byte(len(m))}, m...)); err != nil {
			return
		}
	}
}

// TestARedirectIsRefusedAndTakesNoTokenAlong: client-go adds the token to each request, also to one that another server asked for.
func TestARedirectIsRefusedAndTakesNoTokenAlong(t *testing.T) {
	t.Parallel()
	var reached atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached.Store("reached with " + r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for name, to := range map[string]string{"http": elsewhere.URL, "link-local": "https://169.254.169.254/"} {
			_, cluster := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) })
			_, err := list(t, configured(t, cluster))
			if refusal := remote.Refusal(err); refusal == nil || !strings.Contains(refusal.Error(), "redirects") {
				t.Errorf("%d to %s: %v", code, name, err)
			}
		}
	}
	if r := reached.Load(); r != nil {
		t.Error(r)
	}
}

func jsonAnswer(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") }

const opening = `{"kind":"ScyllaDBDatacenterNodesStatusReportList","apiVersion":"scylla.scylladb.com/v1alpha1","metadata":{"resourceVersion":"7"`

// TestAHugeAnswerIsRefusedInLittleMemory: 300 MB, as text, compressed, as an error, as many small values, as a type or an encoding of the server's choice.
func TestAHugeAnswerIsRefusedInLittleMemory(t *testing.T) {
	const size = 300 << 20
	text := func(w io.Writer, start, piece string) {
		_, _ = io.WriteString(w, start)
		for n, block := 0, strings.Repeat(piece, 1<<20/len(piece)); n < size; n += len(block) {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
	long := `},"items":[{"metadata":{"name":"`
	for name, h := range map[string]http.HandlerFunc{
		"text": func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w); text(w, opening+long, "x") },
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			jsonAnswer(w)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			text(z, opening+long, "x")
			_ = z.Close()
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			jsonAnswer(w)
			w.WriteHeader(http.StatusForbidden)
			text(w, `{"kind":"Status","apiVersion":"v1","message":"`, "x")
		},
		"small values": func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w); text(w, opening+`},"items":[{}`, ",{}") },
		"Pods": func(w http.ResponseWriter, _ *http.Request) {
			jsonAnswer(w)
			text(w, `{"kind":"PodList","apiVersion":"v1","items":[null`, ",null")
		},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Under(t, 96<<20, func(t *testing.T) {
				_, cluster := server(t, h)
				_, err := list(t, configured(t, cluster))
				if refusal := remote.Refusal(err); !bounded.IsTooLarge(refusal) {
					t.Errorf("error %.300v", err)
				}
			})
		})
	}
	// What fits takes little memory too, whatever its type: the container of the controller has 256 MiB.
	for name, c := range map[string]struct{ kind, start, piece string }{
		"the most reports": {"application/json", opening + `},"items":[{}`, ",{}"},
		"the most Pods":    {"application/json", `{"kind":"PodList","apiVersion":"v1","items":[{}`, ",{}"},
		"YAML":             {"application/yaml", "kind: PodList\napiVersion: v1\nitems:\n", "- {}\n"},
		"YAML, an error":   {"application/yaml; charset=utf-8", "kind: PodList\napiVersion: v1\nitems:\n", "- {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Under(t, 128<<20, func(t *testing.T) {
				_, cluster := server(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.kind)
					if strings.HasSuffix(name, "error") {
						w.WriteHeader(http.StatusForbidden)
					}
					_, _ = io.WriteString(w, c.start+strings.Repeat(c.piece, 65_000)+"]}")
				})
				if _, err := list(t, configured(t, cluster)); err != nil && bounded.IsTooLarge(err) {
					t.Error(err)
				}
			})
		})
	}
}

// TestAWatchEndsAtTheLimit: the stream of one watch is one answer.
func TestAWatchEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	_, cluster := server(t, func(w http.ResponseWriter, _ *http.Request) {
		jsonAnswer(w)
		event := `{"type":"MODIFIED","object":{"kind":"ScyllaDBDatacenterNodesStatusReport","apiVersion":"scylla.scylladb.com/v1alpha1","metadata":{"name":"x","annotations":{"a":"` +
			strings.Repeat("x", 1<<20) + `"}}}}` + "\n"
		for {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	})
	c := configured(t, cluster)
	cl, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	w, err := cl.Watch(t.Context(), &api.ScyllaDBDatacenterNodesStatusReportList{}, c.Selection()...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	n := 0
	for range w.ResultChan() {
		n++
	}
	if n > 3 {
		t.Errorf("%d events of 1 MiB", n)
	}
}

// paged answers as an API server does: as many reports as the client wants, and where the next begin.
func paged(t *testing.T, names []string, size int) string {
	t.Helper()
	_, cluster := server(t, func(w http.ResponseWriter, r *http.Request) {
		jsonAnswer(w)
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		if limit == 0 {
			limit = len(names)
		}
		var items []string
		for _, n := range names[min(from, len(names)):min(from+limit, len(names))] {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"a":%q}}}`, n, strings.Repeat("x", size)))
		}
		next := ""
		if from+limit < len(names) {
			next = strconv.Itoa(from + limit)
		}
		_, _ = fmt.Fprintf(w, `%s,"continue":%q},"items":[%s]}`, opening, next, strings.Join(items, ","))
	})
	return cluster
}

// TestReportsThatTogetherExceedTheLimitAreRead: each may have what etcd stores.
func TestReportsThatTogetherExceedTheLimitAreRead(t *testing.T) {
	t.Parallel()
	reports, err := list(t, configured(t, paged(t, []string{"c", "a", "b"}, 3<<19)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range reports {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("reports %v", names)
	}
}

// TestAListWithoutAnEndEnds, and no report at all is no error.
func TestAListWithoutAnEndEnds(t *testing.T) {
	t.Parallel()
	for n, tooLarge := range map[int]bool{0: false, 32: false, 33: true, 1000: true} {
		_, err := list(t, configured(t, paged(t, make([]string, n), 0)))
		if bounded.IsTooLarge(err) != tooLarge || err != nil && !tooLarge {
			t.Errorf("%d reports: %v", n, err)
		}
	}
	_, cluster := server(t, func(w http.ResponseWriter, _ *http.Request) {
		jsonAnswer(w)
		_, _ = io.WriteString(w, opening+`,"continue":"x"},"items":[]}`)
	})
	if _, err := list(t, configured(t, cluster)); !bounded.IsTooLarge(err) {
		t.Errorf("empty pages without end: %v", err)
	}
}

// TestRefusalIsOurOwnTextAlone: the errors of others may quote the remote.
func TestRefusalIsOurOwnTextAlone(t *testing.T) {
	t.Parallel()
	if err := remote.Refusal(errors.New("secret sys/eu: " + token)); err != nil {
		t.Errorf("another's error: %v", err)
	}
	wrapped := fmt.Errorf("%s: %w", token, &bounded.TooLargeError{What: "it", Limit: "2 MiB"})
	if err := remote.Refusal(wrapped); err == nil || err.Error() != "it is larger than 2 MiB" {
		t.Errorf("ours, wrapped: %v", err)
	}
}

// TestAVerifiedKubeconfigIsWritten is what `remote add` stores, and what it refuses to.
func TestAVerifiedKubeconfigIsWritten(t *testing.T) {
	t.Parallel()
	verified := func() *rest.Config {
		return &rest.Config{Host: "https://10.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}
	}
	for name, c := range map[string]struct {
		change func(*rest.Config)
		server string
		want   string // of the error; empty means written
	}{
		"verified":       {},
		"another server": {server: "https://eu.example"},
		"not verified":   {change: func(c *rest.Config) { c.Insecure, c.CAData = true, nil }, want: "no certificate authority"},
		"no authority":   {change: func(c *rest.Config) { c.CAData = nil }, want: "no certificate authority"},
		"http":           {change: func(c *rest.Config) { c.Host = "http://10.0.0.1" }, want: "https://"},
		"server by http": {server: "http://eu.example", want: "https://"},
		"link-local":     {server: "https://169.254.169.254", want: "link-local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := verified()
			if c.change != nil {
				c.change(cfg)
			}
			kubeconfig, err := remote.Kubeconfig(cfg, c.server, "demo", token)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			u := remote.Here(remote.Config{Name: "eu", Namespace: "demo", Cluster: "demo", RemoteNamespace: "far", RemoteCluster: "there"}, "sys", kubeconfig)
			s := &corev1.Secret{}
			s.Namespace, s.Name, s.Labels, s.Annotations = u.GetNamespace(), u.GetName(), u.GetLabels(), u.GetAnnotations()
			s.Data = map[string][]byte{api.KeyKubeconfig: kubeconfig}
			got, err := remote.FromSecret(s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "eu" || got.RemoteNamespace != "far" || got.RemoteCluster != "there" {
				t.Errorf("read back: %+v", got)
			}
			read, err := got.RESTConfig()
			if err != nil || read.BearerToken != token || c.server != "" && read.Host != c.server || read.Insecure {
				t.Errorf("read back: %v, %v", read, err)
			}
		})
	}
}

// TestTheAccountThereHasItsVerbsAlone: nothing else than reports of one namespace.
func TestTheAccountThereHasItsVerbsAlone(t *testing.T) {
	t.Parallel()
	a, b := remote.Account("eu", "12345678-0000"), remote.Account("eu", "87654321-0000")
	if a == b || remote.Account("eu", "x") != "kubectl-scylla-remote-eu-x" {
		t.Errorf("accounts of two controllers: %s, %s", a, b)
	}
	var kinds []string
	for _, u := range remote.There("far", a) {
		kinds = append(kinds, u.GetKind())
		if u.GetNamespace() != "far" || u.GetName() != a {
			t.Errorf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
		}
		if u.GetKind() == "Role" {
			if got := fmt.Sprint(u.Object["rules"]); got != "[map[apiGroups:[scylla.scylladb.com] resources:[scylladbdatacenternodesstatusreports] verbs:[get list watch create update delete]]]" {
				t.Errorf("rules %s", got)
			}
		}
	}
	if !slices.Equal(kinds, []string{"ServiceAccount", "Role", "RoleBinding", "Secret"}) {
		t.Errorf("created in the order %v", kinds)
	}
}
