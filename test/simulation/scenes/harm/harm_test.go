// SPDX-License-Identifier: Apache-2.0

// Package harm runs every read verb on every cluster that is known, and judges the commands that are printed.
package harm

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// harmful matches commands that delete, remove, replace, restart, open or override. It is not the program's own list (evidence.Destroys), so that a command
// which that list forgets is seen here.
var harmful = regexp.MustCompile(`(?:kubectl|nodetool) [^\n"` + "`" + `]*?\b(delete|removenode|decommission|assassinate|replace|force-proceed|force-bootstrap|reset|resume|scale|patch|label|annotate|drain|cordon|uncordon|edit|apply|rollout restart|--force|--ignore-dead|--skip-check)\b[^\n"` + "`" + `]*`)

// end is where a command ends in a sentence.
var end = regexp.MustCompile(`[.,;:)]+( .*)?$`)

// look matches those of them that only show something.
var look = regexp.MustCompile(`kubectl scylla (replace status|check|status|init --help)|--dry-run|kubectl uncordon|^nodetool clearsnapshot|…`)

// TestNoOutputNamesAStepThatHarms runs every read verb on every sample, scene, frequent call and saved cluster. testdata/harm.txt has each command that
// deletes, removes, replaces or opens with the clusters for which it may be printed: the reason for each must stand in the objects.
func TestNoOutputNamesAStepThatHarms(t *testing.T) {
	sources := cases(t)
	for _, s := range scenes.All(12) {
		sources["scene "+s.Name] = source{run: saved(plugintest.SavedYAML(t, s.Listed()), "demo")}
	}
	for name, call := range scenes.Calls() {
		sources["call "+name] = source{run: plugintest.Run{Args: []string{"-n", "demo"}, Objects: call.Objects, Logs: call.Logs}}
	}
	lines := map[string][]string{}
	for name, src := range sources {
		for _, command := range src.harm(t) {
			lines[command] = append(lines[command], name)
		}
	}
	var b strings.Builder
	for _, command := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[command])
		fmt.Fprintf(&b, "%s\n\t%s\n", command, strings.Join(lines[command], "\n\t"))
	}
	plugintest.Golden(t, "harm.txt", b.String())
}

// source is a saved cluster, with the log of one of its members.
type source struct {
	run         plugintest.Run
	member, log string
}

func saved(text []byte, namespace string) plugintest.Run {
	return plugintest.Run{Args: []string{"-n", namespace, "--from", "-"}, Stdin: string(text)}
}

// harm returns the commands that harm, of all read verbs.
func (s source) harm(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	do := func(args ...string) string {
		run := s.run
		run.Args = append(args, run.Args...)
		got := run.Do(t)
		text := strings.ReplaceAll(got.Stdout+got.Stderr, "\\\n", "")
		for _, command := range harmful.FindAllString(text, -1) {
			if !look.MatchString(command) {
				found[end.ReplaceAllString(strings.Join(strings.Fields(command), " "), "")] = true
			}
		}
		return got.Stdout
	}
	for _, verb := range []string{"status", "barrier", "dashboard --once", "replace status"} {
		do(strings.Fields(verb)...)
	}
	do("report", "-o", "json")
	for _, member := range s.ill(t, do("status", "-o", "json")) {
		do("describe", member)
		do("replace", member, "--dry-run=client")
	}
	if s.log != "" {
		do("describe", s.member, "--log", s.log)
	}
	return slices.Sorted(maps.Keys(found))
}

// ill returns the members that the findings of a status document name, at most six.
func (s source) ill(t *testing.T, document string) []string {
	t.Helper()
	type status struct {
		Findings []struct {
			Scope struct {
				Nodes []struct{ Member, HostID string }
			}
		}
	}
	var one struct {
		Items []status
		status
	}
	if err := json.Unmarshal([]byte(document), &one); err != nil {
		t.Errorf("%v: %v in %q", s.run.Args, err, document)
		return nil
	}
	var out []string
	for _, c := range append(one.Items, one.status) {
		for _, f := range c.Findings {
			for _, n := range f.Scope.Nodes {
				if name := cmp.Or(n.Member, n.HostID); !slices.Contains(out, name) && len(out) < 6 {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// cases are the samples, and the saved clusters of testdata, by name: from public threads, and as they were seen in trials. Their times are moved to plugintest.Now.
func cases(t *testing.T) map[string]source {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "cases.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]source{}
	for _, name := range []string{"healthy", "incident", "partition", "replacement", "multi-dc"} {
		out["sample "+name] = source{run: plugintest.Run{Args: []string{"--from", "sample:" + name}}}
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			maps.DeleteFunc(out, func(_ string, s source) bool { return len(s.run.Args) == 0 }) // a log whose cluster was not saved
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, rest, _ := strings.Cut(h.Name, ".")
		s := out[name]
		if member, isLog := strings.CutSuffix(rest, ".scylla.log"); isLog {
			s.member, s.log = member, filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(s.log, text, 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			if strings.HasPrefix(name, "large-") {
				s.run = saved(toNow(text, latest(text)), "prod")
			} else {
				s.run = saved(toNow(text, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), "db")
			}
		}
		out[name] = s
	}
}

var timestamp = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// toNow moves the times of a saved cluster so that the moment at which it was saved is plugintest.Now.
func toNow(text []byte, at time.Time) []byte {
	return timestamp.ReplaceAllFunc(text, func(b []byte) []byte {
		return []byte(parsed(b).Add(plugintest.Now.Sub(at)).UTC().Format(time.RFC3339))
	})
}

// latest returns the last time in a text. Those in the far future are of certificates.
func latest(text []byte) (last time.Time) {
	for _, b := range timestamp.FindAll(text, -1) {
		if at := parsed(b); at.After(last) && at.Year() < 2027 {
			last = at
		}
	}
	return last
}

func parsed(b []byte) time.Time {
	at, _ := time.Parse(time.RFC3339, string(b))
	return at
}
