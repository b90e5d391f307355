// SPDX-License-Identifier: Apache-2.0

package real

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential/cql"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// Probe is the part of the recorder that runs in a node's container, as `record probe WHAT`: it prints answers as JSON.
type Probe struct {
	// Address has REST API and supervisord; Dir is ScyllaDB's working directory. Shell runs the queries.
	Address, Dir, Shell string
	// Simulated is set where no file says so.
	Simulated bool
	client    http.Client
}

const simulated = "volume simulated"

// Run prints what is asked for: snapshot, volume, cql, or post PATH; signal sends TERM to the container's first process or STOP to
// ScyllaDB's.
func (p *Probe) Run(ctx context.Context, args []string, out io.Writer) error {
	p.client.Timeout = 5 * time.Second
	var answers []Answer
	switch what := append(args, "", "")[0]; what {
	case "snapshot":
		answers = p.snapshot(ctx)
	case "volume":
		answers = p.volume(ctx)
	case "cql":
		answers = p.cql(ctx)
	case "signal":
		return signal(args[1])
	case "post":
		a := p.ask(ctx, http.MethodPost, 10000, args[1], "")
		a.Path = "POST " + a.Path
		answers = []Answer{a}
	default:
		return fmt.Errorf("probe does not know %q", what)
	}
	return json.NewEncoder(out).Encode(answers)
}

func signal(name string) error {
	if name == "TERM" {
		return syscall.Kill(1, syscall.SIGTERM)
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	for _, n := range names {
		comm, gone := os.ReadFile(n)
		if pid, no := strconv.Atoi(strings.Split(n, "/")[2]); gone == nil && no == nil && pid > 1 && string(comm) == "scylla\n" {
			err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
		}
	}
	return err
}

func (p *Probe) ask(ctx context.Context, method string, port int, path, body string) Answer {
	a := Answer{Path: path}
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://%s:%d%s", p.Address, port, path), strings.NewReader(body))
	if err != nil {
		a.Body = err.Error()
		return a
	}
	resp, err := p.client.Do(req)
	if err != nil {
		a.Body = reason(err)
		return a
	}
	defer resp.Body.Close()
	a.Status = resp.StatusCode
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if a.Body = shorten(b); err != nil {
		a.Body += "\n" + reason(err)
	}
	return a
}

// shorten keeps five items of a long list, such as tokens.
func shorten(body []byte) string {
	var items []json.RawMessage
	if json.Unmarshal(body, &items) != nil || len(items) <= 20 {
		return string(body)
	}
	return fmt.Sprintf("%s and %d more", items[:5], len(items)-5)
}

// reason is an error without the addresses of the attempt.
func reason(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func (p *Probe) snapshot(ctx context.Context) (out []Answer) {
	values := map[string][]string{}
	for _, path := range Paths {
		name, rest, _ := strings.Cut(path, "{")
		if rest == "" {
			a := p.ask(ctx, http.MethodGet, 10000, path, "")
			out = append(out, a)
			gather(values, a)
			continue
		}
		for _, v := range values[strings.TrimSuffix(rest, "}")] {
			out = append(out, p.ask(ctx, http.MethodGet, 10000, name+url.PathEscape(v), ""))
		}
	}
	out = append(out, p.supervisor(ctx), p.files("files", "*", "*/*.m"))
	for _, port := range []string{"7000", "9042"} {
		out = append(out, p.port(ctx, port))
	}
	return out
}

// gather notes what an answer has to ask about: addresses, keyspaces, tasks.
func gather(values map[string][]string, a Answer) {
	var items []json.RawMessage
	_ = json.Unmarshal([]byte(a.Body), &items)
	for _, item := range items {
		var text string
		var pair struct {
			Key  string `json:"key"`
			Task string `json:"task_id"`
		}
		_, _ = json.Unmarshal(item, &text), json.Unmarshal(item, &pair)
		switch {
		case a.Path == "/storage_service/host_id" && !slices.Contains(values["address"], pair.Key):
			values["address"] = append(values["address"], pair.Key)
		case a.Path == "/storage_service/keyspaces?type=non_local_strategy":
			values["keyspace"] = append(values["keyspace"], text)
		case pair.Task != "":
			values["task"] = append(values["task"], pair.Task)
		}
	}
}

func (p *Probe) port(ctx context.Context, port string) Answer {
	a := Answer{Path: "port " + port, Body: "closed"}
	hosts := []string{p.Address}
	if own, err := net.InterfaceAddrs(); err == nil && p.Address == "127.0.0.1" {
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				hosts = append(hosts, n.IP.String())
			}
		}
	}
	for _, h := range hosts {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(h, port))
		if err == nil {
			_ = conn.Close()
			a.Body = "open"
		}
	}
	return a
}

var member = regexp.MustCompile(`<name>(statename|exitstatus|spawnerr)</name>\s*<value>(?:<\w+>)?([^<]*)`)

// supervisor asks supervisord, as the reporter does, and keeps what does not change by itself.
func (p *Probe) supervisor(ctx context.Context) Answer {
	a := p.ask(ctx, http.MethodPost, 9001, "/RPC2", `<?xml version="1.0"?><methodCall><methodName>supervisor.getProcessInfo`+
		`</methodName><params><param><value><string>scylla</string></value></param></params></methodCall>`)
	a.Path = "supervisord"
	var kept []string
	for _, m := range member.FindAllStringSubmatch(a.Body, -1) {
		kept = append(kept, m[1]+"="+m[2])
	}
	if slices.Sort(kept); len(kept) > 0 {
		a.Body = strings.Join(kept, " ")
	}
	return a
}

