// SPDX-License-Identifier: Apache-2.0

// Package memory caches the results of parsed texts. Every poll parses the same few texts for each
// Pod of a cluster. Parsing is expensive, and its results never change.
package memory

import "sync"

// most limits the number of cached texts, longest their length, because any Pod's writer chooses
// them.
const (
	most    = 256
	longest = 2 << 10
)

// Of caches what one parser returns. The zero value is ready to use, and safe for concurrent use.
// Callers share a result and must not change it.
type Of[T any] struct {
	mu    sync.RWMutex
	known map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
}

// Read returns what parse returns for the text.
func (m *Of[T]) Read(text string, parse func(string) (T, error)) (T, error) {
	m.mu.RLock()
	a, ok := m.known[text]
	m.mu.RUnlock()
	if ok {
		return a.value, a.err
	}
	a.value, a.err = parse(text)
	if len(text) > longest {
		return a.value, a.err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= most {
		m.known = map[string]answer[T]{} // texts still in use are parsed again
	}
	m.known[text] = a
	return a.value, a.err
}
