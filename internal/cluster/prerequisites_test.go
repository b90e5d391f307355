// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"testing"

	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

func TestMissingIn(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]",
		`MountVolume.SetUp failed for volume "tls" : secret "demo-local-serving-certs" not found`:               "[secret/demo-local-serving-certs]",
		`MountVolume.SetUp failed for volume "all" : [configmap "demo-b" not found, secret "demo-a" not found]`: "[configmap/demo-b secret/demo-a]",
		`configmap "demo-b" not found`:                                              "[configmap/demo-b]",
		`Error: secret "demo-tls" not found` + "\n" + `secret "demo-tls" not found`: "[secret/demo-tls]",
		`persistentvolumeclaim "data" not found`:                                    "[]",
		`mysecret "x" not found`:                                                    "[]",
		`secret "a;$(reboot)" not found`:                                            "[]",
		`secret "A" not found`:                                                      "[]",
		"secret \"a\x1b[31m\" not found":                                            "[]",
		`references non-existent secret key: tls.key`:                               "[]",
	} {
		if got := fmt.Sprint(MissingIn(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
