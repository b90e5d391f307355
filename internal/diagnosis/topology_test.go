// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"testing"
)

func TestNoHarm12ChangesTopology(t *testing.T) {
	for command, want := range map[string]bool{
		"": false, "status": false, "help decommission": false, "removenode status": false, "--help": false, "cleanup": false,
		"decommission": true, "removenode ID": true, "removenode force": true, "excludenode ID": true, "rebuild dc2": true, "-h 10.0.0.1 decommission": true,
		"drain": true, "stopdaemon": true, "disablegossip": true, "disablebinary": true, "assassinate 10.0.0.1": true, "move 1": true, "-p 7199 drain": true, "help drain": false, "statusbinary": false,
	} {
		if got := ChangesTopology(strings.Fields(command)); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
