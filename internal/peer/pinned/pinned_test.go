// SPDX-License-Identifier: Apache-2.0

package pinned_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

var nothing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func newKey(t *testing.T) *pinned.Key {
	t.Helper()
	k, err := pinned.NewKey("db/demo-rack1-0")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOnlyThePinnedCertificateIsAccepted(t *testing.T) {
	mine, other := pinnedserver.Start(t, "db/demo-rack1-0", nothing), newKey(t)
	if !api.IsFingerprint(mine.Fingerprint) || mine.Fingerprint == other.Fingerprint {
		t.Fatalf("fingerprints %q and %q", mine.Fingerprint, other.Fingerprint)
	}
	url := "https://" + mine.Address
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
	url := "https://" + pinnedserver.Start(t, "db/demo-rack1-0", nothing).Address
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}}}
	if resp, err := old.Get(url); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.2 is spoken")
	}
}
