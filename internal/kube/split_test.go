// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// splitSeeds are what a scanner of its own may get wrong: escapes, brackets within texts, space everywhere, empty things, every kind of value.
var splitSeeds = []string{
	`{}`, ` { } `, `[]`, "[\n]", `{"a":1,"b":[true,null,-1.5e3],"c":{"d":"}"}}`, `{"a\"b":"x\\","c":"\\\""}`, "{ \"a\" :\t1 ,\n\"b\"\r: 2 }",
	`{"kind":"PodList","items":[{"metadata":{"name":"a","namespace":"n"}},{}]}`, `[1,"]",[],{"a":[{}]},true]`, `{"Kind":"Pod","kind":"Pod","METADATA":{"name":"x"}}`,
	`{"metadata":null,"items":null}`, `{"metadata":"x"}`, `{"kind":7}`, `{"metadata":{"name":7}}`, `{"metadata":{"name":"a","annotations":{"name":"b"}}}`, `{"items":[],"items":7}`,
}

// FuzzSplit: the parts of a valid object or list are those that package json finds, and so is the head of an object.
func FuzzSplit(f *testing.F) {
	for _, s := range splitSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		var list []json.RawMessage
		if raw[space(raw, 0)] == '[' && json.Unmarshal(raw, &list) == nil {
			got := []json.RawMessage{}
			for part := range elements(raw) {
				got = append(got, part)
			}
			if diff := cmp.Diff(list, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", raw, diff)
			}
			return
		}
		var object map[string]json.RawMessage
		if raw[space(raw, 0)] != '{' || json.Unmarshal(raw, &object) != nil {
			return
		}
		got := map[string]json.RawMessage{}
		for name, part := range fields(raw) {
			got[name] = part
		}
		if diff := cmp.Diff(object, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", raw, diff)
		}
		var want struct {
			head
			Items itemsThere `json:"items"`
		}
		wantErr := json.Unmarshal(raw, &want)
		h, err := headOf(raw)
		if joined, ok := errors.AsType[*twiceError](err); ok {
			if bytes.Count(bytes.ToLower(raw), []byte(strings.ToLower(joined.field))) < 2 && !bytes.Contains(raw, []byte{'\\'}) {
				t.Errorf("%s: %v", raw, err)
			}
			return
		}
		if (wantErr == nil) != (err == nil) || err == nil && (h.Kind != want.Kind || h.Metadata != want.Metadata || (h.items != nil) != bool(want.Items)) {
			t.Errorf("%s: %+v, %v; want %+v, %v", raw, h, err, want, wantErr)
		}
	})
}
