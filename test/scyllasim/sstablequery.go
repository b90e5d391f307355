// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

var selectRE = regexp.MustCompile(`(?is)^\s*SELECT\s+(.+?)\s+FROM\s+scylla_sstable\s*\.\s*("?)([a-z_0-9]+)"?\s*(?:WHERE\s+(.*?))?;?\s*$`)

var keyRE = regexp.MustCompile(`(?i)^key\s*=\s*'([^']*)'$`)

var localColumns = []string{
	"key", "bootstrapped", "broadcast_address", "cluster_name", "data_center", "gossip_generation", "host_id",
	"listen_address", "rack", "release_version", "rpc_address",
}

// tableColumns are the tables that the tool knows here.
var tableColumns = map[string][]string{localTableName: localColumns, scyllaLocalTableName: {"key", "value"}}

// SSTableCommand is `scylla sstable <args>`: the result goes to stdout alone. It knows one operation, query, on two tables, system.local and
// system.scylla_local.
func SSTableCommand(v rules.Version, args []string, env func(string) string, stdout, stderr io.Writer) int {
	say := func(format string, a ...any) { _, _ = fmt.Fprintf(stderr, format+"\n", a...) }
	op := ""
	if len(args) > 0 {
		op = args[0]
	}
	if op != "query" || !v.SSTableQuery() {
		say("error: unrecognized operation argument: expected one of (dump-data, ...), got %s", op)
		return exitUnknownTool
	}
	q, err := parseSSTableQuery(args[1:])
	if err == nil {
		err = q.run(v, env, stdout)
	}
	var se *sstableError
	if errors.As(err, &se) {
		say("%s", se.what)
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

// sstableQuery is one `scylla sstable query`.
type sstableQuery struct {
	options map[string]*string
	files   []string
	columns []string
	key     string // of the row that is asked for; empty asks for all
}

func parseSSTableQuery(args []string) (*sstableQuery, error) {
	flags := pflag.NewFlagSet("query", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	system, q := flags.Bool("system-schema", false, ""), &sstableQuery{options: map[string]*string{}}
	for _, name := range []string{"scylla-data-dir", "keyspace", "table", "output-format", "query", "smp", "memory"} {
		q.options[name] = flags.String(name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return nil, failTool(exitFailed, "error: %v", err)
	}
	q.files = flags.Args()
	return q, q.check(*system)
}

// check refuses what the tool refuses before it opens an SSTable, and reads the query.
func (q *sstableQuery) check(system bool) error {
	opt := func(name string) string { return *q.options[name] }
	if opt("smp") != "" && opt("smp") != "1" {
		return failTool(exitFailed, "error running operation: std::runtime_error (query is only supported with --smp=1)")
	}
	if opt("output-format") != "json" {
		return failTool(exitBadArgs, "error processing arguments: invalid value for option output-format: %s", opt("output-format"))
	}
	if !system || opt("keyspace") != "system" || tableColumns[opt("table")] == nil {
		return failTool(exitBadArgs, "error processing arguments: could not load schema via system-schema: table %s.%s is not known to this simulator",
			opt("keyspace"), opt("table"))
	}
	var err error
	if q.columns, q.key, err = selected(opt("table"), opt("query")); err != nil {
		return failTool(exitBadArgs, "error processing arguments: %v", err)
	}
	return nil
}

func (q *sstableQuery) run(v rules.Version, env func(string) string, stdout io.Writer) error {
	row, found, err := loadSSTables(q.files)
	if err != nil {
		return err
	}
	if v := row["key"].Value; q.key != "" && (v == nil || *v != q.key) {
		found = false
	}
	// The query runs in a CQL environment that lives in a temporary directory.
	dir, err := os.MkdirTemp(cmp.Or(env("TEMPDIR"), "/tmp"), "scylla-sstable-")
	if err != nil {
		return failTool(exitFailed, "error running operation: std::filesystem::__cxx11::filesystem_error (%v)", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out, err := jsonResult(v, q.columns, row, found)
	if err != nil {
		return err
	}
	_, _ = io.WriteString(stdout, out)
	return nil
}

// jsonResult prints one row, or none. Text, addresses and UUIDs are strings.
func jsonResult(v rules.Version, cols []string, row map[string]cell, found bool) (string, error) {
	if !found {
		return "[]", nil
	}
	var b strings.Builder
	for i, c := range cols {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + c + `":`)
		switch val := row[c].Value; {
		case val != nil && c == "gossip_generation":
			b.WriteString(*val)
		case val != nil:
			j, err := json.Marshal(*val)
			if err != nil {
				return "", failTool(exitFailed, "error running operation: %v", err)
			}
			b.Write(j)
		case v.SSTableNullBug():
			// These versions print null and then the missing value, whatever that is in memory.
			b.WriteString(`null""`)
		default:
			b.WriteString("null")
		}
	}
	return "[{" + b.String() + "}]", nil
}

// selected are the columns and the key that a query on a table asks for.
func selected(table, query string) (cols []string, key string, err error) {
	if query == "" {
		return nil, "", errors.New("missing required option: exactly one of --query and --query-file must be provided")
	}
	m := selectRE.FindStringSubmatch(query)
	if m == nil {
		return nil, "", fmt.Errorf("query must be a single SELECT on scylla_sstable.%s: %s", table, query)
	}
	if m[3] != table {
		return nil, "", fmt.Errorf("exceptions::invalid_request_exception (unconfigured table %s)", m[3])
	}
	if m[4] != "" {
		k := keyRE.FindStringSubmatch(strings.TrimSpace(m[4]))
		if k == nil {
			return nil, "", fmt.Errorf("exceptions::invalid_request_exception (this simulator knows no restriction but key = '...': %s)", m[4])
		}
		key = k[1]
	}
	known := tableColumns[table]
	if strings.TrimSpace(m[1]) == "*" {
		return known, key, nil
	}
	for _, c := range splitList(m[1]) {
		c = strings.ToLower(strings.Trim(c, `"`))
		if !slices.Contains(known, c) {
			return nil, "", fmt.Errorf("exceptions::invalid_request_exception (Unrecognized name %s)", c)
		}
		cols = append(cols, c)
	}
	return cols, key, nil
}

// loadSSTables merges the rows of all files. Without a file there is no row, and that is no error.
func loadSSTables(files []string) (row map[string]cell, found bool, err error) {
	row = map[string]cell{}
	loading := func(format string, a ...any) error {
		return failTool(exitBadArgs, "error loading sstables: "+format, a...)
	}
	var seen []string
	for _, f := range files {
		base, isData := strings.CutSuffix(f, "Data.db")
		abs, err := filepath.Abs(f)
		if err != nil || !isData {
			return nil, false, loading("std::runtime_error (%s: not a Data.db component)", f)
		}
		if slices.Contains(seen, abs) {
			return nil, false, loading("std::invalid_argument (duplicate sstable: %s)", f)
		}
		seen = append(seen, abs)
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, false, loading("std::invalid_argument (could not open sstable %s: %v)", f, err)
		}
		if toc, err := os.ReadFile(base + "TOC.txt"); err != nil || !strings.Contains(string(toc), "Data.db") {
			return nil, false, loading("sstables::malformed_sstable_exception (%sTOC.txt: file not found or invalid)", base)
		}
		t, err := decodeSSTable(b)
		switch {
		case errors.Is(err, errBadChecksum):
			return nil, false, failTool(exitFailed, "error running operation: sstables::malformed_sstable_exception (failed checksum in %s)", f)
		case err != nil:
			return nil, false, loading("sstables::malformed_sstable_exception (%s: %v)", f, err)
		}
		mergeRow(row, t.Row)
		found = true
	}
	return row, found, nil
}
