// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const plain = "Correct-Horse-Battery-Staple-7"

// shown formats a value in every way that a log, an error or a document does.
func shown(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	fmt.Fprintln(&out, v, fmt.Errorf("wrapped: %v", v))
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		if b, err := marshal(v); err == nil {
			out.Write(b)
		}
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("a line", "value", v)
	}
	return out.String()
}

func TestPasswordIsNeverShown(t *testing.T) {
	s := Secret{"app", PasswordOf(plain)}
	type inside struct{ s Secret } // fmt does not call the methods of what an unexported field holds
	type pointer struct{ S *Secret }
	for name, v := range map[string]any{
		"password": s.Password, "pointer": &s.Password, "secret": s, "login": Login{Secret: s}, "input": Input{Secret: s}, "map": map[string]Secret{"a": s}, "list": []Password{s.Password},
		"inside": inside{s}, "pointer inside": pointer{&s}, "empty": Password{},
	} {
		if text := shown(t, v); containsPassword(text, plain) {
			t.Errorf("%s shows the password:\n%s", name, text)
		}
	}
	if !containsPassword(shown(t, struct{ Text string }{plain}), plain) {
		t.Error("the search finds no planted password")
	}
	if s.Password.Reveal() != plain || (Password{}).Reveal() != "" {
		t.Error("Reveal does not return the password")
	}
}

// containsPassword finds a text as it is, in hexadecimal and in decimal bytes.
func containsPassword(text, secret string) bool {
	bytes := []byte(secret)
	forms := []string{secret, fmt.Sprintf("%x", bytes), fmt.Sprintf("%X", bytes), strings.Trim(fmt.Sprintf("%d", bytes), "[]")}
	for _, f := range forms {
		if strings.Contains(text, f) {
			return true
		}
	}
	return false
}

func TestNewPassword(t *testing.T) {
	a, b := NewPassword().Reveal(), NewPassword().Reveal()
	if len(a) < 24 || a == b || strings.ContainsAny(a, "'\"\\ ") {
		t.Errorf("%d characters, twice the same: %t", len(a), a == b)
	}
}

func TestReadSecret(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  Reason
	}{
		"both keys":    {map[string]string{"username": "admin", "password": "p'w with spaces"}, ""},
		"no file":      {nil, SecretAbsent},
		"one key":      {map[string]string{"username": "admin"}, SecretAbsent},
		"empty":        {map[string]string{"username": "admin", "password": ""}, SecretInvalid},
		"line break":   {map[string]string{"username": "admin", "password": "word\n"}, SecretInvalid},
		"NUL":          {map[string]string{"username": "admin\x00", "password": "word"}, SecretInvalid},
		"not UTF-8":    {map[string]string{"username": "admin", "password": "\xff"}, SecretInvalid},
		"without end":  {map[string]string{"username": "admin", "password": strings.Repeat("x", 5<<10)}, SecretInvalid},
		"username bad": {map[string]string{"username": "", "password": "word"}, SecretInvalid},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for key, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, key), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, reason := ReadSecret(dir)
			if reason != tc.want {
				t.Errorf("reason %q, want %q", reason, tc.want)
			}
			if reason == "" && (s.Username != tc.files["username"] || s.Password.Reveal() != tc.files["password"]) || reason != "" && s.Username != "" {
				t.Errorf("Secret of %q", s.Username)
			}
		})
	}
}

// The kubelet turns the link to the keys of a changed Secret at any moment: what is read are the keys of one Secret.
func TestTheKeysAreOfOneSecret(t *testing.T) {
	dir := t.TempDir()
	turn := func(to string) {
		t.Helper()
		if err := errors.Join(os.Symlink(to, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"old", "new"} {
		if err := os.Mkdir(filepath.Join(dir, ".."+name), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{UsernameKey, PasswordKey} {
			if err := os.WriteFile(filepath.Join(dir, ".."+name, key), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, key := range []string{UsernameKey, PasswordKey} {
		if err := os.Symlink("..data/"+key, filepath.Join(dir, key)); err != nil {
			t.Fatal(err)
		}
	}
	for _, gone := range []bool{false, true} { // the folder of the old keys
		turn("..old")
		reads := 0
		s, reason := readSecret(dir, func(what, name string) ([]byte, error) {
			b, err := limitSecret.ReadFile(what, name)
			if reads++; reads == 1 {
				turn("..new")
				if gone {
					err = errors.Join(err, os.RemoveAll(filepath.Join(dir, "..old")))
				}
			}
			return b, err
		})
		if s.Username != "new" || s.Password.Reveal() != "new" || reason != "" {
			t.Errorf("old keys removed %t: username %q, password %q, %q", gone, s.Username, s.Password.Reveal(), reason)
		}
	}
	n := 0
	s, reason := readSecret(dir, func(string, string) ([]byte, error) {
		n++
		turn(fmt.Sprintf("..x%d", n))
		return []byte("x"), nil
	})
	if s.Username != "" || reason != SecretInvalid {
		t.Errorf("a Secret that changes at each read: username %q, %q", s.Username, reason)
	}
}

func TestReportFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "credential.json")
	var got Report
	if err := Load(name, &got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	want := Report{}
	want.Note(api.RootCredential{Code: WrongPassword, Server: "0x0100", Default: DefaultOpen}, at)
	want.Settings = &api.InitialSettings{Hash: "h", Items: []api.InitialSetting{{Name: "system_traces", State: Applied, Ours: []string{"x"}}}}
	if err := Write(name, want); err != nil {
		t.Fatal(err)
	}
	err := Load(name, &got)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := Write(filepath.Join(name, "x"), want); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("no such folder: %v", err)
	}
}

// A reader sees one report or the other, and nothing is left beside it.
func TestReportIsWrittenInOneStep(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "credential.json")
	report := Report{}
	report.Credential = api.RootCredential{Code: Verified, Default: DefaultClosed}
	if err := Write(name, report); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		for range 200 {
			if err := Write(name, report); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		var got Report
		if err := Load(name, &got); err != nil || got.Credential.Code != Verified {
			t.Fatalf("%+v, %v", got, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 1 {
				t.Errorf("%v, %v", files, err)
			}
			return
		default:
		}
	}
}
