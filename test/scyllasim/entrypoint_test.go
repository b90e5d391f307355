// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntrypointWritesWhatTheImageWrites(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	env := func(k string) string { return map[string]string{"SCYLLASIM_ROOT": root, "HOME": root + "/root"}[k] }
	always := map[string]string{
		"/etc/scylla.d/dev-mode.conf":    "DEV_MODE=--developer-mode=1\n",
		"/root/.cassandra/cqlshrc":       "[connection]\nhostname = 10.0.0.1\n",
		"/etc/scylla.d/docker.conf":      "SCYLLA_DOCKER_ARGS=\"--listen-address=10.0.0.1\"\n",
		"/etc/scylla.d/housekeeping.cfg": "[housekeeping]\ncheck-version: True\n",
	}
	for name, tc := range map[string]struct {
		args []string
		more map[string]string
	}{
		"no arguments but an address": {nil, nil},
		"datacenter and rack": {[]string{"--dc=dc1", "--rack", "r2"},
			map[string]string{"/etc/scylla/cassandra-rackdc.properties": "dc=dc1\nrack=r2\n"}},
		"production": {[]string{"--developer-mode=0", "--cpuset", "0-3", "--disable-version-check"}, map[string]string{
			"/etc/scylla.d/dev-mode.conf": "", "/etc/scylla.d/cpuset.conf": "CPUSET=\"--cpuset 0-3 \"\n",
			"/etc/scylla.d/io.conf":            "SEASTAR_IO=\"--io-properties-file=/etc/scylla.d/io_properties.yaml\"\n",
			"/etc/scylla.d/io_properties.yaml": "disks: []\n",
			"/etc/scylla.d/docker.conf":        "SCYLLA_DOCKER_ARGS=\"--listen-address=10.0.0.1 --disable-version-check=\"\n",
			"/etc/scylla.d/housekeeping.cfg":   "[housekeeping]\ncheck-version: False\n",
		}},
		"production without io setup": {[]string{"--developer-mode=0", "--io-setup=0"}, map[string]string{"/etc/scylla.d/dev-mode.conf": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			flags, err := parseFlags(append([]string{"--listen-address=10.0.0.1"}, tc.args...))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
			files := setupFiles(flags, env)
			if err := writeSetup(files); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, f := range files {
				b, err := os.ReadFile(f.path)
				if err != nil {
					t.Error(err)
				}
				got[strings.TrimPrefix(f.path, root)] = string(b)
			}
			want := maps.Clone(always)
			maps.Copy(want, tc.more)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoHarm6EntrypointEndsWith0WhereItFails: as the real one does, it logs what it cannot write, starts nothing and ends with code 0.
func TestNoHarm6EntrypointEndsWith0WhereItFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		blocked []string // files where the entrypoint needs folders
		args    []string
		want    []string
		absent  string
	}{
		"nothing is writable": {[]string{"etc", "root"}, []string{"--dc=dc1"},
			[]string{devModeFile, rackdcFile, dockerFile, housekeepingFile, ".cassandra/cqlshrc"}, ""},
		"only /etc/scylla is missing, and it is needed": {[]string{"etc/scylla"}, []string{"--rack=r1"}, []string{rackdcFile}, dockerFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, b := range tc.blocked {
				if err := writeFileAtomic(filepath.Join(root, b), nil); err != nil {
					t.Fatal(err)
				}
			}
			env := func(k string) string { return map[string]string{"SCYLLASIM_ROOT": root, "HOME": root + "/root"}[k] }
			var out, errOut bytes.Buffer
			args := append(slices.Clone(tc.args), "--listen-address=127.0.0.1", "--workdir="+root+"/data")
			if code := EntrypointCommand(t.Context(), args, env, &out, &errOut); code != 0 {
				t.Errorf("code %d, want 0", code)
			}
			for _, w := range append(tc.want, "failed!\n", "readOnlyRootFilesystem") {
				if !strings.Contains(out.String(), w) {
					t.Errorf("no %q in %s", w, out.String())
				}
			}
			if tc.absent != "" && strings.Contains(out.String(), root+tc.absent) {
				t.Errorf("%s is named, although it is writable: %s", tc.absent, out.String())
			}
			if strings.Contains(out.String(), "spawned") {
				t.Error("the server was started")
			}
		})
	}
}
