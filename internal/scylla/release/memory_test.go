// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A text is read once, whether or not it is a version; neither many different texts nor long ones are kept.
func TestMemory(t *testing.T) {
	var m memory
	reads := 0
	bad := errors.New("no version")
	read := func(text string) (Version, error) {
		reads++
		if text == "latest" {
			return Version{Raw: text}, bad
		}
		return Version{Raw: text, Known: true}, nil
	}
	for range 3 {
		if v, err := m.of("2026.2.0", read); !v.Known || err != nil {
			t.Fatalf("%+v, %v", v, err)
		}
		if v, err := m.of("latest", read); v.Known || v.Raw != "latest" || !errors.Is(err, bad) {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	if reads != 2 {
		t.Errorf("two texts were read %d times", reads)
	}
	for i := range 3 * most {
		m.of(strconv.Itoa(i), read)
		m.of(strings.Repeat("x", longest)+strconv.Itoa(i), read)
		if n := len(m.known); n > most {
			t.Fatalf("%d texts are kept, want at most %d", n, most)
		}
	}
	for text := range m.known {
		if len(text) > longest {
			t.Fatalf("a text of %d bytes is kept", len(text))
		}
	}
}

func TestMemoryIsSafe(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				text := "2026.2." + strconv.Itoa(i%300)
				if v, err := Parse(text); err != nil || v.Patch != i%300 || v.Raw != text {
					t.Errorf("%s is %+v, %v", text, v, err)
				}
			}
		})
	}
	wg.Wait()
}
