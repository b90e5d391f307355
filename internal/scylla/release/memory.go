// SPDX-License-Identifier: Apache-2.0

package release

import "sync"

// Each Pod of a cluster has the same few texts at each look. The expressions that parse them are expensive, and their results never change.
var versions, images memory

// most bounds how many texts are kept, longest their length: the writer of a Pod chooses them.
const (
	most    = 256
	longest = 512
)

// memory keeps the results of parsed texts. It is safe for concurrent use.
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
		m.known = map[string]answer{} // those that are still said come back
	}
	m.known[text] = a
	return a.version, a.err
}
