// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"strings"
)

// fields are the names and values of a JSON object, in their order. raw must be valid JSON and an object. Values are parts of raw: a Decoder goes over each byte
// of a List some ten times until its items are decoded, which for the rows of 500 nodes is most of the time that a command takes.
func fields(raw []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := inside(raw); raw[i] != '}'; i = next(raw, i) {
			end := valueEnd(raw, i)
			var name string
			_ = json.Unmarshal(raw[i:end], &name) // it is valid, and the name of a field is a string
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

// elements are the values of a JSON list, in their order. raw must be valid JSON and a list.
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

// inside is the index where the first part of an object or list begins, or where it ends.
func inside(raw []byte) int { return space(raw, space(raw, 0)+1) }

// next is the index where the part after a comma begins, or where the whole ends.
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

// valueEnd is the index where the value that begins at i ends.
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

// stringEnd is the index of the closing quote of the string whose opening quote is at i.
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

// head is the kind and metadata of an object, and its items where it is a List.
type head struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	items []byte // nil where there is no list
}

// headOf reads the head of a valid JSON object without its contents. As for package json, case does not matter and the last field of a name counts. Error: a field has the
// wrong type.
func headOf(raw []byte) (*head, error) {
	var small struct {
		Kind       json.RawMessage `json:"kind,omitempty"`
		APIVersion json.RawMessage `json:"apiVersion,omitempty"`
		Metadata   json.RawMessage `json:"metadata,omitempty"`
	}
	h := &head{}
	for name, value := range fields(raw) {
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

// named is metadata with nothing but its name and namespace; a value that is no object stays as it is.
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
	return json.RawMessage(`{"name":` + cmp.Or(string(name), "null") + `,"namespace":` + cmp.Or(string(namespace), "null") + "}")
}
