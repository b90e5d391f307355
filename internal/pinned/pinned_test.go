// SPDX-License-Identifier: Apache-2.0

package pinned_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/pinned"
)

func serve(t *testing.T, k *pinned.Key) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- pinned.Serve(ctx, l, k, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "https://" + l.Addr().String()
}

func newKey(t *testing.T) *pinned.Key {
	t.Helper()
	k, err := pinned.NewKey("db/demo-rack1-0")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOnlyThePinnedCertificateIsAccepted(t *testing.T) {
	mine, other := newKey(t), newKey(t)
	if !api.IsFingerprint(mine.Fingerprint) || mine.Fingerprint == other.Fingerprint {
		t.Fatalf("fingerprints %q and %q", mine.Fingerprint, other.Fingerprint)
	}
	url := serve(t, mine)
	for name, c := range map[string]struct {
		fingerprint string
		ok          bool
	}{
		"the one that was made":   {mine.Fingerprint, true},
		"that of another process": {other.Fingerprint, false},
		"none":                    {"", false},
	} {
		client := pinned.NewClient(c.fingerprint)
		for range 3 { // by new connections, and by resumed sessions
			resp, err := client.Get(url)
			if c.ok != (err == nil) || !c.ok && !errors.Is(err, pinned.ErrOther) {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil {
				resp.Body.Close()
			}
			client.CloseIdleConnections()
		}
	}
}

func TestNothingOlderThanTLS13(t *testing.T) {
	url := serve(t, newKey(t))
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}}}
	if resp, err := old.Get(url); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.2 is spoken")
	}
}
