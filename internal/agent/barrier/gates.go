// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"fmt"
	"strconv"
	"strings"
)

// GateBootstrapSynchronisation is the one feature gate there is, on unless switched off.
const GateBootstrapSynchronisation = "BootstrapSynchronisation"

// ParseFeatureGates reads "BootstrapSynchronisation=true|false" (a comma-separated list, in the form of Kubernetes' components; empty is the default) and returns whether bootstrap
// synchronisation is on. The error names the unknown gate or value.
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
