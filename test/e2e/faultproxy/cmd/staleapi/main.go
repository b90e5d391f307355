// SPDX-License-Identifier: Apache-2.0

// Command staleapi stands between one Pod's container and the API server, as a container of that Pod, and answers what it is told to with what it answered before: an API
// server, or a cache before it, that is behind. SIGUSR1 begins that, SIGUSR2 ends it. For tests.
//
//	staleapi -listen 0.0.0.0:8099 -kubeconfig /mnt/shared/staleapi.kubeconfig scylladbstatusreports ...
//
// The arguments are the resources, by their plural names, of which it answers old things. Watches of them say nothing meanwhile. It uses the Pod's ServiceAccount.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "staleapi:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "0.0.0.0:8099", "address to serve at")
	config := flag.String("kubeconfig", "", "file to write a kubeconfig to by which it is used")
	flag.Parse()
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return fmt.Errorf("make a transport to the API server: %w", err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return err
	}
	s := &server{resources: flag.Args(), kept: map[string]answer{}, turned: make(chan struct{})}
	s.forward = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1, ModifyResponse: s.keep}
	_, port, _ := strings.Cut(*listen, ":")
	const name = "staleapi"
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{name: {Server: "http://127.0.0.1:" + port}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {}},
		Contexts:  map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	}, *config); err != nil {
		return fmt.Errorf("write %s: %w", *config, err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for sig := range signals {
			s.turn(sig == syscall.SIGUSR1)
		}
	}()
	fmt.Println("serving at", *listen)
	return http.ListenAndServe(*listen, s) //nolint:gosec // of a test, in a Pod of its own
}

type answer struct {
	header http.Header
	body   []byte
}

type server struct {
	resources []string
	forward   *httputil.ReverseProxy

	mu     sync.Mutex
	stale  bool
	turned chan struct{} // closed when stale changes
	kept   map[string]answer
}

func (s *server) turn(stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stale != s.stale {
		s.stale = stale
		close(s.turned)
		s.turned = make(chan struct{})
		fmt.Println("stale:", stale)
	}
}

func (s *server) state() (stale bool, turned <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale, s.turned
}

func (s *server) mine(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.ContainsFunc(strings.Split(r.URL.Path, "/"), func(part string) bool { return slices.Contains(s.resources, part) })
}

func watches(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

// ServeHTTP forwards, or answers what was answered before.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.mine(r) {
		s.forward.ServeHTTP(w, r)
		return
	}
	stale, turned := s.state()
	switch {
	case watches(r) && stale:
		// One that begins now says nothing until all is told again.
		select {
		case <-turned:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case watches(r):
		// One that is open breaks off: what it would say next is new.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-turned:
				cancel()
			case <-ctx.Done():
			}
		}()
		s.forward.ServeHTTP(w, r.WithContext(ctx))
	case stale:
		s.mu.Lock()
		old, ok := s.kept[r.URL.String()]
		s.mu.Unlock()
		if !ok {
			http.Error(w, "nothing was answered before", http.StatusServiceUnavailable)
			return
		}
		fmt.Println("answers what it answered before:", r.URL.Path)
		for name, values := range old.header {
			w.Header()[name] = values
		}
		_, _ = w.Write(old.body)
	default:
		s.forward.ServeHTTP(w, r)
	}
}

// keep remembers what is answered.
func (s *server) keep(res *http.Response) error {
	if !s.mine(res.Request) || watches(res.Request) || res.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	// By the path that its client asked for: the request itself names the API server.
	u := *res.Request.URL
	u.Scheme, u.Host = "", ""
	s.kept[u.String()] = answer{res.Header.Clone(), body}
	return nil
}
