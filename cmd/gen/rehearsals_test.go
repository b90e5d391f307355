// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// "At most" is held by what was measured.
func TestMeasuredTimesHold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timing timing
		ok     bool
	}{
		"within":              {timing{Documented: 22, Measured: 6.4}, true},
		"within the margin":   {timing{Documented: 17, Measured: 17.7}, true},
		"beyond it":           {timing{Documented: 29, Measured: 36.1}, false},
		"nothing is promised": {timing{Measured: 70.7}, true},
		"held, with no wait":  {timing{Documented: 5}, true},
	} {
		if err := tc.timing.holds(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
