// SPDX-License-Identifier: Apache-2.0

// Package hostids gives tests host IDs that are easy to read. It imports nothing of the product, so that tests that measure memory can use it.
package hostids

import (
	"encoding/hex"
	"fmt"
	"regexp"
)

// UUID is the host ID that stands for a short text such as "h0" in tests: its letters, in hexadecimal. Texts sort as their host IDs do; "" is "".
func UUID(text string) string {
	if text == "" {
		return ""
	}
	var b [16]byte
	if copy(b[:], text) < len(text) {
		panic(fmt.Sprintf("%q is longer than a host ID", text))
	}
	x := hex.EncodeToString(b[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// hostIDs are the places in JSON, and in JSON inside JSON, that hold a host ID: a field, the annotation of a Service, and a value of ScyllaDB's list.
var hostIDs = regexp.MustCompile(`(?i)((?:hostID|host-id|coordinator|\\"value)\\*": ?\\*")([a-z][-_a-z0-9]{0,15})(\\*")`)

// UUIDs puts the UUID of each short text in JSON that stands for a host ID in its place: the recorded cases of the Scylla Operator have short ones, which it
// takes, and we do not.
func UUIDs(data string) string {
	return hostIDs.ReplaceAllStringFunc(data, func(m string) string {
		p := hostIDs.FindStringSubmatch(m)
		return p[1] + UUID(p[2]) + p[3]
	})
}
