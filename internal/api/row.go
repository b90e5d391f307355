// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
)

// cellsStart begins a report that lists its observed nodes first, as our reporters write it.
const cellsStart = `{"observedNodes":[`

// RowText is the report in a Pod's annotation, as text. In a controller's cache it has two parts:
// Cells ends with the list of observed nodes, which is identical for many Pods and shared.
// Elsewhere Cells is empty.
// +kubebuilder:object:generate=false
type RowText struct{ Cells, Rest string }

// annotationCells has the first part of a Pod's report in a cache. It is not a valid name, so no
// client can set it.
const annotationCells = "cells of " + AnnotationNodeStatusReport

// RowOf returns the report in a Pod's annotations; false if there is none.
func RowOf(annotations map[string]string) (RowText, bool) {
	rest, ok := annotations[AnnotationNodeStatusReport]
	return RowText{annotations[annotationCells], rest}, ok
}

// SetIn sets the report in a Pod's annotations.
func (t RowText) SetIn(annotations map[string]string) {
	annotations[AnnotationNodeStatusReport] = t.Rest
	if delete(annotations, annotationCells); t.Cells != "" {
		annotations[annotationCells] = t.Cells
	}
}

// Parts returns the beginning up to the end of the observed nodes, and the rest; false if the
// report does not begin with its observed nodes. A bracket inside a string ends the first part too
// early: cells+rest is always the whole text.
func (t RowText) Parts() (cells, rest string, ok bool) {
	cells, rest = t.Cells, t.Rest
	if cells == "" {
		end := strings.IndexByte(rest, ']') + 1
		cells, rest = rest[:end], rest[end:]
	}
	return cells, rest, strings.HasPrefix(cells, cellsStart)
}

// Decode is DecodeNodeStatusReport of the whole text.
func (t RowText) Decode() (*NodeStatusReport, error) { return DecodeNodeStatusReport(t.Cells + t.Rest) }

// Digest is ReportDigest of the whole text.
func (t RowText) Digest() string {
	if t == (RowText{}) {
		return ""
	}
	sum, buf := sha256.New(), make([]byte, 0, 4<<10)
	for _, part := range []string{t.Cells, t.Rest} {
		for len(part) > 0 {
			n := min(len(part), cap(buf))
			_, _ = sum.Write(append(buf, part[:n]...)) // a hash returns no error
			part = part[n:]
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// SharedCells stores the beginnings of reports that Pods have in common: each of 1,000 nodes that
// see all nodes UP has the same 80 kB. The zero value is ready to use; it is safe for concurrent
// use.
// +kubebuilder:object:generate=false
type SharedCells struct {
	mu    sync.Mutex
	texts map[string]string
}

const (
	// maxSharedCells limits the stored beginnings, minSharedCells is the minimum length of one in
	// bytes.
	maxSharedCells = 64
	minSharedCells = 1 << 10
)

// Split returns the same report in two parts and shares the first. It returns a report that does
// not begin with its observed nodes unchanged.
func (s *SharedCells) Split(t RowText) RowText {
	head, rest, ok := t.Parts()
	if t.Cells != "" || len(head) < minSharedCells || !ok {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.texts[head]
	if !ok {
		if known = strings.Clone(head); s.texts == nil || len(s.texts) >= maxSharedCells {
			s.texts = map[string]string{}
		}
		s.texts[known] = known
	}
	return RowText{known, strings.Clone(rest)} // a slice would keep the whole text in memory
}
