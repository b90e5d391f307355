// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

// repeated repeats a text without an end.
type repeated struct {
	text string
	at   int
}

func endless(text string) io.Reader { return &repeated{text: text} }

func (r *repeated) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		k := copy(p[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	return len(p), nil
}

// In pieces of any size: up to the limit the input is read whole, beyond it Read returns an error.
func TestReadIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data")
		most := rapid.IntRange(0, 2000).Draw(t, "limit")
		var r io.Reader = bytes.NewReader(data)
		r = rapid.SampledFrom([]func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r }}).Draw(t, "pieces")(r)
		got, err := bounded.Limit{Bytes: int64(most)}.Read(r, "it")
		switch {
		case len(data) <= most && (err != nil || !bytes.Equal(got, data)):
			t.Errorf("%d bytes within %d: %d bytes, %v", len(data), most, len(got), err)
		case len(data) > most && !bounded.IsTooLarge(err):
			t.Errorf("%d bytes beyond %d: %v", len(data), most, err)
		}
	})
}

func TestErrorNamesObjectLimitAndCure(t *testing.T) {
	t.Parallel()
	_, err := bounded.Limit{Bytes: 1 << 20, Cure: "save less"}.Read(endless("x"), "file f")
	if want := "file f is larger than 1 MiB; save less"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	broken := errors.New("broken")
	if _, err := (bounded.Limit{Bytes: 10}).Read(iotest.ErrReader(broken), "f"); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("123456"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		name string
		most int64
		err  string
	}{
		"as large as allowed": {name: name, most: 6},
		"larger":              {name: name, most: 5, err: "read query file: query file " + name + " is larger than 5 bytes"},
		"a device":            {name: os.DevNull, most: 5, err: "not a regular file"},
		"a directory":         {name: dir, most: 5, err: "not a regular file"},
		"not there":           {name: name + "x", most: 5, err: "no such file"},
	} {
		data, err := bounded.Limit{Bytes: c.most}.ReadFile("query file", c.name)
		if c.err == "" && (err != nil || string(data) != "123456") || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v", what, data, err)
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	l := bounded.Limit{Bytes: 1 << 20, Items: 3, ItemBytes: 4096}
	for text, want := range map[string]string{
		`["a","b"]`:                             "a b",
		" [ ] ":                                 "",
		"null":                                  "",
		`["a","b","c","d"]`:                     "the list is larger than 3 items",
		`["` + strings.Repeat("x", 9000) + `"]`: "item 0 of the list is larger than 4 KiB",
		`["a"`:                                  "ends in the middle",
		`["a","b`:                               "ends in the middle",
		`["a"] ["b"]`:                           "unexpected data after",
		`{"a":1}`:                               "not a JSON list",
		"":                                      "empty body",
		`["a",1]`:                               "cannot unmarshal number",
	} {
		var got []string
		err := bounded.Each(l, strings.NewReader(text), "the list", func(i int, s string) error {
			if i != len(got) {
				t.Errorf("item %d comes as %d", len(got), i)
			}
			got = append(got, s)
			return nil
		})
		if err == nil && strings.Join(got, " ") != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// Each decodes the same items as json.Unmarshal.
func TestEachIsUnmarshal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		err = bounded.Each(bounded.Limit{Bytes: int64(len(data))}, iotest.HalfReader(bytes.NewReader(data)), "it", func(_ int, s string) error { got = append(got, s); return nil })
		if err != nil || !slices.Equal(want, got) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	})
}

// A list of millions of small items, and one item without an end, take little memory.
func TestEachTakesLittleMemory(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"small items": io.MultiReader(strings.NewReader("[{}"), endless(",{}")),
		"one item":    io.MultiReader(strings.NewReader(`["`), endless("x")),
	} {
		t.Run(name, func(t *testing.T) {
			memory.Under(t, 64<<20, func(t *testing.T) {
				l := bounded.Limit{Bytes: 512 << 20, Items: 10_000_000, ItemBytes: 1 << 20}
				n := 0
				err := bounded.Each(l, r, "it", func(int, any) error { n++; return nil })
				if !bounded.IsTooLarge(err) {
					t.Errorf("after %d items: %v", n, err)
				}
			})
		})
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	if v, err := bounded.Until(t.Context(), func() (int, error) { return 7, io.EOF }); v != 7 || !errors.Is(err, io.EOF) {
		t.Error(v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stuck := make(chan struct{})
	defer close(stuck)
	if _, err := bounded.Until(ctx, func() (int, error) { <-stuck; return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A name that leads to another file a moment after it was looked at: what is read is always what was looked at.
func TestNoHarm33TheOpenedFileIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	name, regular := filepath.Join(dir, "x"), filepath.Join(dir, "regular")
	if err := os.WriteFile(regular, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	swap := func(to string) error {
		next := filepath.Join(dir, "next")
		return errors.Join(os.Symlink(to, next), os.Rename(next, name))
	}
	if err := swap(regular); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = errors.Join(swap("/dev/zero"), swap(regular))
		}
		done <- err
	}()
	for range 5000 {
		got, err := bounded.Limit{Bytes: 10}.ReadFile("file", name)
		if err == nil && string(got) != "text" || err != nil && !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("got %q, %v", got, err)
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
