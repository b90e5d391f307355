// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestWhatPeopleType: names of verbs of other tools lead to the verb here, and no suggestion is an abbreviation.
func TestWhatPeopleType(t *testing.T) {
	for typed, want := range map[string]string{
		"ls": "did you mean status?", "get": "did you mean status?", "remove": "did you mean uninstall?", "statsu": "did you mean status?",
		"controller": "run scylla-agent controller --kubeconfig FILE", "logs": "run kubectl logs POD -c CONTAINER -n NAMESPACE", "log": "run kubectl logs POD",
		"exec": "run kubectl exec -it POD -c CONTAINER -n NAMESPACE --", "cqlsh": "-c CONTAINER -n NAMESPACE -- cqlsh",
	} {
		r := plugintest.Run{Args: []string{typed}}.Do(t)
		if r.Code != 2 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: exit code %d, %s", typed, r.Code, r.Stderr)
		}
	}
	for _, tc := range []struct{ typed, want string }{
		{"sttaus", "did you mean status?"}, {"versio", "did you mean version?"}, {"events", "did you mean report?"}, {"nodes", "did you mean status?"}, {"clusters", "did you mean status -A?"},
		{"force", "did you mean force-proceed?"}, {"remote lst", "did you mean list?"}, {"remote ad", "did you mean add?"},
		// Near to nothing: a letter or two, a piece out of the middle of a name, another word, what only another command has.
		{"x", ""}, {"to", ""}, {"all", ""}, {"port", ""}, {"tuition", ""}, {"foo", ""}, {"apply", ""}, {"remote ls", ""}, {"remote statsu", ""},
	} {
		r := plugintest.Run{Args: strings.Fields(tc.typed)}.Do(t)
		if meant := strings.Contains(r.Stderr, "did you mean"); r.Code != 2 || !strings.Contains(r.Stderr, tc.want) || meant != (tc.want != "") {
			t.Errorf("%s: exit code %d, %s", tc.typed, r.Code, r.Stderr)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"--help"}} {
		if r := (plugintest.Run{Args: args}).Do(t); !strings.Contains(r.Stdout+r.Stderr, "-v, --version ") {
			t.Errorf("help by %q does not name --version: %+v", args, r)
		}
	}
	if r := (plugintest.Run{Args: []string{"--version"}}).Do(t); r.Code != 0 || !strings.HasPrefix(r.Stdout, "kubectl-scylla ") || r.Stderr != "" {
		t.Errorf("--version: %+v", r)
	}
}

// TestFlagsAreCompleted: -n with the namespaces, --context with those of the kubeconfig.
func TestFlagsAreCompleted(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("apiVersion: v1\nkind: Config\ncurrent-context: prod\ncontexts: [{name: prod, context: {cluster: x}}, {name: test, context: {cluster: x}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := append(plugintest.New(3, 1).Objects(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"status", "-n", ""}, "demo\thas a ScyllaDB cluster\nother\n:4\n"},
		{[]string{"nodetool", "--namespace", "o"}, "other\n:4\n"},
		{[]string{"status", "--kubeconfig", config, "--context", ""}, "prod\tcurrent context\ntest\n:4\n"},
		{[]string{"describe", "--kubeconfig", config, "--context", "te"}, "test\n:4\n"},
		{[]string{"force"}, "force-proceed\tLet a member start ScyllaDB even though its barrier blocks it\nforce-bootstrap\tAlias of force-proceed\n:4\n"},
		{[]string{"status", "--from", "sample:inc"}, "sample:incident\ta node has failed, and a new node is waiting\n:4\n"},
		{[]string{"status", "--from", "s"}, ":0\n"}, // files
		{[]string{"describe", "--from", "sample:incident", "demo-dc1-rack3"}, "demo-dc1-rack3-0\tMember, Pod Running 1/2\n:4\n"},
		{[]string{"status", "--from", "sample:incident", ""}, "demo\n:4\n"},
		{[]string{"describe", "--from", "-", ""}, ":4\n"},
		{[]string{"version", "--"}, "--color\tWhen to use colour. auto: on terminals only; respects NO_COLOR and CLICOLOR_FORCE.\n--context\tThe name of the kubeconfig context to use\n--namespace\tIf present, the namespace scope for this CLI request\n--help\thelp for version\n--output\tOutput format. One of: short, json, yaml.\n:4\n"},
		{[]string{"version", "--cl"}, "--client-certificate\tPath to a client certificate file for TLS\n--client-key\tPath to a client key file for TLS\n--cluster\tThe name of the kubeconfig cluster to use\n:4\n"},
		{[]string{"force-bootstrap", "--per"}, "--per-service\tWith --datacenter or --cluster: annotate only the Services of members that have not joined.\n:4\n"},
	} {
		r := plugintest.Run{Args: append([]string{"__complete"}, tc.args...), Objects: objects}.Do(t)
		if r.Stdout != tc.want {
			t.Errorf("%q gives %q, want %q", tc.args, r.Stdout, tc.want)
		}
	}
}
