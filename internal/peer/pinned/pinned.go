// SPDX-License-Identifier: Apache-2.0

// Package pinned serves and requests over TLS without a certificate authority. The server creates a
// key when it starts, and publishes the certificate's fingerprint in an object that only it can
// write. The client accepts that certificate and no other. So the API server is the only root of
// trust. The package must not depend on the content of requests and answers.
package pinned

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// Key is a private key and its certificate. It is only in memory and ends with the process.
type Key struct {
	certificate tls.Certificate
	// Fingerprint is the lower-case hex SHA-256 of the certificate's DER form.
	Fingerprint string
}

// NewKey creates an ECDSA P-256 key. name is the certificate's common name, for display.
func NewKey(name string) (*Key, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	// Clients ignore the dates: they compare no clocks, and the certificate ends with the process.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("create a certificate: %w", err)
	}
	return &Key{certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		Fingerprint: fingerprint(der)}, nil
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

const (
	idleTimeout    = time.Minute
	maxHeaderBytes = 8 << 10
	stopTimeout    = 2 * time.Second
)

// Serve answers on l over TLS until ctx ends, with at most most open connections; it closes l. It
// returns the reason for an earlier end.
func Serve(ctx context.Context, l net.Listener, most bounded.Connections, k *Key, h http.Handler,
	log *slog.Logger) error {
	s := bounded.Server(h)
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{k.certificate}, MinVersion: tls.VersionTLS13}
	// a client that aborts a connection causes a line
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	l = most.Listener(l)
	ended := make(chan error, 1)
	go func() { ended <- s.ServeTLS(l, "", "") }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
	<-ended
	return nil
}

// ErrOther means that another server answers.
var ErrOther = errors.New("the certificate differs from the pinned certificate")

// NewClient returns a client for the server with that fingerprint. It follows no redirect, uses no
// proxy, and keeps one connection. The caller must bound the size and time of what it reads;
// CloseIdleConnections ends the connection.
func NewClient(fingerprint string) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				// Names and authorities are not checked: the pin below is the whole proof, also for
				// resumed sessions.
				InsecureSkipVerify: true,
				VerifyConnection:   func(s tls.ConnectionState) error { return pin(s, fingerprint) },
				MinVersion:         tls.VersionTLS13,
			},
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: idleTimeout / 2,
			MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
			ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func pin(s tls.ConnectionState, want string) error {
	if want == "" || len(s.PeerCertificates) != 1 || fingerprint(s.PeerCertificates[0].Raw) != want {
		return ErrOther
	}
	return nil
}
