// SPDX-License-Identifier: Apache-2.0

// Package house holds the rules of which package may import which, each with its reason, and fails when a wall is crossed.
package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kubectl-scylla/kubectl-scylla"

type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// rule forbids packages under From to reach anything that matches Deny, directly or (Deep) through others.
type rule struct {
	from  []string // path below the module; "cmd/scylla-agent" also covers its subfolders
	deny  []string // full import paths, or prefixes that end in "/..."
	allow []string // exceptions to deny
	deep  bool
	why   string
}

const (
	own    = module + "/"
	driver = "github.com/apache/cassandra-gocql-driver/..."
)

// internal/scylla/release is pure too: the rules below forbid internal/scylla itself and not its subfolders.
var pure = []string{"internal/matrix", "internal/bootstrap", "internal/replace", "internal/cluster", "internal/diagnosis", "internal/view", "internal/view/healthpolicy", "internal/gate", "internal/agent/reporter/publish", "internal/setup/inject", "internal/maintenance", "internal/setup/preflight", "internal/scylla/raftlog", "internal/scylla/release", "internal/credential"}

var rules = map[string]rule{
	"pure packages know no client": {
		from: pure, allow: []string{own + "internal/credential/cql"}, deep: true,
		deny: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...", own + "internal/kube", own + "internal/scylla"},
		why:  "a decision that can fetch can differ between the barrier, the command line and the controller",
	},
	"pure packages know no logger, no command line": {
		from: pure,
		deny: []string{"log", "log/slog", "github.com/go-logr/...", "k8s.io/klog/...", "github.com/spf13/..."},
		why:  "what they have to say is their result",
	},
	"words is a leaf": {
		from: []string{"internal/words"}, deep: true,
		deny: []string{own + "internal/api", own + "internal/matrix", own + "internal/bootstrap", own + "internal/cluster", own + "internal/scylla/...", own + "internal/diagnosis/evidence", own + "controller/...", own + "plugin/..."},
		why:  "every package names its codes there, and a sentence that knows a type would decide something",
	},
	"internal/api decides nothing": {
		from: []string{"internal/api"},
		deny: []string{own + "internal/matrix", own + "internal/bootstrap", own + "internal/kube", own + "internal/replace", "k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/..."},
		why:  "the wire is at the bottom: everybody reads it",
	},
	"internal/kube judges nothing": {
		from: []string{"internal/kube"},
		deny: []string{own + "internal/matrix", own + "internal/bootstrap", own + "internal/replace"},
		why:  "it hands over objects; internal/cluster alone turns them into a cluster, the same for everybody",
	},
	"the judges are above the member": {
		from: []string{"internal/cluster"}, deep: true,
		deny: []string{own + "internal/maintenance", own + "internal/bootstrap", own + "internal/view", own + "internal/replace", own + "internal/diagnosis", own + "internal/setup/preflight", own + "internal/setup/inject", own + "internal/diagnosis/evidence"},
		why:  "a judge below the member needs copies of its fields, and a copy can differ from the member",
	},
	"maintenance is below bootstrap": {
		from: []string{"internal/maintenance"}, deep: true,
		deny: []string{own + "internal/bootstrap"},
		why:  "a rollout holds up the barrier, so it is judged without the barrier",
	},
	"bootstrap and maintenance are below view": {
		from: []string{"internal/bootstrap", "internal/maintenance"}, deep: true,
		deny: []string{own + "internal/view", own + "internal/replace", own + "internal/diagnosis", own + "internal/setup/preflight"},
		why:  "the barrier decides by nothing that is decided by its decision",
	},
	"view is below replacement and diagnosis": {
		from: []string{"internal/view"}, deep: true,
		deny: []string{own + "internal/replace", own + "internal/diagnosis", own + "internal/setup/preflight"},
		why:  "a permit is given by states and by the barrier's decision, and by no text about them",
	},
	"the gate is above view and below who executes it": {
		from: []string{"internal/gate"}, deep: true,
		deny: []string{own + "internal/agent/...", own + "internal/peer/...", own + "internal/replace", own + "internal/diagnosis"},
		why:  "barrier, launcher and simulation run it on what they have read; what it could fetch itself would be read by one of them alone",
	},
	"replacement is below diagnosis": {
		from: []string{"internal/replace"}, deep: true,
		deny: []string{own + "internal/diagnosis", own + "internal/setup/preflight"},
		why:  "what deletes goes by its own checks, and not by what a finding suggests",
	},
	"what shows and keeps gives no verdict": {
		from: []string{"internal/show/dashboard", "internal/show/page", "internal/support"},
		deny: []string{own + "internal/bootstrap", own + "internal/diagnosis"},
		why:  "a verdict comes from a Cluster; one made elsewhere could differ from the barrier's",
	},
	"plugin does not import controller": {
		from: []string{"plugin"}, deep: true,
		deny: []string{own + "controller", own + "controller/..."},
		why:  "what a person types must work without the machinery that runs in the cluster; cmd joins the two",
	},
	"controller does not import plugin": {
		from: []string{"controller"}, deep: true,
		deny: []string{own + "plugin", own + "plugin/..."},
		why:  "the image must not carry the terminal's packages",
	},
	"internal packages import neither plugin nor controller nor cmd": {
		from: []string{"internal"}, deep: true,
		deny: []string{own + "plugin", own + "plugin/...", own + "controller", own + "controller/...", own + "cmd/..."},
		why:  "dependencies point downwards: cmd, then plugin and controller, then internal",
	},
	"only internal/show imports tablewriter": {
		from: []string{"cmd", "controller", "plugin", "internal"}, allow: []string{own + "internal/show"},
		deny: []string{"github.com/olekukonko/tablewriter", "github.com/olekukonko/tablewriter/..."},
		why:  "its interface changes between patch releases; one file to repair",
	},
	"only internal/show/dashboard imports the terminal framework": {
		from: []string{"cmd", "controller", "plugin", "internal"}, allow: []string{own + "internal/show/dashboard"},
		deny: []string{"charm.land/bubbletea/...", "charm.land/bubbles/..."},
		why:  "the event loop owns all state of the dashboard; nobody else may hold a piece of it",
	},
	"the agent is small": {
		from: []string{"cmd/scylla-agent", "controller", "internal/agent/reporter", "internal/agent/barrier", "internal/agent/launch"}, deep: true,
		deny: []string{"html/template", "k8s.io/cli-runtime/...", "charm.land/...", "github.com/olekukonko/...",
			own + "internal/show/...", own + "internal/support"},
		why: "reaching a template engine keeps every exported method alive: 11 MB in every pod (text/template is checked in the linked binary by make size)",
	},
	"nobody imports the big ones": {
		from: []string{"cmd", "controller", "plugin", "internal"}, deep: true,
		deny: []string{"k8s.io/kubectl/...", "k8s.io/kubernetes/...", "github.com/pkg/errors/...", "github.com/stretchr/testify/...", "github.com/spf13/viper/..."},
		why:  "kubectl's own packages cost 54 MB and 27 ms at every start; the others do what the standard library does",
	},
	"only internal/credential/cql imports the CQL driver": {
		from: []string{"cmd", "controller", "plugin", "internal"}, allow: []string{own + "internal/credential/cql"},
		deny: []string{driver},
		why:  "its errors quote statements, and a statement can have a password",
	},
	"only the container of the credential speaks CQL": {
		from: []string{"controller", "plugin", "cmd/kubectl-scylla", "internal/agent/reporter", "internal/agent/barrier", "internal/agent/launch"}, deep: true,
		deny: []string{driver, own + "internal/credential/cql"},
		why:  "who cannot connect cannot be made to; and the plugin does not grow",
	},
	"the barrier does not reach the credential": {
		from: []string{"internal/agent/barrier", "internal/agent/launch"}, deep: true,
		deny: []string{own + "internal/credential/..."},
		why:  "a new node starts or waits whatever the state of the password is",
	},
	"the simulated ScyllaDB knows no Kubernetes": {
		from: []string{"test/scyllasim"}, deep: true,
		deny: []string{"k8s.io/...", "sigs.k8s.io/...", own + "internal/..."},
		why:  "a simulator that shares the product's code would share its mistakes",
	},
	"the product does not reach the test tools": {
		from: []string{"cmd", "controller", "plugin", "internal"}, deep: true,
		deny: []string{own + "test/...", "testing", "github.com/google/go-cmp/...", "pgregory.net/rapid/..."},
		why:  "what ships must not carry what tests it",
	},
}

