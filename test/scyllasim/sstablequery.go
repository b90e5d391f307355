// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Exit codes of `scylla sstable`.
const (
	exitOK          = 0
	exitBadArgs     = 1
	exitFailed      = 2
	exitUnknownTool = 100
)

// sstableOperations are what versions before 2025.2 offer.
var sstableOperations = []string{
	"dump-data", "dump-index", "dump-compression-info", "dump-summary", "dump-statistics", "dump-scylla-metadata",
	"validate", "scrub", "validate-checksums", "decompress", "write", "script", "shard-of",
}

var selectRE = regexp.MustCompile(`(?is)^\s*SELECT\s+(.+?)\s+FROM\s+scylla_sstable\s*\.\s*("?)([a-z_0-9]+)"?\s*(?:WHERE\s+.*)?;?\s*$`)

var localColumns = []string{
	"key", "bootstrapped", "broadcast_address", "cluster_name", "data_center", "gossip_generation", "host_id",
	"listen_address", "rack", "release_version", "rpc_address",
}

// SSTableCommand is `scylla sstable <args>`: the result goes to stdout alone. It knows one operation, query, on one table, system.local.
func SSTableCommand(v Version, args []string, env func(string) string, stdout, stderr io.Writer) int {
	say := func(format string, a ...any) { _, _ = fmt.Fprintf(stderr, format+"\n", a...) }
	ops := sstableOperations
	if v.sstableQuery() {
		ops = append(slices.Clone(ops), "query")
	}
	op := ""
	if len(args) > 0 {
		op = args[0]
	}
	if !slices.Contains(ops, op) {
		say("error: unrecognized operation argument: expected one of (%s), got %s", strings.Join(ops, ", "), op)
		return exitUnknownTool
	}
	if op != "query" {
		say("error running operation: std::runtime_error (%s is not simulated)", op)
		return exitFailed
	}
	opt := map[string]string{"output-format": "text"}
	var files []string
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "-q" {
			a = "--query"
		}
		name, isOpt := strings.CutPrefix(a, "--")
		if !isOpt {
			files = append(files, a)
			continue
		}
		name, val, has := strings.Cut(name, "=")
		switch name {
		case "system-schema":
			opt[name] = "true"
			continue
		case "scylla-data-dir", "keyspace", "table", "output-format", "query", "query-file", "scylla-yaml-file", "schema-file",
			"logger-log-level", "default-log-level", "smp", "memory", "sstable-schema":
		default:
			say("error: unrecognised option '%s'", args[i])
			return exitFailed
		}
		if !has {
			i++
			if i >= len(args) {
				say("error: the required argument for option '--%s' is missing", name)
				return exitFailed
			}
			val = args[i]
		}
		opt[name] = val
	}
	if opt["smp"] != "" && opt["smp"] != "1" {
		say("error running operation: std::runtime_error (query is only supported with --smp=1)")
		return exitFailed
	}
	if f := opt["query-file"]; f != "" && opt["query"] == "" {
		b, err := os.ReadFile(f)
		if err != nil {
			say("error processing arguments: std::system_error (%v)", err)
			return exitBadArgs
		}
		opt["query"] = string(b)
	}
	if opt["output-format"] != "json" && opt["output-format"] != "text" {
		say("error processing arguments: invalid value for option output-format: %s", opt["output-format"])
		return exitBadArgs
	}
	if opt["system-schema"] == "" || opt["keyspace"] != "system" || opt["table"] != localTableName {
		say("error processing arguments: could not load schema via system-schema: table %s.%s is not known to this simulator", opt["keyspace"], opt["table"])
		return exitBadArgs
	}
	cols, err := selectedColumns(opt["query"])
	if err != nil {
		say("error processing arguments: %v", err)
		return exitBadArgs
	}
	row, found, code, err := loadSSTables(files)
	if err != nil {
		if code == exitBadArgs {
			say("error loading sstables: %v", err)
		} else {
			say("error running operation: %v", err)
		}
		return code
	}
	// The query runs in a CQL environment that lives in a temporary directory.
	tmp := env("TEMPDIR")
	if tmp == "" {
		tmp = "/tmp"
	}
	dir, err := os.MkdirTemp(tmp, "scylla-sstable-")
	if err != nil {
		say("error running operation: std::filesystem::__cxx11::filesystem_error (%v)", err)
		return exitFailed
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if opt["output-format"] == "text" {
		_, _ = io.WriteString(stdout, textResult(cols, row, found))
		return exitOK
	}
	out := "[]"
	if found {
		var b strings.Builder
		for i, c := range cols {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + c + `":`)
			switch val := row[c].Value; {
			case val != nil:
				j, _ := json.Marshal(*val) // a string always encodes
				b.Write(j)
			case v.sstableNullBug():
				// These versions print null and then the missing value, whatever that is in memory.
				if env("SCYLLASIM_NULL_BUG") == "crash" {
					say("Segmentation fault on shard 0, in scheduling group main.")
					return 139
				}
				b.WriteString(`null""`)
			default:
				b.WriteString("null")
			}
		}
		out = "[{" + b.String() + "}]"
	}
	_, _ = io.WriteString(stdout, out)
	return exitOK
}

