// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ParseQuery parses the standard output of the query of system.local. A negative exitCode means
// unknown; then only the output counts. detail is the result, or the reason why the answer is
// Unknown.
//
// It never fails: a query without an answer leaves the decision to the cluster's rows. Yes means
// that a row has COMPLETED. The tool merges all SSTables, so there is at most one row; more are
// accepted.
func ParseQuery(stdout []byte, exitCode int) (answer Bootstrapped, detail words.Message) {
	switch {
	case exitCode == 1:
		return BootstrappedUnknown, words.New(words.QueryLoadedNoSSTable)
	case exitCode == 2:
		return BootstrappedUnknown, words.New(words.QueryFailed)
	case exitCode == 100:
		return BootstrappedUnknown, words.New(words.QueryNotKnown)
	case exitCode > 0:
		return BootstrappedUnknown, words.New(words.QueryExitCode, "exitCode", exitCode)
	}
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return BootstrappedUnknown, words.New(words.QueryPrintedNothing)
	}
	var rows []struct {
		Bootstrapped *string `json:"bootstrapped"`
	}
	if err := json.Unmarshal(stdout, &rows); err != nil {
		return BootstrappedUnknown, words.New(words.QueryPrintedSomethingElse, "error", err.Error())
	}
	answer, detail = BootstrappedNo, words.New(words.QueryFoundNoRow)
	for _, row := range rows {
		switch {
		case row.Bootstrapped == nil:
			if answer == BootstrappedNo {
				detail = words.New(words.QueryFoundNull)
			}
		case *row.Bootstrapped == "COMPLETED":
			return BootstrappedYes, words.New(words.QueryFound, "state", "COMPLETED")
		case *row.Bootstrapped == "DECOMMISSIONED":
			answer, detail = BootstrappedDecommissioned, words.New(words.QueryFound, "state", "DECOMMISSIONED")
		case answer == BootstrappedNo:
			detail = words.New(words.QueryFound, "state", fmt.Sprintf("%.40q", *row.Bootstrapped))
		}
	}
	return answer, detail
}

// ParseHostID parses the host ID in the standard output of the query, in lower case; empty if it is
// missing or malformed.
func ParseHostID(stdout []byte) hostid.ID {
	var rows []struct {
		HostID string `json:"host_id"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(stdout), &rows); err != nil {
		return ""
	}
	for _, row := range rows {
		if id, err := hostid.Parse(row.HostID); err == nil {
			return id
		}
	}
	return ""
}

// ParseGroup0ID parses the ID of the node's group 0 in the standard output of the query of
// system.scylla_local, in lower case. Empty if it is absent (new volume, failed query) or not a
// UUID. A node keeps it there from its join on, and it identifies its cluster.
func ParseGroup0ID(stdout []byte) string {
	var rows []struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(stdout), &rows); err != nil || len(rows) != 1 {
		return ""
	}
	return string(hostid.Known(rows[0].Value))
}
