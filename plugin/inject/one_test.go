// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestStartWithOne: the count goes into the annotation, and no apply of the output can scale a cluster down.
func TestStartWithOne(t *testing.T) {
	const key, last = "kubectl-scylla.scylladb.com/wanted-replicas", "kubectl.kubernetes.io/last-applied-configuration"
	text := plainText(t)
	set := func(a map[string]string) []client.Object {
		return []client.Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Annotations: a}}}
	}
	with := func(a, b string) string { return strings.Replace(text, a, b, 1) }
	one := plugintest.Run{Client: plugintest.NewClient(nil, interceptor.Funcs{}), Stdin: text, Args: []string{"inject", "-f", "-", "--image=x/scylla-agent:1", "--start-with-one"}}.Do(t).Stdout
	for name, c := range map[string]struct {
		stdin  string
		live   []client.Object
		fails  error
		args   []string
		code   int
		stderr string
	}{
		"a new cluster":                  {stdin: text},
		"its own output":                 {stdin: one, live: set(nil)}, // nothing changes
		"without the flag":               {stdin: one, live: set(nil), args: []string{"--start-with-one=false"}},
		"it exists":                      {stdin: text, live: set(nil), code: 2, stderr: "statefulset shop/db exists, and applying a manifest without spec.replicas would scale it down to 1"},
		"it exists and was annotated":    {stdin: text, live: set(map[string]string{key: "3", last: `{"spec":{"replicas":3}}`}), code: 2, stderr: "statefulset shop/db exists"},
		"it was applied like this":       {stdin: text, live: set(map[string]string{key: "3", last: `{"metadata":{"annotations":{"` + key + `":"3"}},"spec":{}}`})},
		"the API server does not answer": {stdin: text, fails: errors.New("etcd is away"), code: 1, stderr: "read statefulset shop/db: etcd is away"},
		"no number":                      {stdin: with("replicas: 3", "minReadySeconds: 1"), code: 2, stderr: "spec.replicas: set the wanted number of members"},
		"zero":                           {stdin: with("replicas: 3", "replicas: 0"), code: 2, stderr: "spec.replicas: set the wanted number of members"},
		"two numbers":                    {stdin: strings.Replace(one, "\n  serviceName: db", "\n  replicas: 5\n  serviceName: db", 1), code: 2, stderr: `spec.replicas is 5, annotation ` + key + ` is "3"`},
		"undo":                           {stdin: one, args: []string{"--undo", "--image="}, code: 2, stderr: "--start-with-one cannot be used with --undo"},
	} {
		t.Run(name, func(t *testing.T) {
			cl := plugintest.NewClient(c.live, interceptor.Funcs{Get: func(ctx context.Context, cl client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if c.fails != nil {
					return c.fails
				}
				return cl.Get(ctx, key, o, opts...)
			}})
			args := append([]string{"inject", "-f", "-", "--image=x/scylla-agent:1", "--start-with-one"}, c.args...)
			got := plugintest.Run{Client: cl, Stdin: c.stdin, Args: args}.Do(t)
			if got.Code != c.code || !strings.Contains(got.Stderr, c.stderr) || c.code != 0 && got.Stdout != "" {
				t.Fatalf("exit %d, want %d and %q:\n%s%s", got.Code, c.code, c.stderr, got.Stderr, got.Stdout)
			}
			if c.code == 0 && (!strings.Contains(got.Stdout, key+`: "3"`) || strings.Contains(got.Stdout, "\n  replicas: ")) {
				t.Errorf("not handed over:\n%s", got.Stdout)
			}
		})
	}
	cluster := plugintest.Run{Args: []string{"inject", "shop", "--image=x/scylla-agent:1", "--start-with-one"}}.Do(t)
	if cluster.Code != 2 || !strings.Contains(cluster.Stderr, "--start-with-one requires -f") {
		t.Errorf("exit %d:\n%s", cluster.Code, cluster.Stderr)
	}
}
