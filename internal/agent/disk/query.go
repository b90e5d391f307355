// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// MaxQuery bounds the query's output; a correct one has about 100 bytes.
const MaxQuery = 1 << 20

var (
	limitQuery = bounded.Limit{Bytes: MaxQuery, Cure: "set --query-file to the output file of the query container"}
	limitCode  = bounded.Limit{Bytes: 64, Cure: "it must contain an exit code"}
)

// query is the result of the query of system.local, which an init container wrote.
type query struct {
	Bootstrapped bootstrap.Bootstrapped
	// Detail is the result, or why it is unknown.
	Detail words.Message
	// HostID of the node on the volume; empty if the query did not return it.
	HostID hostid.ID
	// HasRow is set if the query has read a row: the volume has ScyllaDB's files.
	HasRow bool
}

// ReadQuery reads the query's standard output from file, and its exit code from file+".code".
// Without an exit code only the output counts: COMPLETED is ScyllaDB's own record.
func ReadQuery(file string) query {
	out, err := limitQuery.ReadFile("query file", file)
	if err != nil {
		return query{Detail: words.New(words.QueryLeftNoAnswer, "error", err.Error())}
	}
	code := -1
	if text, err := limitCode.ReadFile("exit code of the query", file+".code"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			code = n
		}
	}
	q := query{HostID: bootstrap.ParseHostID(out), HasRow: bytes.Contains(out, []byte(`"bootstrapped"`))}
	q.Bootstrapped, q.Detail = bootstrap.ParseQuery(out, code)
	return q
}
