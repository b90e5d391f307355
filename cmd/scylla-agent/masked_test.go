// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestNoHarm46NoPasswordInTheLog: whatever a container, ScyllaDB or a library has written.
func TestNoHarm46NoPasswordInTheLog(t *testing.T) {
	var out bytes.Buffer
	a := &agent{stderr: &out, logLevel: "info"}
	if err := a.setup(nil); err != nil {
		t.Fatal(err)
	}
	const statement, command = "CREATE ROLE a WITH PASSWORD = 'hunter2'", "nodetool -u a -pw hunter2 status"
	a.log.With("said", command).Info(statement, "why", statement, "error", errors.New(command), "blockers", []string{"b (rack2-0)", command},
		"hash", "salted_hash $6$hunter2hunter2$hunter2")
	if log := out.String(); strings.Contains(log, "hunter2") || strings.Count(log, "[redacted]") != 6 || !strings.Contains(log, "b (rack2-0)") {
		t.Error(log)
	}
}
