// SPDX-License-Identifier: Apache-2.0

// Package output keeps what a process, or a part of this one, writes while a test reads it. It imports nothing of the product.
package output

import (
	"bytes"
	"context"
	"sync"
)

// Buffer is a bytes.Buffer for several goroutines. The zero value is ready.
type Buffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{} // closed at the next write, for who waits; else nil
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.b.Write(p)
}

// Wait returns when holds is true of all that was written, or with the error of ctx.
func (b *Buffer) Wait(ctx context.Context, holds func(all string) bool) error {
	for {
		b.mu.Lock()
		all := b.b.String()
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if holds(all) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// String is all that was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
