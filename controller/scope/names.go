// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
)

const (
	maxName    = 253
	hashDigits = 5
)

// ObjectName builds an object's name from parts, as the Scylla Operator does: the parts joined by
// dashes, a dash, and 5 base-36 digits of the parts' FNV-1a hash. A long name is truncated, upper
// case becomes lower case, and a character that a name cannot have there becomes a dash: labels and
// remote datacenters have more. The hash keeps names distinct.
func ObjectName(parts ...string) string {
	// A JSON array and a newline distinguish ("a", "b-c") from ("a-b", "c"). Strings always
	// marshal.
	b, _ := json.Marshal(parts)
	h := fnv.New64a()
	_, _ = h.Write(append(b, '\n'))
	digits := strconv.FormatUint(h.Sum64(), 36)
	for len(digits) < hashDigits {
		digits += "0"
	}
	name := strings.TrimLeft(strings.Map(nameRune, strings.ToLower(strings.Join(parts, "-"))), "-.")
	name = name[:min(len(name), maxName-hashDigits-1)] + "-" + digits[:hashDigits]
	// A dot is valid between two letters or digits only.
	for strings.Contains(name, "..") || strings.Contains(name, "-.") || strings.Contains(name, ".-") {
		name = strings.NewReplacer("..", "--", "-.", "--", ".-", "--").Replace(name)
	}
	return strings.TrimLeft(name, "-")
}

func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
		return r
	}
	return '-'
}
