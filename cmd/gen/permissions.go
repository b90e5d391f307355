// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const permissionsHead = `# Permissions

Here you find every rule of the roles that ` + "`kubectl scylla install`" + ` applies, what it is used for, and the packages that use it. ` + "`go run ./cmd/gen`" + ` writes this page from the
comments in internal/setup/manifests; a test finds each verb in a package of its line. [Security and permissions](../security.md) has the permissions of a person.
`

// grantee is who has a role, by "kind namespace/name".
var grantee = map[string]string{
	"ClusterRole /kubectl-scylla-controller": "The controller, in all namespaces. With `install --namespaces` a Role " +
		"in each of these namespaces has the rules instead.",
	"Role kubectl-scylla/kubectl-scylla-controller": "The controller, in its own namespace.",
	"ClusterRole /kubectl-scylla-member": "Reporter, barrier and launcher. `inject` binds it in the namespace of the " +
		"cluster.",
	"ClusterRole /kubectl-scylla-member-of-operator": "Our agent in a Pod of the Scylla Operator, in addition to the " +
		"operator's own role. `install --operator-member` binds it.",
	"Role kubectl-scylla/kubectl-scylla-lease-reader": "All ServiceAccounts, for the agents in ScyllaDB Pods.",
	"ClusterRole /kubectl-scylla-view":                "A person who only reads. It is aggregated to the built-in `view`.",
}

// role is a role of a manifest.
type role struct {
	name  string // kind namespace/name
	rules []rule
}

// rule is a rule, with the comment above it.
type rule struct {
	rbacv1.PolicyRule
	packages []string
	use      string
}

// reason matches the comment above a rule: the packages that use it, and what for.
var reason = regexp.MustCompile(`^  # ((?:[a-z]+(?:/[a-z]+)*, )*[a-z]+(?:/[a-z]+)*): (\S.*)$`)

// permissions returns the roles of a manifest. Error: a rule that has no reason above it, or is not
// on one line; a reason that has no rule below it.
func permissions(manifest string) ([]role, error) {
	var roles []role
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
			Rules    []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, fmt.Errorf("decode a role: %w", err)
		}
		if len(object.Rules) == 0 {
			continue
		}
		r := role{name: object.Kind + " " + object.Metadata.Namespace + "/" + object.Metadata.Name}
		_, rules, _ := strings.Cut(document, "\nrules:\n")
		lines := strings.Split(strings.TrimRight(rules, "\n"), "\n")
		for i := 0; i < len(lines); i += 2 {
			m := reason.FindStringSubmatch(lines[i])
			n := len(r.rules)
			if m == nil || i+1 == len(lines) || n == len(object.Rules) || !strings.HasPrefix(lines[i+1], "  - {") {
				return nil, fmt.Errorf("%s: want `  # PACKAGES: USE` and a rule on the next line, got %q", r.name,
					lines[i])
			}
			r.rules = append(r.rules, rule{object.Rules[n], strings.Split(m[1], ", "), m[2]})
		}
		if len(r.rules) != len(object.Rules) {
			return nil, fmt.Errorf("%s: %d of %d rules have a reason", r.name, len(r.rules), len(object.Rules))
		}
		roles = append(roles, r)
	}
	return roles, nil
}

// allPermissions returns the roles of all manifests.
func allPermissions(root string) ([]role, error) {
	var all []role
	for _, name := range []string{"controller.yaml", "member.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "internal", "setup", "manifests", name))
		if err != nil {
			return nil, fmt.Errorf("read the roles: %w", err)
		}
		roles, err := permissions(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, roles...)
	}
	return all, nil
}

// permissionsPage returns docs/reference/permissions.md.
func permissionsPage(root string) ([]byte, error) {
	roles, err := allPermissions(root)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(permissionsHead)
	for _, r := range roles {
		who, ok := grantee[r.name]
		if !ok {
			return nil, fmt.Errorf("%s has no grantee", r.name)
		}
		kind, name, _ := strings.Cut(r.name, " ")
		fmt.Fprintf(&b, "\n## %s %s\n\n%s\n\n| API group | resources | verbs | use | packages |\n|---|---|---|---|---|\n",
			kind, strings.TrimPrefix(name, "/"), who)
		for _, rule := range r.rules {
			resources := strings.Join(rule.Resources, ", ")
			if len(rule.ResourceNames) > 0 {
				resources += " named " + strings.Join(rule.ResourceNames, ", ")
			}
			groups := strings.ReplaceAll(strings.Join(rule.APIGroups, ", "), ", ", " and ")
			if rule.APIGroups[0] == "" {
				groups = "core" + groups
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", groups, resources, strings.Join(rule.Verbs, ", "),
				cell(rule.use), strings.Join(rule.packages, ", "))
		}
	}
	return []byte(b.String()), nil
}
