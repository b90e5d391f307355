// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

// Every added container that copies a mount with a subPathExpr has the variables to which it refers, in their order, or the manifest is refused.
func TestSubPathExpr(t *testing.T) {
	field := func(name, path string) object {
		return object{"name": name, "valueFrom": object{"fieldRef": object{"fieldPath": path}}}
	}
	for name, tc := range map[string]struct {
		expr    string
		env     []any
		want    []string // variables of the query
		refused string
	}{
		"a field":            {"$(POD_NAME)", []any{field("POD_NAME", "metadata.name"), object{"name": "OTHER", "value": "x"}}, []string{"POD_NAME"}, ""},
		"a value of another": {"$(DIR)/x", []any{field("POD", "metadata.name"), object{"name": "DIR", "value": "a-$(POD)"}}, []string{"POD", "DIR"}, ""},
		"two":                {"$(B)/$(A)", []any{object{"name": "A", "value": "a"}, object{"name": "B", "value": "$$(A)"}}, []string{"A", "B"}, ""},
		"an escape":          {"$$(A)-$x-$(", nil, nil, ""},
		"a ConfigMap":        {"$(A)", []any{object{"name": "A", "valueFrom": object{"configMapKeyRef": object{"name": "x", "key": "y"}}}}, []string{"A"}, ""},
		"a Secret": {"$(A)", []any{object{"name": "A", "valueFrom": object{"secretKeyRef": object{"name": "x", "key": "y"}}}}, nil,
			"containers[scylla].env: a subPathExpr of the data refers to A, whose value inject cannot copy"},
		"its own resources": {"$(A)", []any{object{"name": "A", "valueFrom": object{"resourceFieldRef": object{"resource": "limits.cpu"}}}}, nil, "whose value inject cannot copy"},
		"not defined":       {"$(A)/$(B)", []any{object{"name": "A", "value": "$(C)"}}, nil, "refers to B, which is not in env: define it there"},
		"of a value":        {"$(A)", []any{object{"name": "A", "value": "$(C)"}}, nil, "refers to C, which is not in env"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := split(input(t, "plain.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			set := docs[1].root
			_, spec := podTemplate(set)
			c := container(spec, "scylla")
			c["volumeMounts"] = []any{object{"name": "data", "mountPath": "/var/lib/scylla", "subPathExpr": tc.expr, "mountPropagation": "Bidirectional"}}
			c["env"] = tc.env
			o := image
			o.RootCredential = credential.Verify
			r, err := statefulSet(set, o, nil)
			refused(t, "inject", err, tc.refused)
			if err != nil {
				return
			}
			after, err := typed(r.Object)
			if err != nil {
				t.Fatal(err)
			}
			copies := 0
			for _, c := range after.Spec.Template.Spec.InitContainers {
				for _, m := range c.VolumeMounts {
					if m.SubPathExpr != tc.expr {
						continue
					}
					copies++
					if m.MountPropagation != nil {
						t.Errorf("%s needs to be privileged: %s", c.Name, *m.MountPropagation)
					}
					var names []string
					for _, e := range c.Env {
						if c.Name != api.ContainerBarrier || slices.Contains(tc.want, e.Name) {
							names = append(names, e.Name)
						}
						if e.Name == "DIR" && e.Value != "a-$(POD)" {
							t.Errorf("%s: %+v", c.Name, e)
						}
					}
					if diff := cmp.Diff(tc.want, names); diff != "" {
						t.Errorf("%s: variables (-want +got):\n%s", c.Name, diff)
					}
				}
				if n := len(slices.CompactFunc(slices.Clone(c.Env), func(a, b corev1.EnvVar) bool { return a.Name == b.Name })); n != len(c.Env) {
					t.Errorf("%s has a variable twice: %+v", c.Name, c.Env)
				}
			}
			if copies != 3 {
				t.Errorf("%d containers have the mount, want query, barrier and credential", copies)
			}
		})
	}
}

// A shell gives the query the data directory as it is named, whatever characters it has.
func TestTheQueryQuotesTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	scylla := filepath.Join(dir, "scylla")
	if err := os.WriteFile(scylla, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "a b", "x; touch $HOME/harm #", "$(touch $HOME/harm)", "`touch $HOME/harm`", "it's", `"q"`, "*", "-n"} {
		data := filepath.Join(dir, name)
		table := filepath.Join(data, "data/system/local-1")
		if err := os.MkdirAll(table, 0o700); err != nil {
			t.Fatal(err)
		}
		sstable := filepath.Join(table, "me-1-Data.db")
		if err := os.WriteFile(sstable, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		script := strings.NewReplacer("/usr/bin/scylla", scylla, api.FileBootstrappedQuery, filepath.Join(dir, "out"), api.FileGroup0Query, filepath.Join(dir, "group0")).Replace(query(data))
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script) //nolint:gosec // the text that is tested
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		b, err := os.ReadFile(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		if !slices.Contains(got, "--scylla-data-dir="+data+"/data") || got[len(got)-1] != sstable || len(got) != 9 {
			t.Errorf("%s: the query gets %q", name, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "harm")); err == nil {
			t.Errorf("%s: a command in the name was run", name)
		}
	}
}
