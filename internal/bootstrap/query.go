// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ParseQuery reads the standard output of the query of system.local. A negative exitCode means that it is not known, and the output
// alone counts. detail says in words what was found, or why the answer is Unknown.
//
// No output makes it fail: a query that could not answer leaves the question to the cluster. Yes means that a row says COMPLETED;
// the tool merges all SSTables, so that there is one row at most, and more are accepted.
func ParseQuery(stdout []byte, exitCode int) (answer Bootstrapped, detail string) {
	switch {
	case exitCode == 1:
		return BootstrappedUnknown, "the query could not load an SSTable of system.local (exit code 1), as on an empty data directory"
	case exitCode == 2:
		return BootstrappedUnknown, "the query failed while it ran (exit code 2)"
	case exitCode == 100:
		return BootstrappedUnknown, "this ScyllaDB has no sstable query, it is older than 2025.2 (exit code 100)"
	case exitCode > 0:
		return BootstrappedUnknown, fmt.Sprintf("the query ended with exit code %d", exitCode)
	}
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return BootstrappedUnknown, "the query printed nothing"
	}
	var rows []struct {
		Bootstrapped *string `json:"bootstrapped"`
	}
	if err := json.Unmarshal(stdout, &rows); err != nil {
		return BootstrappedUnknown, "the query printed something that is not its result: " + err.Error()
	}
	answer, detail = BootstrappedNo, "system.local has no row"
	for _, row := range rows {
		switch {
		case row.Bootstrapped == nil:
			if answer == BootstrappedNo {
				detail = "system.local says nothing of a bootstrap"
			}
		case *row.Bootstrapped == "COMPLETED":
			return BootstrappedYes, "system.local says COMPLETED"
		case *row.Bootstrapped == "DECOMMISSIONED":
			answer, detail = BootstrappedDecommissioned, "system.local says DECOMMISSIONED"
		case answer == BootstrappedNo:
			detail = fmt.Sprintf("system.local says %.40q", *row.Bootstrapped)
		}
	}
	return answer, detail
}
