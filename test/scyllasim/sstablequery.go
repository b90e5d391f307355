// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
	"github.com/spf13/pflag"
)

// Exit codes of `scylla sstable`.
const (
	exitOK          = 0
	exitBadArgs     = 1
	exitFailed      = 2
	exitUnknownTool = 100
)

var selectRE = regexp.MustCompile(`^SELECT (.+) FROM scylla_sstable\.(\w+)(?: WHERE key = '([^']*)')?$`)

// tableColumns are the tables that the tool knows here.
var tableColumns = map[string][]string{
	localTableName: {
		"key", "bootstrapped", "broadcast_address", "cluster_name", "data_center", "gossip_generation", "host_id",
		"listen_address", "rack", "release_version", "rpc_address",
	},
	scyllaLocalTableName: {"key", "value"},
}

// SSTableCommand is `scylla sstable <args>`: the result goes to stdout alone. It knows one operation, query, on two tables, system.local and
// system.scylla_local.
func SSTableCommand(v rules.Version, args []string, env func(string) string, stdout, stderr io.Writer) int {
	err := failTool(exitUnknownTool, "error: unrecognized operation argument: expected one of (dump-data, ...), got %s", strings.Join(args, " "))
	if len(args) > 0 && args[0] == "query" && v.SSTableQuery() {
		err = querySSTables(v, args[1:], env, stdout)
	}
	if se := new(sstableError); errors.As(err, &se) {
		_, _ = fmt.Fprintln(stderr, se.what)
		return se.code
	}
	return exitOK
}

// sstableError is what the tool prints on stderr, and its exit code.
type sstableError struct {
	code int
	what string
}

func (e *sstableError) Error() string { return e.what }

func failTool(code int, format string, a ...any) error {
	return &sstableError{code, fmt.Sprintf(format, a...)}
}

func querySSTables(v rules.Version, args []string, env func(string) string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("query", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	system, format := flags.Bool("system-schema", false, ""), flags.String("output-format", "", "")
	keyspace, table, query := flags.String("keyspace", "", ""), flags.String("table", "", ""), flags.String("query", "", "")
	for _, name := range []string{"scylla-data-dir", "smp", "memory"} {
		flags.String(name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return failTool(exitFailed, "error: %v", err)
	}
	q := append(selectRE.FindStringSubmatch(*query), "", "", "", "")
	columns := splitList(q[1])
	if q[1] == "*" {
		columns = tableColumns[*table]
	}
	unknown := func(c string) bool { return !slices.Contains(tableColumns[*table], c) }
	if !*system || *format != "json" || *keyspace != "system" || q[2] != *table || len(columns) == 0 || slices.ContainsFunc(columns, unknown) {
		return failTool(exitBadArgs, "error processing arguments: this simulator does not know %q", args)
	}
	row, found, err := loadSSTables(flags.Args())
	if err != nil {
		return err
	}
	// The query runs in a CQL environment that lives in a temporary directory.
	dir, err := os.MkdirTemp(cmp.Or(env("TEMPDIR"), "/tmp"), "scylla-sstable-")
	if err != nil {
		return failTool(exitFailed, "error running operation: std::filesystem::__cxx11::filesystem_error (%v)", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_, _ = io.WriteString(stdout, jsonResult(v, columns, row, found && (q[3] == "" || row["key"].Value == q[3])))
	return nil
}

// jsonResult prints one row, or none. Text, addresses and UUIDs are strings.
func jsonResult(v rules.Version, cols []string, row map[string]cell, found bool) string {
	if !found {
		return "[]"
	}
	var fields []string
	for _, c := range cols {
		value, has := row[c]
		switch {
		case c == "gossip_generation":
		case has:
			value.Value = strconv.Quote(value.Value)
		case v.SSTableNullBug():
			value.Value = `null""` // null and then the missing value, whatever that is in memory
		default:
			value.Value = "null"
		}
		fields = append(fields, strconv.Quote(c)+":"+value.Value)
	}
	return "[{" + strings.Join(fields, ",") + "}]"
}

// loadSSTables merges the rows of all files. Without a file there is no row, and that is no error.
func loadSSTables(files []string) (row map[string]cell, found bool, err error) {
	row = map[string]cell{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, false, failTool(exitBadArgs, "error loading sstables: std::invalid_argument (could not open sstable %s: %v)", f, err)
		}
		r, err := decodeSSTable(b)
		switch {
		case errors.Is(err, errBadChecksum):
			return nil, false, failTool(exitFailed, "error running operation: sstables::malformed_sstable_exception (failed checksum in %s)", f)
		case err != nil:
			return nil, false, failTool(exitBadArgs, "error loading sstables: sstables::malformed_sstable_exception (%s: %v)", f, err)
		}
		mergeRow(row, r)
	}
	return row, len(files) > 0, nil
}
