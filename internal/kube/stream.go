// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// Limits of saved objects. All objects of 1,000 members have about 60 MB; an API server stores no
// object over 1.5 MiB.
const (
	leaveOut = "remove the objects of other clusters"
	asJSON   = "save it as JSON: kubectl get ... -o json"

	// maxValues limits the values of one object: decoded, a value of three bytes takes a hundred
	// times its size.
	maxValues = 100_000
	// maxHeap limits the growth of the process's heap in bytes while saved objects are decoded.
	maxHeap = 512 << 20
)

var (
	// limitSaved is the limit for the whole input and its number of objects.
	limitSaved = bounded.Limit{Bytes: 128 << 20, Items: 100_000, ItemBytes: limitObject.Bytes, Cure: leaveOut}
	// limitObject is the limit for one object.
	limitObject = bounded.Limit{Bytes: 4 << 20, Cure: leaveOut}
	// limitYAML is the limit for YAML other than a plain List: decoding takes about thirty times
	// its size.
	limitYAML = bounded.Limit{Bytes: 8 << 20, Cure: asJSON}
)

const byteOrderMark = "\xef\xbb\xbf"

// itemsThere reports whether a field is a list.
type itemsThere bool

// UnmarshalJSON reads the first byte only.
func (t *itemsThere) UnmarshalJSON(b []byte) error {
	*t = len(b) > 0 && b[0] == '['
	return nil
}

// items decodes the items of a List of kind. depth is the number of enclosing Lists.
func (s *saved) items(raw []byte, kind string, depth int) error {
	if depth >= maxDepth {
		return errors.New("it has Lists inside Lists too deep")
	}
	i := 0
	for item := range elements(raw) {
		switch i++; {
		case i > limitSaved.Items:
			return &bounded.TooLargeError{What: "the list of items", Limit: fmt.Sprintf("%d items", limitSaved.Items),
				Cure: leaveOut}
		case int64(len(item)) > limitSaved.ItemBytes:
			return &bounded.TooLargeError{What: fmt.Sprintf("item %d of the list of items", i),
				Limit: bounded.Size(limitSaved.ItemBytes), Cure: leaveOut}
		}
		if err := s.object(item, strings.TrimSuffix(kind, "List"), depth+1); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	s.endOfList(kind)
	return nil
}

// endOfList also records an empty List: it means that no such object exists, while a missing List
// means that the kind was not read.
func (s *saved) endOfList(kind string) {
	if k := kindNamed(strings.TrimSuffix(kind, "List")); k != nil {
		s.read |= k.bit
	}
	s.objects++
}

// room returns an error if one more object exceeds a limit.
func (s *saved) room(raw []byte, kind, name string) error {
	what := kind + " " + name
	switch {
	case int64(len(raw)) > limitObject.Bytes:
		return &bounded.TooLargeError{What: what, Limit: bounded.Size(limitObject.Bytes), Cure: leaveOut}
	case bytes.Count(raw, []byte(",")) > maxValues:
		return &bounded.TooLargeError{What: what, Limit: fmt.Sprintf("%d values", maxValues), Cure: leaveOut}
	case s.objects >= limitSaved.Items:
		return &bounded.TooLargeError{What: "the input", Limit: fmt.Sprintf("%d objects", limitSaved.Items),
			Cure: leaveOut}
	case heap() <= s.before+maxHeap:
		return nil
	}
	runtime.GC()
	if heap() > s.before+maxHeap {
		return &bounded.TooLargeError{What: "the objects decoded up to " + what, Limit: bounded.Size(maxHeap) +
			" in memory", Cure: leaveOut}
	}
	return nil
}

// heap returns the size of all objects on the heap in bytes, including uncollected garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

func checkYAML(doc []byte) error {
	if int64(len(doc)) > limitYAML.Bytes {
		return &bounded.TooLargeError{What: "a YAML document that is not a List as kubectl prints it",
			Limit: bounded.Size(limitYAML.Bytes), Cure: asJSON}
	}
	return nil
}

// yamlList decodes a List in kubectl's YAML format item by item. For any other text it returns
// false and decodes nothing.
func (s *saved) yamlList(doc []byte) (bool, error) {
	head, items := splitList(doc)
	if len(items) == 0 || int64(len(head)) > limitYAML.Bytes {
		return false, nil
	}
	raw, err := yaml.YAMLToJSONStrict(head)
	if err != nil {
		return false, nil //nolint:nilerr // the whole may be YAML; if not, its error names the line
	}
	var list struct {
		Kind  string     `json:"kind"`
		Items itemsThere `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil || bool(list.Items) || !strings.HasSuffix(list.Kind, "List") {
		return false, nil //nolint:nilerr // as above
	}
	objects := make([][]byte, len(items))
	for i, item := range items {
		if int64(len(item)) > limitYAML.Bytes {
			return false,
				fmt.Errorf("item %d: %w", i+1, &bounded.TooLargeError{What: "it", Limit: bounded.Size(limitYAML.Bytes),
					Cure: leaveOut})
		}
		if objects[i], err = yaml.YAMLToJSONStrict(item); err != nil {
			return false, nil //nolint:nilerr // as above
		}
	}
	for i, object := range objects {
		objects[i] = nil // the decoded object replaces its JSON
		if err := s.object(object, strings.TrimSuffix(list.Kind, "List"), 1); err != nil {
			return false, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	s.endOfList(list.Kind)
	return true, nil
}

// splitList splits a YAML document at the items of its List: in kubectl's output each begins with a
// dash in the first column. head is the rest. kubectl indents texts of several lines. If another
// tool does not, an item cannot be decoded, and the caller decodes the whole document.
func splitList(doc []byte) (head []byte, items [][]byte) {
	inside := false
	for line := range bytes.Lines(doc) {
		switch {
		case !inside && items == nil && string(bytes.TrimRight(line, " \r\n")) == "items:":
			inside = true
		case inside && (line[0] == '-' && (len(line) == 1 || strings.ContainsRune(" \r\n", rune(line[1])))):
			items = append(items, append([]byte(" "), line[1:]...))
		case inside && items != nil && strings.ContainsRune(" #\r\n", rune(line[0])):
			items[len(items)-1] = append(items[len(items)-1], line...)
		default:
			inside = false
			head = append(head, line...)
		}
	}
	return head, items
}

// lineEnd adds a missing final line break: the YAML reader drops an unterminated line whose length
// is a multiple of its buffer size.
type lineEnd struct {
	r    io.Reader
	last byte
}

func (l *lineEnd) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.last = p[n-1]
	}
	if n == 0 && errors.Is(err, io.EOF) && l.last != '\n' && len(p) > 0 {
		p[0], l.last = '\n', '\n'
		return 1, nil
	}
	return n, err
}
