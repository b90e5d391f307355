// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
)

// calls are the calls that need a verb, by client-go, controller-runtime and our helpers of both.
var calls = map[string]string{
	"get":    `\.Get\(|kube\.(Load|Emit)\(`,
	"list":   `\.List\(|kube\.(Load|Pods|Neighbourhood|Watch)\(`,
	"watch":  `\.(Watch|Watches|For)\(|kube\.Watch\(|d\.Watch\(`,
	"create": `\.Create\(|kube\.Emit\(`,
	"update": `\.Update\(`,
	"patch":  `\.(Patch|Apply)\(|kube\.(PatchMetadata|Emit)\(`,
	"delete": `\.Delete\(`,
}

// source returns what a package has but for its tests.
func source(t *testing.T, name string) string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); (ext == ".go" || ext == ".yaml") && !strings.HasSuffix(f.Name(), "_test.go") {
			text, err := os.ReadFile(filepath.Join("../..", name, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// TestEachVerbIsUsed: no account has a permission that no code needs, and each rule that install applies is in the table.
func TestEachVerbIsUsed(t *testing.T) {
	roles, err := allPermissions("../..")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Objects(manifests.Options{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	applied, listed := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for _, u := range objects {
		if u.GetKind() == "ClusterRole" || u.GetKind() == "Role" {
			r := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, r); err != nil {
				t.Fatal(err)
			}
			applied[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = r.Rules
		}
	}
	for _, r := range roles {
		for _, rule := range r.rules {
			listed[r.name] = append(listed[r.name], rule.PolicyRule)
			var all strings.Builder
			for _, name := range rule.packages {
				all.WriteString(source(t, name))
			}
			for _, verb := range rule.Verbs {
				// an admission policy asks whether an account has a verb
				call := fmt.Sprintf(`check\('%s'\)`, verb)
				if calls[verb] != "" {
					call += "|" + calls[verb]
				}
				if !regexp.MustCompile(call).MatchString(all.String()) {
					t.Errorf("%s: %s %v: no call in %v", r.name, verb, rule.Resources, rule.packages)
				}
			}
		}
	}
	if diff := cmp.Diff(applied, listed); diff != "" {
		t.Errorf("the table is not what install applies (-install +table):\n%s", diff)
	}
}

func TestARuleHasAReasonAndAReasonHasARule(t *testing.T) {
	const (
		head   = "kind: Role\nmetadata: {namespace: ns, name: r}\nrules:\n"
		why    = "  # controller/members, controller: reads them\n"
		pods   = "  - {apiGroups: [\"\"], resources: [pods], verbs: [list]}\n"
		events = "  - {apiGroups: [\"\"], resources: [events], verbs: [get]}\n"
	)
	for name, tc := range map[string]struct{ manifest, want string }{
		"each has one": {head + why + pods + why + events, ""},
		"no role":      {"kind: ServiceAccount\n", ""},
		"a rule without a reason": {head + why + pods + events,
			`Role ns/r: want ` + "`  # PACKAGES: USE` and a rule on the next line, got \"  - {apiGroups: [\\\"\\\"], resources: [events]"},
		"the first rule has none":      {head + pods + why + events, `got "  - {apiGroups: [\"\"], resources: [pods]`},
		"a reason without a rule":      {head + why + pods + why, `got "  # controller/members, controller: reads them"`},
		"two reasons":                  {head + why + why + pods, `got "  # controller/members, controller: reads them"`},
		"a reason without a package":   {head + "  # reads them\n" + pods, `got "  # reads them"`},
		"a rule on more than one line": {head + why + "  - apiGroups: [\"\"]\n    resources: [pods]\n    verbs: [list]\n", `got "  # controller`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := permissions(tc.manifest)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
