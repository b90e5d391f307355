// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// An expert elsewhere plans from an archive; where the data is, no archive knows, and nothing can be changed.
func TestPlanFromAnArchive(t *testing.T) {
	file := t.TempDir() + "/demo.zip"
	if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", file, "--logs=0"}, Objects: dead().Objects()}).Do(t); res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	for name, args := range map[string][]string{
		"from_archive.txt":         {"replace", target, "--from", file, "--dry-run"},
		"from_archive_skipped.txt": {"replace", target, "--from", file, "--dry-run=client", "--skip-check=data"},
		"from_archive_refused.txt": {"replace", target, "--from", file, "--yes"},
		"from_archive_server.txt":  {"replace", target, "--from", file, "--dry-run=server"},
	} {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Run{Args: args}.Do(t)
			if want := map[bool]int{true: 0, false: 2}[name == "from_archive_skipped.txt"]; res.Code != want {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
			golden(t, name, strings.ReplaceAll(transcript(args, res), file, "demo.zip"))
		})
	}
}

// Nothing but a plan is made of saved objects.
func TestNothingElseFromSavedObjects(t *testing.T) {
	file := plugintest.Save(t, dead().Objects())
	for _, args := range [][]string{{"replace", "cancel", target, "--from", file, "--dry-run=client"}, {"replace", "resume", target, "--from", file}} {
		if res := (plugintest.Run{Args: args}).Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "saved objects cannot be changed") || res.Stdout != "" {
			t.Errorf("%v: %+v", args, res)
		}
	}
}

// A replacement that has ended is listed where the user asks for it.
func TestStatusOfWhatIsOver(t *testing.T) {
	c := prepared()
	c.Service(target).Annotations[api.AnnotationReplaceLast] = `{"request":"r","outcome":"Replaced","hostID":"00000000-0000-4000-8000-000000000001","newHostID":"` + oldID +
		`","startedAt":"2026-11-21T10:00:00Z","finishedAt":"2026-11-21T10:01:12Z"}`
	args := []string{"replace", "status", "-n", "demo"}
	if res := (plugintest.Run{Args: args, Objects: c.Objects()}).Do(t); res.Code != 0 || res.Stdout != "No replacement is open.\n" {
		t.Errorf("%+v", res)
	}
	args = append(args, "--all")
	res := plugintest.Run{Args: args, Objects: c.Objects()}.Do(t)
	if res.Code != 0 {
		t.Errorf("%+v", res)
	}
	golden(t, "status_all.txt", transcript(args, res))
	if res := (plugintest.Run{Args: append(args, target), Objects: c.Objects()}).Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "--all cannot be used with a node") {
		t.Errorf("%+v", res)
	}
}
