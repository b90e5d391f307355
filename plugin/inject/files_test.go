// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestManifestsAsInKubectl: -f takes what kubectl apply -f takes, and files keep their comments.
func TestManifestsAsInKubectl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const beside = "# of the network team\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside, namespace: shop}\n"
	write("set/db.yaml", plainText(t))
	write("set/notes.txt", "not a manifest")
	write("set/more/beside.yaml", beside)
	write("none/notes.txt", "not a manifest")
	write("kustom/db.yaml", plainText(t))
	write("kustom/kustomization.yaml", "resources: [db.yaml]\nnamePrefix: eu-\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/db.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(plainText(t)))
	}))
	t.Cleanup(server.Close)
	const image = "--image=x:1"
	for name, tc := range map[string]struct {
		args   []string
		code   int
		stdout string
		not    string
		stderr string
	}{
		"a directory":               {[]string{"-f", filepath.Join(dir, "set"), image}, 0, "- launch\n", "beside", "statefulset shop/db injected"},
		"a directory and below":     {[]string{"-f", filepath.Join(dir, "set"), "-R", image}, 0, "# of the network team\n", "", "statefulset shop/db injected"},
		"a pattern":                 {[]string{"-f", filepath.Join(dir, "set", "*.yaml"), image}, 0, "- launch\n", "", "statefulset shop/db injected"},
		"two files in one flag":     {[]string{"-f", filepath.Join(dir, "set/db.yaml") + "," + filepath.Join(dir, "set/more/beside.yaml"), image}, 0, "# of the network team\n", "", "injected"},
		"a URL":                     {[]string{"-f", server.URL + "/db.yaml", image}, 0, "- launch\n", "", "statefulset shop/db injected"},
		"a kustomization":           {[]string{"-k", filepath.Join(dir, "kustom"), image}, 0, "name: eu-db\n", "", "statefulset shop/eu-db injected"},
		"a URL with nothing":        {[]string{"-f", server.URL + "/x.yaml", image}, 1, "", "", "404 Not Found"},
		"nothing there":             {[]string{"-f", filepath.Join(dir, "nowhere.yaml"), image}, 1, "", "", "does not exist\ncheck the path after -f or -k; - is standard input"},
		"a directory with nothing":  {[]string{"-f", filepath.Join(dir, "none"), image}, 1, "", "", "recognized file extensions are [.json .yaml .yml]"},
		"no kustomization":          {[]string{"-k", filepath.Join(dir, "set"), image}, 1, "", "", "unable to find one of 'kustomization.yaml'"},
		"both":                      {[]string{"-f", "-", "-k", dir, image}, 2, "", "", "--filename and --kustomize cannot be used together"},
		"a cluster and a directory": {[]string{"demo", "-k", dir, image}, 2, "", "", "-f, -k and -R cannot be used with the running cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plugintest.Run{Args: append([]string{"inject"}, tc.args...)}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stdout, tc.stdout) || !strings.Contains(got.Stderr, tc.stderr) || tc.not != "" && strings.Contains(got.Stdout, tc.not) {
				t.Errorf("exit %d, want %d\nstdout:\n%s\nstderr:\n%s", got.Code, tc.code, got.Stdout, got.Stderr)
			}
		})
	}
}
