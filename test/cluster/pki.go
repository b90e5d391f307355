// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certLife is long enough for a cluster that stays running for weeks, and short enough to be worthless later.
const certLife = 30 * 24 * time.Hour

// authority issues the throw-away certificates of one cluster into a directory.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    []byte
	serial int64
}

// pair is a certificate with its key, both in PEM.
type pair struct{ cert, key []byte }

// newAuthority makes ca.crt, ca.key, and sa.key with sa.pub, which sign the tokens of service accounts.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test-cluster-ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	a := &authority{dir: dir, cert: cert, key: key, serial: 1,
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	caKey, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	tokenKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	tokenPEM, err := keyPEM(tokenKey)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(tokenKey.Public())
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	return a, errors.Join(
		a.write("ca.crt", a.pem), a.write("ca.key", caKey), a.write("sa.key", tokenPEM),
		a.write("sa.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func (a *authority) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(a.dir, name), content, 0o600); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	return nil
}

// issue makes a certificate for client and server use; names are DNS names or IP addresses.
func (a *authority) issue(user string, groups []string, names ...string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make certificate of %s: %w", user, err)
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("make certificate of %s: %w", user, err)
	}
	text, err := keyPEM(key)
	return pair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: text}, err
}

// issueFiles makes a certificate in name.crt and name.key.
func (a *authority) issueFiles(name, user string, groups []string, names ...string) error {
	p, err := a.issue(user, groups, names...)
	if err != nil {
		return err
	}
	return errors.Join(a.write(name+".crt", p.cert), a.write(name+".key", p.key))
}

// kubeconfig makes the file at path for a user; the certificates are inside it, so that it works from any directory.
func (a *authority) kubeconfig(path, server, user string, groups ...string) (pair, error) {
	p, err := a.issue(user, groups)
	if err != nil {
		return pair{}, err
	}
	type object = map[string]any
	const name = "test-cluster"
	text, err := json.MarshalIndent(object{ // JSON is YAML
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []object{{"name": name, "cluster": object{"server": server, "certificate-authority-data": a.pem}}},
		"users":           []object{{"name": user, "user": object{"client-certificate-data": p.cert, "client-key-data": p.key}}},
		"contexts":        []object{{"name": name, "context": object{"cluster": name, "user": user}}},
		"current-context": name,
	}, "", "  ")
	if err != nil {
		return pair{}, fmt.Errorf("make kubeconfig of %s: %w", user, err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return pair{}, fmt.Errorf("make kubeconfig of %s: %w", user, err)
	}
	return p, nil
}
