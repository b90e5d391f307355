// SPDX-License-Identifier: Apache-2.0

package write

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Missing lists the fields, below at, that are in sent and not in kept: "datacenters.nodes.stale". Items of a list are compared in their order.
func Missing(at string, sent, kept any) []string {
	var a, b any
	for from, into := range map[*any]*any{&sent: &a, &kept: &b} {
		data, _ := json.Marshal(*from) // plain data always marshals
		_ = json.Unmarshal(data, into)
	}
	found := map[string]bool{}
	missing(at, a, b, found)
	return slices.Sorted(maps.Keys(found))
}

func missing(at string, sent, kept any, found map[string]bool) {
	switch sent := sent.(type) {
	case map[string]any:
		there, _ := kept.(map[string]any)
		for k, v := range sent {
			field := strings.TrimPrefix(at+"."+k, ".")
			if empty(v) {
				continue // the encoder may omit it
			}
			if _, ok := there[k]; !ok {
				found[field] = true
				continue
			}
			missing(field, v, there[k], found)
		}
	case []any:
		there, _ := kept.([]any)
		for i, v := range sent {
			if i < len(there) {
				missing(at, v, there[i], found)
			}
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case float64:
		return v == 0
	case bool:
		return !v
	}
	return false
}
