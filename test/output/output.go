// SPDX-License-Identifier: Apache-2.0

// Package output keeps what a process, or a part of this one, writes while a test reads it. It imports nothing of the product.
package output

import (
	"bytes"
	"sync"
)

// Buffer is a bytes.Buffer for several goroutines. The zero value is ready.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is all that was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
