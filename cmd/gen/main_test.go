// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	reportpage "github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/describe"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/remote"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/replace"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/version"
)

func TestGeneratedFilesAreThoseOfTheCommandTree(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"docs/reference/seeds.md": true} // written by hand
	for _, f := range files {
		known[f.name] = true
		have, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.name)))
		if err != nil {
			t.Errorf("%v: run `go run ./cmd/gen`", err)
			continue
		}
		if diff := cmp.Diff(string(have), string(f.data)); diff != "" {
			t.Errorf("%s is not what the command tree gives (-have +want), run `go run ./cmd/gen`:\n%s", f.name, diff)
		}
	}
	for _, pattern := range []string{"docs/reference/*.md", "completions/*"} {
		have, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range have {
			if rel := filepath.ToSlash(strings.TrimPrefix(name, filepath.Join("..", "..")+string(filepath.Separator))); !known[rel] {
				t.Errorf("%s is generated no more: remove it", rel)
			}
		}
	}
}

func TestGeneratedFilesHoldNothingOfThisMachine(t *testing.T) {
	t.Setenv("HOME", "/home/somebody-else")
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	again, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	second := map[string]string{}
	for _, f := range again {
		second[f.name] = string(f.data)
	}
	for _, f := range files {
		if strings.Contains(string(f.data), home) {
			t.Errorf("%s names the home folder", f.name)
		}
		if string(f.data) != second[f.name] {
			t.Errorf("%s differs from run to run", f.name)
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "dist", "man", "kubectl-scylla-gone.1")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AGENT_IMAGE", "registry.example.com/scylla-agent")
	if err := run(dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", stale, err)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "dist", "man", "kubectl-scylla-status.1")); err != nil || !strings.Contains(string(page), "kubectl scylla status") {
		t.Errorf("the man page of status: %v\n%.200s", err, page)
	}
	for name, want := range map[string]string{"Chart.yaml": "version: 1.2.3\nappVersion: 1.2.3\n", "values.yaml": "image: registry.example.com/scylla-agent:1.2.3\n", "templates/crds.yaml": "keep"} {
		if b, err := os.ReadFile(filepath.Join(dir, "dist", "chart", name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("the chart of a release: %s: %v, want %q", name, err, want)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "completions", "kubectl_complete-scylla"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&0o111 == 0 {
		t.Errorf("kubectl_complete-scylla is not executable: %v", info.Mode())
	}
}

// What the page of codes must have: every reason, every finding, all evidence, and only commands that exist.
func TestCodesAreComplete(t *testing.T) {
	page, used := codesPage()
	for _, r := range matrix.Reasons() {
		if !used[string(r)] {
			t.Errorf("reason %s is not on the page", r)
		}
	}
	count := func(c words.Code) int { return strings.Count(string(page), "\n**"+string(c)+"** ") }
	for _, c := range words.All() {
		if strings.HasPrefix(string(c), "Finding") && count(c) != 1 {
			t.Errorf("finding %s is there %d times", c, count(c))
		}
	}
	for _, e := range evidence.Table() {
		if count(e.Code) != 1 {
			t.Errorf("evidence %s is there %d times", e.Code, count(e.Code))
		}
	}
	for _, s := range evidence.Steps() {
		if !anchorsOf(string(page))["#"+strings.ToLower(string(s.Code))] {
			t.Errorf("step %s has no heading", s.Code)
		}
	}
	for _, m := range regexp.MustCompile("`kubectl scylla ([^`]*)`").FindAllStringSubmatch(string(page), -1) {
		wrongCommand(t, m[1])
	}
}

// An anchor that two headings share leads to the first of them only.
func TestCodesHaveOneHeadingEach(t *testing.T) {
	page, _ := codesPage()
	seen := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(string(page), -1) {
		if seen[strings.ToLower(m[1])] {
			t.Errorf("two headings %q", m[1])
		}
		seen[strings.ToLower(m[1])] = true
	}
}

// Every field of the documents is on the page of JSON.
func TestJSONIsComplete(t *testing.T) {
	page := string(jsonPage())
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		// The API types of Kubernetes, and the view, which is an API type of ours, are documented elsewhere.
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "github.com/kubectl-scylla/") || typ == reflect.TypeFor[api.StatusReportView]() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && name != "metadata" && name != "apiVersion" && !regexp.MustCompile("`(metadata\\.)?"+name+`(\[\])*`+"`").MatchString(page) {
				t.Errorf("%s.%s: the page lacks `%s`", typ, f.Name, name)
			}
			if f.IsExported() && name != "-" {
				look(f.Type)
			}
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[document.ClusterStatusList](), reflect.TypeFor[document.BarrierVerdictList](), reflect.TypeFor[reportpage.List](), reflect.TypeFor[reportpage.Report](), reflect.TypeFor[support.Manifest](),
		reflect.TypeFor[replace.PlanDocument](), reflect.TypeFor[replace.StatusList](), reflect.TypeFor[version.Document](), reflect.TypeFor[describe.Document](), reflect.TypeFor[remote.List](),
	} {
		look(typ)
	}
}

// wrongCommand complains about a command of the plugin that it does not have, or that has not such a flag.
func wrongCommand(t *testing.T, line string) {
	t.Helper()
	cmd, rest, err := tree().Find(strings.Fields(line))
	if err != nil || !cmd.HasParent() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		t.Errorf("kubectl scylla %s: there is no such command: %v", line, err)
		return
	}
	for _, arg := range rest {
		flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == "--" {
			break // what follows is the command of nodetool
		}
		switch {
		case strings.HasPrefix(arg, "--") && cmd.Flag(flag) == nil:
			t.Errorf("kubectl scylla %s: there is no flag %s", line, arg)
		case !strings.HasPrefix(arg, "--") && strings.HasPrefix(arg, "-") && cmd.Flags().ShorthandLookup(flag) == nil && cmd.InheritedFlags().ShorthandLookup(flag) == nil:
			t.Errorf("kubectl scylla %s: there is no flag %s", line, arg)
		}
	}
}

// A command is found by each of its names in the reference, and force-bootstrap in the README.
func TestPagesHaveTheAliases(t *testing.T) {
	page := string(commandsPage(tree()))
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, cmd := range documented(tree()) {
		for _, alias := range cmd.Aliases {
			if n++; !strings.Contains(page, "Alias: `"+cmd.Parent().CommandPath()+" "+alias+"`.\n") {
				t.Errorf("docs/reference/commands.md lacks %s, which is %s", alias, cmd.CommandPath())
			}
		}
	}
	if n < 5 || !strings.Contains(string(readme), "`force-bootstrap`") {
		t.Errorf("%d aliases, and the README has force-bootstrap: %t", n, strings.Contains(string(readme), "`force-bootstrap`"))
	}
}

// What the pages that people write tell to type must exist.
func TestPagesNameCommandsThatExist(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	inText := regexp.MustCompile("`kubectl scylla ([^`]+)`")
	inBlock := regexp.MustCompile(`(?m)^ {4,}kubectl scylla ([^|>#\n]+)`)
	n := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(inText.FindAllStringSubmatch(string(text), -1), inBlock.FindAllStringSubmatch(string(text), -1)) {
			line := m[1]
			if cut := strings.IndexAny(line, "|>"); cut >= 0 {
				line = line[:cut]
			}
			n++
			wrongCommand(t, strings.TrimSpace(line))
		}
	}
	if n < 50 {
		t.Errorf("only %d commands were found: do the patterns still fit?", n)
	}
}

func TestLinksInPagesLead(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md", "*.md", "test/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: link %s leads nowhere", page, m[0])
				continue
			}
			if m[2] != "" && !anchors(t, to)[m[2]] {
				t.Errorf("%s: %s has no heading %s", page, to, m[2])
			}
		}
	}
}

// What check prints as a link is an anchor of the page.
func TestLinksOfCheckLead(t *testing.T) {
	page, _ := codesPage()
	anchors := anchorsOf(string(page))
	for _, codes := range []map[words.Code][]words.Code{words.OfChecks(), words.OfReplacements()} {
		for c := range codes {
			if _, anchor, _ := strings.Cut(words.Link(c), "#"); !anchors["#"+anchor] {
				t.Errorf("the page has no anchor %s", anchor)
			}
		}
	}
	if !strings.Contains(words.Link("X"), "/docs/reference/codes.md#") {
		t.Errorf("%s is not the page of codes", words.Link("X"))
	}
}

// anchors are those that a Markdown page's headings make.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return anchorsOf(string(text))
}

var headings = regexp.MustCompile(`(?m)^#+ (.*)$`)

func anchorsOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(text, -1) {
		id := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out["#"+strings.ReplaceAll(id, " ", "-")] = true
	}
	return out
}
