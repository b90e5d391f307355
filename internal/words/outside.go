// SPDX-License-Identifier: Apache-2.0

package words

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Bounds of a message from another writer.
const (
	maxName   = 64  // bytes of a code, and of a parameter's name
	maxText   = 300 // characters of a parameter
	maxNested = 6   // messages and lists within each other; our own have at most 3
)

// FromOutside returns the safe part of a decoded message from another writer. Its code and
// parameter names have only letters and digits; the parameters are short texts, numbers, bools,
// lists and messages with the same limits. It has no command, because a user would paste it. The
// code may belong to a later version. Zero for any other code.
func FromOutside(m Message) Message { return fromOutside(m, maxNested) }

func fromOutside(m Message, depth int) Message {
	if !plainName(string(m.Code)) {
		return Message{}
	}
	out := Message{Code: m.Code}
	for name, v := range m.Params {
		if v = paramFromOutside(v, depth-1); v == nil || !plainName(name) {
			continue
		}
		if out.Params == nil {
			out.Params = Params{}
		}
		out.Params[name] = v
	}
	return out
}

// paramFromOutside returns a decoded parameter, nil for one that is left out.
func paramFromOutside(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return clip(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<31 {
			return int(v)
		}
		return v
	case bool:
		return v
	case []any:
		if depth == 0 {
			return nil
		}
		list := make([]any, 0, len(v))
		for _, item := range v {
			if item = paramFromOutside(item, depth-1); item != nil {
				list = append(list, item)
			}
		}
		return list
	case map[string]any:
		if depth == 0 {
			return nil
		}
		c, _ := v["code"].(string)
		params, _ := v["params"].(map[string]any)
		if m := fromOutside(Message{Code: Code(c), Params: params}, depth); !m.IsZero() {
			return m
		}
	}
	return nil
}

func plainName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// clip returns the first maxText characters of a text.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	return string([]rune(s)[:maxText])
}
