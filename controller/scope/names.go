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

// ObjectName makes an object's name of parts as the Scylla Operator does: the parts joined by dashes, a dash, and 5 digits in base 36 of the FNV-1a
// hash of the parts. A name that is too long is cut, upper case becomes lower case; the hash keeps names distinct.
func ObjectName(parts ...string) string {
	// A JSON array and a newline keep ("a", "b-c") and ("a-b", "c") apart. Strings always marshal.
	b, _ := json.Marshal(parts)
	h := fnv.New64a()
	_, _ = h.Write(append(b, '\n'))
	digits := strconv.FormatUint(h.Sum64(), 36)
	for len(digits) < hashDigits {
		digits += "0"
	}
	name := strings.ToLower(strings.Join(parts, "-"))
	name = name[:min(len(name), maxName-hashDigits-1)]
	return name + "-" + digits[:hashDigits]
}