// files lists what matches below the working directory: mode, owner, whether it is empty, and name.
func (p *Probe) files(path string, patterns ...string) Answer {
	a := Answer{Path: path}
	var lines []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(p.Dir, pattern))
		if err != nil {
			a.Status = 1
		}
		for _, name := range names {
			fi, err := os.Lstat(name)
			if err != nil {
				continue
			}
			owner, size := "", "empty"
			if s, ok := fi.Sys().(*syscall.Stat_t); ok {
				owner = fmt.Sprintf("%d:%d", s.Uid, s.Gid)
			}
			if fi.Size() > 0 || !fi.Mode().IsRegular() {
				size = "-"
			}
			lines = append(lines, strings.Join([]string{fi.Mode().String(), owner, size, strings.TrimPrefix(name, p.Dir+"/")}, " "))
		}
	}
	slices.Sort(lines)
	a.Body = strings.Join(lines, "\n")
	return a
}

// Queries are run on a volume, by the shell, as the query container of `inject` runs them.
var Queries = []struct{ name, table, query string }{
	{"query", "local", "SELECT bootstrapped, host_id FROM scylla_sstable.local"},
	{"columns", "local", "SELECT * FROM scylla_sstable.local"},
	{"group 0", "scylla_local", "SELECT value FROM scylla_sstable.scylla_local WHERE key = 'raft_group0_id'"},
}

func (p *Probe) volume(ctx context.Context) []Answer {
	out := []Answer{p.files("volume files", "*", "commitlog/*", "commitlog/schema/*", "schema_commitlog/*",
		"data/system/local-*/*-Data.db", "data/system/scylla_local-*/*-Data.db"), {Path: simulated, Body: "no"}}
	if _, err := os.Stat("/etc/scyllasim"); err == nil || p.Simulated {
		out[1].Body = "yes"
	}
	for _, q := range Queries {
		// The pattern stands for itself where no file matches; a second query has no file at all, as after `shopt -s nullglob`.
		for _, v := range []struct{ name, files string }{
			{q.name, fmt.Sprintf(" %s/data/system/%s-*/*-Data.db", p.Dir, q.table)}, {q.name + " without files", ""},
		} {
			script := fmt.Sprintf(`/usr/bin/scylla sstable query --system-schema --scylla-data-dir=%s/data --output-format=json `+
				`--keyspace=system --table=%s --query="%s"%s`, p.Dir, q.table, q.query, v.files)
			if v.files != "" || q.name == "query" {
				out = append(out, p.command(ctx, "volume "+v.name, script)...)
			}
		}
	}
	return out
}

func (p *Probe) command(ctx context.Context, name, script string) []Answer {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Shell, "-c", script)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	a := Answer{Path: name, Body: stdout.String()}
	if cmd.ProcessState != nil {
		a.Status = cmd.ProcessState.ExitCode()
	} else if err != nil {
		a.Status, a.Body = -1, err.Error()
	}
	return []Answer{a, {Path: name + ", standard error", Status: a.Status, Body: stderr.String()}}
}

// cql makes a first role in the ways that exist, and tells of each step only the reason of a refusal and ScyllaDB's number.
func (p *Probe) cql(ctx context.Context) (out []Answer) {
	note := func(what string, err error) bool {
		a := Answer{Path: "cql " + what, Body: "ok"}
		if f, ok := errors.AsType[*credential.Failure](err); ok {
			a.Status, a.Body = f.Server, fmt.Sprint(f.Reason)
		} else if err != nil {
			a.Status, a.Body = -1, reason(err)
		}
		out = append(out, a)
		return err == nil
	}
	config, err := cql.Detect(ctx, scylla.NewClient("http://"+p.Address+":10000", nil))
	if !note("settings", err) {
		return out
	}
	db := cql.Database{Config: config}
	first := credential.Secret{Username: "recorder", Password: credential.NewPassword()}
	factory := credential.Login{Secret: credential.Secret{Username: "cassandra", Password: credential.PasswordOf("cassandra")}}
	try := func(what string, as credential.Login, then func(credential.Session)) {
		s, err := db.Open(ctx, as)
		if note(what, err) {
			then(s)
			s.Close()
		}
	}
	create := func(where string) func(credential.Session) {
		return func(s credential.Session) {
			_, found, err := s.Role(ctx, "cassandra")
			note(fmt.Sprintf("%s: role cassandra exists: %t", where, found), err)
			note(where+": create a role", s.Create(ctx, first))
		}
	}
	nothing := func(credential.Session) {}
	try("login as cassandra", factory, nothing)
	try("login by the maintenance socket", credential.Login{Socket: true}, create("socket"))
	try("login as cassandra, then", factory, create("cassandra"))
	try("login as the new role", credential.Login{Secret: first}, func(s credential.Session) {
		note("new role: close cassandra", s.CloseDefault(ctx))
	})
	try("login as cassandra, closed", factory, nothing)
	return out
}