// roots are the folders that have Go files. What a test reads by itself, and not through a process, is part of the key of go test's cache.
var roots = []string{"cmd", "controller", "internal", "plugin", "test"}

var packages []pkg

func load(t *testing.T) []pkg {
	t.Helper()
	if packages != nil {
		return packages
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,Deps,GoFiles", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the module's packages: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		packages = append(packages, p)
	}
	return packages
}

func matches(importPath string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "/..."); ok {
			return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
		}
		return importPath == p
	})
}

func covers(from []string, importPath string) bool {
	rel := strings.TrimPrefix(importPath, own)
	return slices.ContainsFunc(from, func(f string) bool { return rel == f || strings.HasPrefix(rel, f+"/") })
}

func TestWalls(t *testing.T) {
	pkgs := load(t)
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			covered := false
			for _, p := range pkgs {
				if !covers(r.from, p.ImportPath) || matches(p.ImportPath, r.allow) {
					continue
				}
				covered = true
				seen := p.Imports
				if r.deep {
					seen = p.Deps
				}
				for _, i := range seen {
					if matches(i, r.deny) {
						t.Errorf("%s reaches %s: %s", p.ImportPath, i, r.why)
					}
				}
			}
			if !covered {
				t.Errorf("no package is under %v: mend or remove the rule", r.from)
			}
		})
	}
}

