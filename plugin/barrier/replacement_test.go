// SPDX-License-Identifier: Apache-2.0

package barrier_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// The output for a member past its barrier whose replacement failed must say more than that it may start.
func TestBarrierOfReplacements(t *testing.T) {
	const member = "demo-dc1-rack3-0"
	failed := plugintest.New(4, 1).Replacing(member).Exited(member, 1).Objects()
	plugintest.Screens(t, map[string]plugintest.Run{
		"a failed replacement": {Args: []string{"barrier", member, "-n", "demo"}, Objects: failed},
		"a failed replacement as JSON": {Args: []string{"barrier", member, "-n", "demo", "-o", "jsonpath={.items[0].replacement}{\"\\n\"}{.items[0].verdict.notes}"},
			Objects: failed},
	}, plugintest.Run.Transcript)
}
