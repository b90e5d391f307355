// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// hidden replaces a password in every output.
const hidden = "***"

// Password is a password that no formatting shows. It is a function, because fmt prints the
// unexported fields of a struct without a call of their methods.
type Password struct{ reveal func() string }

// NewPassword creates a password of 26 letters and digits, 130 random bits.
func NewPassword() Password { return PasswordOf(rand.Text()) }

// PasswordOf returns a text as a password.
func PasswordOf(text string) Password { return Password{func() string { return text }} }

// Reveal returns the text. Only the CQL connection and the Secret that a person creates get it.
func (p Password) Reveal() string {
	if p.reveal == nil {
		return ""
	}
	return p.reveal()
}

// String, GoString, Format, MarshalText and MarshalJSON return three stars.
func (p Password) String() string               { return hidden }
func (p Password) GoString() string             { return hidden }
func (p Password) Format(s fmt.State, _ rune)   { _, _ = io.WriteString(s, hidden) }
func (p Password) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (p Password) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// Keys of the Secret.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// Secret is the mounted Secret.
type Secret struct {
	Username string
	Password Password
}

// theDefault is the superuser that ScyllaDB up to 2026.1 creates by itself (auth/common.hh,
// DEFAULT_SUPERUSER_NAME).
const theDefault = "cassandra"

var defaultSecret = Secret{theDefault, PasswordOf(theDefault)}

var limitSecret = bounded.Limit{Bytes: 4 << 10, Cure: "store a shorter username and password in the Secret"}

// ReadSecret reads the mounted Secret. The reason is empty, SecretAbsent if a key is missing, or
// SecretInvalid. No text is trimmed, because the other users of the Secret would then have a
// different password.
func ReadSecret(dir string) (Secret, Reason) { return readSecret(dir, limitSecret.ReadFile) }

// readSecret reads both keys from one folder. For a changed Secret the kubelet creates a new folder
// and turns link ..data to it: two opens through the link could read keys of two Secrets.
func readSecret(dir string, read func(what, name string) ([]byte, error)) (Secret, Reason) {
	const tries = 10
	for range tries {
		link, err := os.Readlink(filepath.Join(dir, "..data"))
		if err != nil {
			link = "." // no mount of the kubelet
		}
		s, reason := readKeys(filepath.Join(dir, link), read)
		if now, err := os.Readlink(filepath.Join(dir, "..data")); err != nil || now == link {
			return s, reason
		}
	}
	return Secret{}, SecretInvalid
}

func readKeys(dir string, read func(what, name string) ([]byte, error)) (Secret, Reason) {
	var texts [2]string
	for i, key := range []string{UsernameKey, PasswordKey} {
		b, err := read("the mounted Secret", filepath.Join(dir, key))
		switch text := string(b); {
		case errors.Is(err, fs.ErrNotExist):
			return Secret{}, SecretAbsent
		case err != nil, text == "", !utf8.ValidString(text), strings.ContainsFunc(text, unicode.IsControl):
			return Secret{}, SecretInvalid
		default:
			texts[i] = text
		}
	}
	return Secret{texts[0], PasswordOf(texts[1])}, ""
}
