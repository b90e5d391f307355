// SPDX-License-Identifier: Apache-2.0

package real

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeEngine is docker or kubectl: it notes what it is told, and has what is in the file "answers": "COMMAND => OUTPUT" or "COMMAND!" for a failure.
func fakeEngine(args []string) int {
	dir, line := os.Getenv("PATH"), strings.Join(args[1:], " ")
	told, err := os.OpenFile(filepath.Join(dir, "told"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	defer told.Close()
	fmt.Fprintln(told, line)
	answers, _ := os.ReadFile(filepath.Join(dir, "answers"))
	for a := range strings.Lines(string(answers)) {
		a = strings.TrimSpace(a)
		if command, output, ok := strings.Cut(a, " => "); ok && strings.HasPrefix(line, command) {
			fmt.Println(output)
			return 0
		}
		if command, fails := strings.CutSuffix(a, "!"); fails && strings.HasPrefix(line, command) {
			return 1
		}
	}
	return 0
}

func TestEnginesRemoveOnlyTheirOwn(t *testing.T) {
	docker := func(t *testing.T, program string) error {
		d, err := NewDocker(t.Context(), program, "scylla", "record")
		if err != nil {
			return err
		}
		return d.Close(t.Context())
	}
	kube := func(t *testing.T, _ string) error {
		_, err := NewKube(t.Context(), "scylla", "record")
		return err
	}
	tests := map[string]struct {
		program, answers string
		run              func(t *testing.T, program string) error
		fails            bool
		removed          []string // what is told to remove something
	}{
		"what has the label": {
			"docker", "volume ls -q --filter label=" + label + " => v1 v2\nnetwork ls -q --filter label=" + label + " => n1\n", docker, false,
			[]string{"volume rm v1 v2", "network rm n1"},
		},
		"containers of another recording": {"docker", "ps -aq --filter label=" + label + " => c1\n", docker, true, nil},
		"no subnet is free":               {"docker", "network create!\n", docker, true, nil},
		"the namespace exists":            {"kubectl", "create namespace!\n", kube, true, nil},
		"no Kubernetes node without taints": {
			"kubectl", "", kube, true, []string{"delete namespace " + label + " --timeout=5m"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, tc.program)
			if err := os.Symlink(self, program); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "answers"), []byte(tc.answers), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
			if err := tc.run(t, program); (err != nil) != tc.fails {
				t.Errorf("%v", err)
			}
			told, err := os.ReadFile(filepath.Join(dir, "told"))
			if err != nil {
				t.Fatal(err)
			}
			removed := strings.Split(strings.TrimSpace(string(told)), "\n")
			removed = slices.DeleteFunc(removed, func(line string) bool {
				return !strings.Contains(line, "rm ") && !strings.HasPrefix(line, "delete ")
			})
			if !slices.Equal(removed, tc.removed) {
				t.Errorf("%q, want %q", removed, tc.removed)
			}
		})
	}
}
