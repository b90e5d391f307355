// SPDX-License-Identifier: Apache-2.0

// Package bounded reads input of unknown size: answers of ScyllaDB, files in a volume, saved
// objects. Each use has its own Limit, and an error that names the object, the limit and the
// remedy. Product code reads whole inputs only through this package. Server and Connections bound
// the connections of clients.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
)

// Limit bounds one kind of input.
type Limit struct {
	// Bytes of the whole input.
	Bytes int64
	// Items of a JSON list, and ItemBytes of one of them; only Each uses these. Zero means no
	// limit.
	Items     int
	ItemBytes int64
	// Cure is how to reduce an input that is larger.
	Cure string
}

// TooLargeError means that an input is larger than its Limit allows.
type TooLargeError struct {
	// What names the input: "query file /tmp/query".
	What string
	// Limit as text: "1 MiB".
	Limit string
	Cure  string
}

// Error names the object, the limit and the remedy.
func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("%s is larger than %s", e.What, e.Limit)
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

func (l Limit) tooLarge(what string) error {
	return &TooLargeError{What: what, Limit: Size(l.Bytes), Cure: l.Cure}
}

// Read returns all of r. what names the input in errors. Errors: *TooLargeError, and those from r.
func (l Limit) Read(r io.Reader, what string) ([]byte, error) {
	return io.ReadAll(l.Reader(r, what))
}

// ReadFile returns the contents of a regular file. It refuses other files: a device may have no
// end, and a pipe may have no writer. what is the kind of file, such as "query file". Errors:
// *TooLargeError, errors from package os, and one for a file that is not regular.
func (l Limit) ReadFile(what, name string) ([]byte, error) {
	// Check the opened file: the name may belong to another file a moment later. Without O_NONBLOCK
	// opening a pipe would wait for a writer.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s %s: not a regular file", what, name)
	}
	data, err := l.Read(f, what+" "+name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return data, nil
}

// Reader returns r with a *TooLargeError in place of the first byte beyond the limit.
func (l Limit) Reader(r io.Reader, what string) io.Reader {
	return &reader{r: r, left: l.Bytes, fail: func() error { return l.tooLarge(what) }}
}

type reader struct {
	r    io.Reader
	left int64
	fail func() error
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte more than left distinguishes an input of exactly the limit from a larger one.
	if most := r.left + 1; r.left < math.MaxInt64 && int64(len(p)) > most {
		p = p[:max(most, 0)]
	}
	n, err := r.r.Read(p)
	if int64(n) > r.left {
		n, r.left = int(r.left), 0
		return n, r.fail()
	}
	r.left -= int64(n)
	return n, err
}

// Head returns the first n bytes of r and leaves the rest unread. An error of r is returned with
// the bytes before it.
func Head(r io.Reader, n int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, n))
}

// Until returns f's result, or the error of ctx as soon as ctx ends. f then keeps running. Use it
// for reads that cannot be interrupted, such as opening a pipe that has no writer, in a process
// that ends next.
func Until[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// IsTooLarge reports whether err is or wraps a *TooLargeError.
func IsTooLarge(err error) bool {
	_, ok := errors.AsType[*TooLargeError](err)
	return ok
}

// Size returns a number of bytes as text, in the largest unit that divides it.
func Size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
