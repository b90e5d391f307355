// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A text is parsed once, also one that is not valid; neither many different texts nor long ones are kept.
func TestMemory(t *testing.T) {
	var m Of[string]
	reads := 0
	bad := errors.New("no version")
	read := func(text string) (string, error) {
		reads++
		if text == "latest" {
			return "", bad
		}
		return "read " + text, nil
	}
	for range 3 {
		if v, err := m.Read("2026.2.0", read); v != "read 2026.2.0" || err != nil {
			t.Fatalf("%q, %v", v, err)
		}
		if v, err := m.Read("latest", read); v != "" || !errors.Is(err, bad) {
			t.Fatalf("%q, %v", v, err)
		}
	}
	if reads != 2 {
		t.Errorf("two texts were read %d times", reads)
	}
	for i := range 3 * most {
		m.Read(strconv.Itoa(i), read)
		m.Read(strings.Repeat("x", longest)+strconv.Itoa(i), read)
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
	var m Of[int]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				if n, err := m.Read(strconv.Itoa(i%300), strconv.Atoi); err != nil || n != i%300 {
					t.Errorf("%d is %d, %v", i%300, n, err)
				}
			}
		})
	}
	wg.Wait()
}
