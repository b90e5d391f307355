// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
)

// The leader alone answers, at the address and with the certificate in the Lease; a slow client blocks no other.
func TestTheLeaderAloneServesViews(t *testing.T) {
	elected := make(chan struct{})
	of := func(types.NamespacedName) (*viewwire.View, error) {
		return &viewwire.View{StatusReportView: api.StatusReportView{Epoch: 1, Seq: 2, Members: make([]api.StatusReportViewMember, 5000)}}, nil
	}
	s, err := newViewServer("127.0.0.1:0", elected, of, slog.New(slog.DiscardHandler))
	must(t, err)
	if s.NeedLeaderElection() {
		t.Error("a controller that does not lead would not say so")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	address, fingerprint, ok := api.ViewAt(map[string]string{api.AnnotationViewAt: s.at("127.0.0.1")})
	if !ok {
		t.Fatalf("the Lease would say %q", s.at("127.0.0.1"))
	}
	key := types.NamespacedName{Namespace: "db", Name: "demo"}
	c := pinned.NewClient(fingerprint)
	defer c.CloseIdleConnections()
	if _, err := viewwire.Fetch(t.Context(), c, viewwire.Question{Address: address, Path: viewwire.Path, Cluster: key}); !errors.Is(err, viewwire.ErrNotLeading) {
		t.Errorf("before it leads: %v", err)
	}
	close(elected)
	for range 20 { // each asks for half a megabyte and reads nothing
		slow, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		defer slow.Close()
		if _, err := fmt.Fprintf(slow, "GET %s?namespace=db&name=demo HTTP/1.1\r\nHost: x\r\n\r\n", viewwire.Path); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := viewwire.Fetch(t.Context(), c, viewwire.Question{Address: address, Path: viewwire.Path, Cluster: key}); err != nil || v.Epoch != 1 || v.Seq != 2 {
		t.Errorf("%v, %v", v, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhereNoViewsAreServed(t *testing.T) {
	for _, address := range []string{"", "0"} {
		s, err := newViewServer(address, nil, nil, nil)
		if s != nil || err != nil || s.at("10.0.0.1") != "" {
			t.Errorf("%q: %v, %v", address, s, err)
		}
	}
	if _, err := newViewServer("256.0.0.1:1", nil, nil, nil); err == nil || !strings.Contains(err.Error(), "serve views") {
		t.Errorf("%v", err)
	}
	for annotation, want := range map[string]bool{
		"": false, "10.0.0.1:8443": false, "10.0.0.1:8443 abc": false, " " + strings.Repeat("a", 64): false, "10.0.0.1:8443 " + strings.Repeat("a", 64): true,
		"10.0.0.1:8443 " + strings.Repeat("A", 64): false,
	} {
		if _, _, ok := api.ViewAt(map[string]string{api.AnnotationViewAt: annotation}); ok != want {
			t.Errorf("%q: %v", annotation, ok)
		}
	}
}