func selectedColumns(query string) ([]string, error) {
	if query == "" {
		return nil, errors.New("missing required option: exactly one of --query and --query-file must be provided")
	}
	m := selectRE.FindStringSubmatch(query)
	if m == nil {
		return nil, fmt.Errorf("query must be a single SELECT on scylla_sstable.%s: %s", localTableName, query)
	}
	if m[3] != localTableName {
		return nil, fmt.Errorf("exceptions::invalid_request_exception (unconfigured table %s)", m[3])
	}
	if strings.TrimSpace(m[1]) == "*" {
		return localColumns, nil
	}
	var cols []string
	for _, c := range splitList(m[1]) {
		c = strings.ToLower(strings.Trim(c, `"`))
		if !slices.Contains(localColumns, c) {
			return nil, fmt.Errorf("exceptions::invalid_request_exception (Unrecognized name %s)", c)
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// loadSSTables merges the rows of all files. Without a file there is no row, and that is no error.
func loadSSTables(files []string) (map[string]cell, bool, int, error) {
	row := map[string]cell{}
	found := false
	var seen []string
	for _, f := range files {
		base, isData := strings.CutSuffix(f, "Data.db")
		abs, err := filepath.Abs(f)
		if err != nil || !isData {
			return nil, false, exitBadArgs, fmt.Errorf("std::runtime_error (%s: not a Data.db component)", f)
		}
		if slices.Contains(seen, abs) {
			return nil, false, exitBadArgs, fmt.Errorf("std::invalid_argument (duplicate sstable: %s)", f)
		}
		seen = append(seen, abs)
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, false, exitBadArgs, fmt.Errorf("std::invalid_argument (could not open sstable %s: %w)", f, err)
		}
		if toc, err := os.ReadFile(base + "TOC.txt"); err != nil || !strings.Contains(string(toc), "Data.db") {
			return nil, false, exitBadArgs, fmt.Errorf("sstables::malformed_sstable_exception (%sTOC.txt: file not found or invalid)", base)
		}
		t, err := decodeSSTable(b)
		switch {
		case errors.Is(err, errBadChecksum):
			return nil, false, exitFailed, fmt.Errorf("sstables::malformed_sstable_exception (failed checksum in %s)", f)
		case err != nil:
			return nil, false, exitBadArgs, fmt.Errorf("sstables::malformed_sstable_exception (%s: %w)", f, err)
		}
		mergeRow(row, t.Row)
		found = true
	}
	return row, found, exitOK, nil
}

// textResult prints as cqlsh does.
func textResult(cols []string, row map[string]cell, found bool) string {
	if !found {
		return ""
	}
	var head, line, vals []string
	for _, c := range cols {
		v := "null"
		if p := row[c].Value; p != nil {
			v = *p
		}
		w := max(len(c), len(v))
		head = append(head, fmt.Sprintf(" %*s ", w, c))
		line = append(line, strings.Repeat("-", w+2))
		vals = append(vals, fmt.Sprintf(" %*s ", w, v))
	}
	return strings.Join(head, "|") + "\n" + strings.Join(line, "+") + "\n" + strings.Join(vals, "|") + "\n"
}
