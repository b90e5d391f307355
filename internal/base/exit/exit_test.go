// SPDX-License-Identifier: Apache-2.0

package exit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func forbidden(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: message}}
}

func TestCodeAndMessage(t *testing.T) {
	plain := errors.New("read pod demo/x: boom")
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	cases := map[string]struct {
		err  error
		code int
		text string
	}{
		"nothing went wrong":                  {nil, 0, ""},
		"an error of no kind":                 {plain, 1, "error: read pod demo/x: boom"},
		"wrong usage":                         {exit.Usagef("bad flag"), 2, "error: bad flag"},
		"a refusal":                           {exit.Refused(plain), 2, "error: read pod demo/x: boom"},
		"a condition that has been shown":     {exit.ConditionNotMet(nil), 3, ""},
		"a condition in words":                {exit.ConditionNotMet(plain), 3, "error: read pod demo/x: boom"},
		"a time-out":                          {exit.TimedOut(plain), 4, "error: read pod demo/x: boom"},
		"an interrupt":                        {exit.Interrupted(context.Canceled), 130, "interrupted"},
		"a cancelled context":                 {fmt.Errorf("list pods: %w", context.Canceled), 130, "interrupted"},
		"a deadline is not an interrupt":      {fmt.Errorf("list pods: %w", context.DeadlineExceeded), 1, "error: list pods: context deadline exceeded"},
		"a kind below a wrapped error":        {fmt.Errorf("status: %w", exit.Usagef("bad flag")), 2, "error: status: bad flag"},
		"a hint keeps the kind":               {exit.WithHint(exit.Usagef("bad flag"), "see help"), 2, "error: bad flag\nsee help"},
		"the hint nearest to the cause stays": {exit.WithHint(exit.WithHint(plain, "near"), "far"), 1, "error: read pod demo/x: boom\nnear"},
		"a hint on nothing is nothing":        {exit.WithHint(nil, "x"), 0, ""},
		"a forbidden verb names verb, resource, namespace and user": {
			fmt.Errorf("list services: %w", forbidden(`services is forbidden: User "bob" cannot list resource "services" in API group "" in the namespace "demo"`)), 1,
			"error: user \"bob\" cannot list services in namespace demo\n" +
				"request a Role with verb \"list\" on \"services\" in namespace demo, or use other credentials with --context or --as"},
		"a forbidden verb at the cluster scope": {
			forbidden(`scylladbstatusreports.scylla.scylladb.com is forbidden: User "bob" cannot list resource "scylladbstatusreports" in API group "scylla.scylladb.com" at the cluster scope`), 1,
			"error: user \"bob\" cannot list scylladbstatusreports.scylla.scylladb.com in all namespaces\n" +
				"request a Role with verb \"list\" on \"scylladbstatusreports.scylla.scylladb.com\" in all namespaces, or use other credentials with --context or --as"},
		"a forbidden verb in other words": {forbidden("no, by policy"), 1, "error: forbidden: no, by policy\nrequest the permission that the API server names"},
		"credentials that are not known": {
			apierrors.NewUnauthorized("who are you"), 1,
			"error: the API server does not accept these credentials\nlog in again, or use other credentials with --context, --user or --token"},
		"a kind that the mapper does not know": {
			&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "scylla.scylladb.com", Kind: "ScyllaDBStatusReport"}}, 1,
			"error: the API server does not know ScyllaDBStatusReport.scylla.scylladb.com\n" +
				"install the CRDs (kubectl scylla install), or read without them: --source=annotation or --source=live"},
		"a kind that the server does not know": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource",
				Details: &metav1.StatusDetails{Group: "scylla.scylladb.com", Kind: "scylladbstatusreports"}}}, 1,
			"error: the API server does not know scylladbstatusreports.scylla.scylladb.com\n" +
				"install the CRDs (kubectl scylla install), or read without them: --source=annotation or --source=live"},
		"an object that does not exist is not a missing kind": {
			apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "x"), 1, `error: pods "x" not found`},
		"an API server that cannot be reached": {
			fmt.Errorf("list services: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/services?limit=500", Err: refused}), 1,
			"error: cannot reach the API server at https://10.0.0.1:6443: connection refused\ncheck --context and --server, or try: kubectl cluster-info"},
		"an API server that does not answer": {
			&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: context.DeadlineExceeded}, 1,
			"error: cannot reach the API server at https://10.0.0.1:6443: no response in time\ncheck --context and --server, or try: kubectl cluster-info"},
		"a name that cannot be resolved": {
			&url.Error{Op: "Get", URL: "https://kube.invalid/api", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "kube.invalid"}}}, 1,
			"error: cannot reach the API server at https://kube.invalid: no such host\ncheck --context and --server, or try: kubectl cluster-info"},
		"an interrupt during a request": {
			&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: context.Canceled}, 130, "interrupted"},
		"several errors, each in its own words": {
			errors.Join(plain, forbidden(`pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "demo"`)), 1,
			"error: read pod demo/x: boom\nuser \"bob\" cannot list pods in namespace demo\n" +
				"request a Role with these verbs, or use other credentials with --context or --as"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exit.Code(c.err); got != c.code {
				t.Errorf("exit code: got %d, want %d", got, c.code)
			}
			if diff := cmp.Diff(c.text, exit.Message(c.err)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDescribeKeepsTheCause(t *testing.T) {
	cause := forbidden(`pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "demo"`)
	got := exit.Describe(fmt.Errorf("list pods: %w", cause))
	if !apierrors.IsForbidden(got) {
		t.Errorf("the description hides that the cause is a forbidden verb: %v", got)
	}
	if exit.Code(got) != 1 {
		t.Errorf("exit code: got %d, want 1", exit.Code(got))
	}
}

func TestDescribeIsStable(t *testing.T) {
	err := exit.Usagef("bad flag")
	if got := exit.Describe(err); !errors.Is(got, err) || got.Error() != err.Error() {
		t.Errorf("an error that is a sentence was changed: %v", got)
	}
	once := exit.Describe(apierrors.NewUnauthorized("x"))
	if twice := exit.Describe(once); !errors.Is(twice, once) || exit.Message(twice) != exit.Message(once) {
		t.Errorf("described twice: %v, then %v", once, twice)
	}
}

// TestHintsHaveTheFlags: the command of a hint works where it is pasted.
func TestHintsHaveTheFlags(t *testing.T) {
	p := words.Printer{Flags: []string{"--context=a b"}}
	step := words.New(words.ReplaceFormerNode).Do(words.Scylla("demo", "replace", "1"))
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a command":     {exit.WithHint(errors.New("no"), "see why", words.Kubectl("demo", "get", "pod", "a")...), "see why: kubectl '--context=a b' get pod a -n demo"},
		"a step":        {exit.WithStep(errors.New("no"), step), "replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla '--context=a b' replace 1 -n demo"},
		"no command":    {exit.WithHint(errors.New("no"), "see: kubectl scylla status --help"), "see: kubectl scylla status --help"},
		"the first one": {exit.WithHint(exit.WithStep(errors.New("no"), step), "another"), "replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla '--context=a b' replace 1 -n demo"},
		"an empty step": {exit.WithStep(errors.New("no"), words.Message{}), ""},
	} {
		want := "error: no\n" + tc.want
		if tc.want == "" {
			want = "error: no"
		}
		if got := exit.MessageBy(tc.err, p); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
