// SPDX-License-Identifier: Apache-2.0

package real

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// sample is of the simulated image, by podman.
const sample = "testdata/simulated-2026.2.0.json.gz"

var recording = flag.String("recording", sample, "file of make real")

// model records what scyllasim does as this release.
func model(t *testing.T, v release.Version) *Recording {
	t.Helper()
	e := newProcesses(t, fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch))
	m := NewMask()
	r, err := NewRecorder(e, m, t.Output(), time.Second/speed).Record(t.Context(), "scyllasim", Situations)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/model.json.gz"
	if err := r.Write(file, m); err != nil {
		t.Fatal(err)
	}
	if r, err = Read(file); err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	confirmed   = "confirmed"
	refuted     = "REFUTED"
	notRecorded = "not recorded"
)

// judge compares what a recording shows with the fact.
func (x rule) judge(r *Recording, v release.Version) (verdict, got, want string) {
	want = x.want(v)
	got, ok := x.get(r)
	switch {
	case !ok:
		return notRecorded, "", want
	case got == want:
		return confirmed, got, want
	case r.Simulated && x.unsimulated:
		return "not simulated", got, want
	}
	return refuted, got, want
}

// TestRecording judges each rule by a recording, and by scyllasim as the same release.
func TestRecording(t *testing.T) {
	r, err := Read(*recording)
	if err != nil {
		t.Fatal(err)
	}
	v, err := release.Parse(r.Release)
	if err != nil {
		t.Fatal(err)
	}
	sim := model(t, v)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "fact\tsource\tderived\trecording\tscyllasim\trecorded value\n")
	for _, x := range rules {
		verdict, got, want := x.judge(r, v)
		simVerdict, simGot, _ := x.judge(sim, v)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.60s\n", x.name, x.source, map[bool]string{true: "[derived]"}[x.derived], verdict, simVerdict, got)
		t.Run(x.name, func(t *testing.T) {
			if verdict == refuted {
				t.Errorf("%s: the recording of %s has %q, the fact (%s) is %q", x.name, r.Release, got, x.source, want)
			}
			if simVerdict == refuted {
				t.Errorf("%s: scyllasim as %s has %q, the fact (%s) is %q", x.name, r.Release, simGot, x.source, want)
			}
		})
	}
	_ = w.Flush()
	for _, s := range r.Situations {
		for _, step := range s.Steps {
			if step.Error != "" {
				fmt.Fprintf(&table, "situation %q, step %q failed: %s\n", s.Name, step.Do, step.Error)
			}
		}
	}
	t.Logf("recording of %s by %s, simulated: %t\n%s", r.Release, r.Engine, r.Simulated, &table)
}

// A recording that differs in one answer is refuted by the name of its rule, and by no other.
func TestOneDifferenceIsNamed(t *testing.T) {
	tests := map[string]struct {
		situation, node, path string
		plant                 Answer
		names                 string
	}{
		"a query": {"first start", "a", "volume query without files", Answer{Status: 2}, "a query without files prints []"},
		"a mode":  {"decommission", "c2", opMode, Answer{Status: 200, Body: `"LEFT"`}, "a decommissioned node has this mode"},
		"a login": {"first credential", "g", "cql login as the new role", Answer{Status: 256, Body: "Incorrect"}, "the new role can log in"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Read(sample)
			if err != nil {
				t.Fatal(err)
			}
			v, err := release.Parse(r.Release)
			if err != nil {
				t.Fatal(err)
			}
			answers := r.Situation(tc.situation).Answers
			for i, a := range answers {
				if a.Node == tc.node && a.Path == tc.path {
					answers[i].Status, answers[i].Body = tc.plant.Status, tc.plant.Body
				}
			}
			var named []string
			for _, x := range rules {
				if verdict, _, _ := x.judge(r, v); verdict == refuted || verdict == notRecorded && x.name == tc.names {
					named = append(named, x.name)
				}
			}
			if diff := cmp.Diff([]string{tc.names}, named); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The recorder queries every path that the product reads.
func TestPaths(t *testing.T) {
	read := map[string]bool{}
	dir := "../../internal/scylla"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.HasPrefix(l.Value, `"/`) {
				read[strings.Trim(l.Value, `"`)] = true
			}
			return true
		})
	}
	// The names of options are joined at run time.
	delete(read, "/v2/config/")
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read[r.URL.Path] = true
		answer, has := map[string]string{"/v2/config/maintenance_socket": `"workdir"`, "/v2/config/client_encryption_options": "{}",
			"/v2/config/native_transport_port": "1", "/v2/config/native_transport_port_ssl": "1"}[r.URL.Path]
		if !has {
			answer = `""`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer node.Close()
	if _, err := scylla.NewClient(node.URL, nil).Authentication(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path := range read {
		if path == "/" || path == "/cql.m" || path == "/var/lib/scylla" || strings.HasPrefix(path, "/storage_service/keyspace_flush/") { // situation flush
			continue
		}
		if !slices.ContainsFunc(Paths, func(p string) bool {
			return p == path || strings.HasSuffix(path, "/") && strings.HasPrefix(p, path+"{")
		}) {
			t.Errorf("the product reads %s and the recorder does not: add it to Paths", path)
		}
	}
	if len(read) < 30 {
		t.Errorf("only %d paths found: the test no longer finds what the product reads", len(read))
	}
}

func TestMask(t *testing.T) {
	m := NewMask("build-host-7", "root", "vm")
	m.Name("8ebd0fc0-1111-4111-8111-111111111111", "host-a")
	m.Name("10.213.77.11", "addr-a")
	for in, want := range map[string]string{
		"on build-host-7 as root in vm":                          "on machine as root in vm",
		"8EBD0FC0-1111-4111-8111-111111111111/10.213.77.11:9042": "host-a/addr-a:9042",
		"peer:10.213.77.11:7000":                                 "peer:addr-a:7000",
		"std::runtime_error (x) at 15:25:37,374":                 "std::runtime_error (x) at 15:25:37,374",
		"127.0.0.1 0.0.0.0 ::1 2026.2.0-0.20260708.eb7":          "127.0.0.1 0.0.0.0 ::1 2026.2.0-0.20260708.eb7",
		"00000000-0000-0000-0000-000000000000":                   "00000000-0000-0000-0000-000000000000",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	once := m.Text("192.168.3.4 fd00::7 c0ffee00-2222-4222-8222-222222222222")
	if strings.Contains(once, "192.") || strings.Contains(once, "fd00") || strings.Contains(once, "c0ffee") {
		t.Error(once)
	}
	if again := m.Text("192.168.3.4 fd00::7 c0ffee00-2222-4222-8222-222222222222"); again != once {
		t.Errorf("%q, then %q", once, again)
	}
}
