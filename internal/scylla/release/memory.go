// SPDX-License-Identifier: Apache-2.0

package release

import "sync"

// Every poll parses the same few texts for each Pod of a cluster. Parsing is expensive, and its
// results never change.
var versions, images memory

// most limits the number of cached texts, longest their length, because any Pod's writer chooses
// them.
const (
	most    = 256
	longest = 512
)

// memory caches the results of parsed texts. It is safe for concurrent use.
type memory struct {
	mu    sync.RWMutex
	known map[string]answer
}

type answer struct {
	version Version
	err     error
}

func (m *memory) of(text string, read func(string) (Version, error)) (Version, error) {
	m.mu.RLock()
	a, ok := m.known[text]
	m.mu.RUnlock()
	if ok {
		return a.version, a.err
	}
	a.version, a.err = read(text)
	if len(text) > longest {
		return a.version, a.err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= most {
		m.known = map[string]answer{} // texts still in use are parsed again
	}
	m.known[text] = a
	return a.version, a.err
}
