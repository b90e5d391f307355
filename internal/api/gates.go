// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strconv"
	"strings"
)

// GateBootstrapSynchronisation is the only feature gate; its default is true.
const GateBootstrapSynchronisation = "BootstrapSynchronisation"

// ParseFeatureGates parses "BootstrapSynchronisation=true|false" (a comma-separated list as in
// Kubernetes; empty means true). It returns whether bootstrap synchronisation is on. The error
// names the unknown gate or value.
func ParseFeatureGates(text string) (enabled bool, err error) {
	enabled = true
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if name != GateBootstrapSynchronisation {
			return false, fmt.Errorf("unknown feature gate %q: use %s", name, GateBootstrapSynchronisation)
		}
		if enabled, err = strconv.ParseBool(value); err != nil {
			return false, fmt.Errorf("invalid feature gate %s=%q: must be true or false", name, value)
		}
	}
	return enabled, nil
}
