// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/faultproxy"
)

// podServer lists Pods and streams nothing, as an API server does when nothing happens. It knows no initial events.
type podServer struct {
	mu    sync.Mutex
	names []string
	lists int
}

func (s *podServer) set(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = names
}

func (s *podServer) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("sendInitialEvents") == "true":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: 422})
	case q.Get("watch") == "true":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lists++
		l := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(100 + s.lists)}}
		for _, n := range s.names {
			l.Items = append(l.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: n, ResourceVersion: "100"}})
		}
		_ = json.NewEncoder(w).Encode(l)
	}
}

// TestAnInformerReadsAgainWhatHasFallenSilent holds an informer's watch open and delivers nothing: what has changed is there all the same.
func TestAnInformerReadsAgainWhatHasFallenSilent(t *testing.T) {
	pods := &podServer{names: []string{"a"}}
	server := httptest.NewServer(pods)
	defer server.Close()
	defer server.CloseClientConnections()
	proxy, err := faultproxy.Start(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	progress := &Progress{Silence: 500 * time.Millisecond, First: 500 * time.Millisecond}
	mapper := NewMapper()
	c, err := cache.New(progress.Config(proxy.Config()), cache.Options{Scheme: NewScheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache did not start")
	}
	has := func(want string) {
		t.Helper()
		var names []string
		if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			var l corev1.PodList
			err := c.List(ctx, &l, client.InNamespace("x"))
			names = nil
			for _, p := range l.Items {
				names = append(names, p.Name)
			}
			return strings.Join(names, " ") == want, err
		}); err != nil {
			t.Fatalf("the cache has %q, want %q: %v", names, want, err)
		}
	}
	has("a")
	if err := progress.Check(); err != nil {
		t.Error(err)
	}
	pods.set("b")
	has("b")

	// A list that is never answered is given up and asked for again.
	remove := proxy.Add(faultproxy.Fault{Lists: true, Hold: true})
	before := pods.listed()
	pods.set("c")
	hits := proxy.Hits()
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		return proxy.Hits() >= hits+2, nil
	}); err != nil {
		t.Fatalf("a list that is not answered is waited for for ever: %v", err)
	}
	if pods.listed() != before {
		t.Error("nothing is held")
	}
	progress.mu.Lock()
	for what := range progress.last {
		progress.last[what] = time.Now().Add(-2 * informerBackoff)
	}
	progress.mu.Unlock()
	if err := progress.Check(); err == nil || !strings.Contains(err.Error(), "/api/v1/pods") {
		t.Errorf("a cache that has heard nothing: %v", err)
	}
	remove()
	has("c")
	if err := progress.Check(); err != nil {
		t.Error(err)
	}
}