// A reader should know from a package's doc comment what it owns and what it must not do.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range load(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// Everything shipped carries its licence.
func TestLicenceHeaders(t *testing.T) {
	for _, p := range load(t) {
		for _, f := range p.GoFiles {
			if strings.HasPrefix(f, "zz_generated") {
				continue
			}
			b, err := os.ReadFile(path.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(b), "// SPDX-License-Identifier: Apache-2.0\n") {
				t.Errorf("%s/%s does not start with its SPDX line", p.ImportPath, f)
			}
		}
	}
}

// The top level is a table of contents: exactly these.
func TestTopLevel(t *testing.T) {
	for tree, want := range map[string][]string{
		"HEAD": {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md", "cmd", "completions",
			"controller", "docs", "go.mod", "go.sum", "internal", "plugin", "test"},
		"HEAD:test": {"cluster", "e2e", "house", "real", "run", "scyllasim", "simulation"},
	} {
		out, err := exec.Command("git", "-C", "../..", "ls-tree", "--name-only", tree).Output()
		if err != nil {
			t.Skipf("not a git checkout: %v", err)
		}
		var got []string
		for _, n := range strings.Fields(string(out)) {
			if !strings.HasPrefix(n, ".") {
				got = append(got, n)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %v\nwant %v", tree, got, want)
		}
	}
}

// go-runewidth 0.0.26 and 0.0.27 spend 21 ms at every start building a table.
func TestRunewidthPin(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"v0.0.26", "v0.0.27"} {
		if strings.Contains(string(text), "github.com/mattn/go-runewidth "+v) {
			t.Errorf("go-runewidth %s costs 21 ms at every start: take v0.0.28 or later", v)
		}
	}
	if !strings.Contains(string(text), "github.com/mattn/go-runewidth v") {
		t.Error("go.mod has no go-runewidth any more: remove this test")
	}
}
