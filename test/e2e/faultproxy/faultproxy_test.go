// SPDX-License-Identifier: Apache-2.0

package faultproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers with the request's method and path, and a watch with a line for each word that it is told.
func server(t *testing.T) (p *faultproxy.Proxy, client *http.Client, say chan<- string, seen <-chan string) {
	t.Helper()
	words, paths := make(chan string), make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.Method + " " + r.URL.Path
		if r.URL.Query().Get("watch") != "true" {
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
			return
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case word := <-words:
				fmt.Fprintln(w, word)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	p, err := faultproxy.Start(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		p.Stop()
		s.CloseClientConnections()
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return p, client, words, paths
}

func send(ctx context.Context, c *http.Client, p *faultproxy.Proxy, method, path string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.Config().Host+path, strings.NewReader("body"))
	if err != nil {
		return 0, "", err
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// hit waits for a request that meets a fault.
func hit(t *testing.T, p *faultproxy.Proxy, before int) {
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return p.Hits() > before, nil
	}); err != nil {
		t.Error("no request meets the fault")
	}
}

func TestRequestsAreRejectedDroppedAndHeld(t *testing.T) {
	p, c, _, seen := server(t)
	const pods = "/api/v1/namespaces/x/pods"
	if _, body, err := send(t.Context(), c, p, "GET", pods); err != nil || body != "GET "+pods {
		t.Fatalf("%q, %v", body, err)
	}
	<-seen
	remove := p.Add(faultproxy.Fault{Methods: []string{"PUT"}, Resource: "pods", Reject: 403, Message: "exceeded quota"})
	if code, body, err := send(t.Context(), c, p, "PUT", pods+"/a"); err != nil || code != 403 || !strings.Contains(body, "exceeded quota") {
		t.Errorf("%d %q %v", code, body, err)
	}
	if code, _, err := send(t.Context(), c, p, "GET", pods+"/a"); err != nil || code != 200 {
		t.Errorf("another method: %d %v", code, err)
	}
	<-seen
	if code, _, err := send(t.Context(), c, p, "PUT", "/api/v1/namespaces/pods-are-not/services/a"); err != nil || code != 200 {
		t.Errorf("another resource: %d %v", code, err)
	}
	<-seen
	remove()
	if code, _, err := send(t.Context(), c, p, "PUT", pods+"/a"); err != nil || code != 200 {
		t.Errorf("after the end: %d %v", code, err)
	}
	<-seen
	if p.Hits() != 1 {
		t.Errorf("%d hits", p.Hits())
	}

	remove = p.Add(faultproxy.Fault{Drop: true})
	if _, _, err := send(t.Context(), c, p, "GET", pods); err == nil {
		t.Error("not dropped")
	}
	remove()

	// A held request arrives although its client has gone.
	remove = p.Add(faultproxy.Fault{Methods: []string{"DELETE"}, Hold: true})
	before := p.Hits()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		hit(t, p, before)
	}()
	if _, _, err := send(ctx, c, p, "DELETE", pods+"/a"); err == nil {
		t.Error("not held")
	}
	select {
	case what := <-seen:
		t.Errorf("forwarded %s", what)
	default:
	}
	remove()
	if what := <-seen; what != "DELETE "+pods+"/a" {
		t.Errorf("forwarded %s", what)
	}
}

func TestAWatchStallsAndGoesOn(t *testing.T) {
	p, c, say, _ := server(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Config().Host+"/api/v1/pods?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	say <- "one"
	if got := <-lines; got != "one" {
		t.Errorf("got %q", got)
	}
	remove := p.Add(faultproxy.Fault{Resource: "pods", Watches: true, Stall: true})
	before := p.Hits()
	say <- "two"
	hit(t, p, before)
	select {
	case got := <-lines:
		t.Fatalf("it does not stall: %q", got)
	default:
	}
	remove()
	if got := <-lines; got != "two" {
		t.Errorf("got %q", got)
	}
	p.Stop()
	for range lines {
	}
}

// TestStopEndsAWatchThatWasHeld: its client has gone, and the server says no more.
func TestStopEndsAWatchThatWasHeld(t *testing.T) {
	p, c, _, seen := server(t)
	remove := p.Add(faultproxy.Fault{Watches: true, Hold: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		hit(t, p, 0)
	}()
	if _, _, err := send(ctx, c, p, "GET", "/api/v1/pods?watch=true"); err == nil {
		t.Error("not held")
	}
	remove()
	<-seen
	p.Stop()
}
