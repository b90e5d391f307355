// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"strings"
)

// fields returns the names and values of a JSON object, in order. raw must be a valid JSON object.
// Values are slices of raw. A json.Decoder scans each byte of a List about ten times before its
// items are decoded, which for the rows of 500 nodes takes most of a command's time.
func fields(raw []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := inside(raw); raw[i] != '}'; i = next(raw, i) {
			end := valueEnd(raw, i)
			var name string
			_ = json.Unmarshal(raw[i:end], &name) // valid JSON, and a field name is a string
			i = space(raw, end)
			i = space(raw, i+1) // the colon
			end = valueEnd(raw, i)
			if !yield(name, raw[i:end]) {
				return
			}
			i = end
		}
	}
}

// elements returns the values of a JSON list, in order. raw must be a valid JSON list.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := inside(raw); raw[i] != ']'; i = next(raw, i) {
			end := valueEnd(raw, i)
			if !yield(raw[i:end]) {
				return
			}
			i = end
		}
	}
}

// inside returns the index of the first part of an object or list, or of its closing bracket.
func inside(raw []byte) int { return space(raw, space(raw, 0)+1) }

// next returns the index of the part after a comma, or of the closing bracket.
func next(raw []byte, i int) int {
	i = space(raw, i)
	if raw[i] == ',' {
		i = space(raw, i+1)
	}
	return i
}

func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the end index of the value that begins at i.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for i < len(raw) && !strings.ContainsRune(",]} \n\t\r", rune(raw[i])) {
				i++ // a number, true, false or null
			}
			return i
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// stringEnd returns the index of the closing quote of the string whose opening quote is at i.
func stringEnd(raw []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(raw[i:], '"')
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// head is the kind and metadata of an object, and the items of a List.
type head struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	items []byte // nil if there is no list
}

// headOf reads only the head of a valid JSON object. As in encoding/json, case does not matter.
// Error: a field has the wrong type, or occurs twice, as in objects that were joined.
func headOf(raw []byte) (*head, error) {
	var small struct {
		Kind       json.RawMessage `json:"kind,omitempty"`
		APIVersion json.RawMessage `json:"apiVersion,omitempty"`
		Metadata   json.RawMessage `json:"metadata,omitempty"`
	}
	h := &head{}
	seen := map[string]bool{}
	for name, value := range fields(raw) {
		if seen[strings.ToLower(name)] {
			line := 1 + bytes.Count(raw[:cap(raw)-cap(value)], []byte("\n")) // value is a part of raw
			return nil, &twiceError{field: name, line: line}
		}
		seen[strings.ToLower(name)] = true
		switch {
		case strings.EqualFold(name, "kind"):
			small.Kind = value
		case strings.EqualFold(name, "apiVersion"):
			small.APIVersion = value
		case strings.EqualFold(name, "metadata"):
			small.Metadata = named(value)
		case strings.EqualFold(name, "items"):
			if h.items = nil; value[0] == '[' {
				h.items = value
			}
		}
	}
	data, err := json.Marshal(small)
	if err != nil {
		return nil, err
	}
	return h, json.Unmarshal(data, h)
}

// named returns metadata reduced to name and namespace. A value that is not an object is returned
// unchanged.
func named(metadata []byte) json.RawMessage {
	if metadata[0] != '{' {
		return metadata
	}
	name, namespace := []byte(nil), []byte(nil)
	for field, value := range fields(metadata) {
		switch {
		case strings.EqualFold(field, "name"):
			name = value
		case strings.EqualFold(field, "namespace"):
			namespace = value
		}
	}
	return json.RawMessage(`{"name":` + cmp.Or(string(name), "null") + `,"namespace":` +
		cmp.Or(string(namespace), "null") + "}")
}
