// SPDX-License-Identifier: Apache-2.0

package exit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// forbidden parses the API server's message; no other field of the Status has the verb and the
// user. It is compiled on first use, because few runs get a forbidden error.
var forbidden = pattern.Lazy(
	`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)?`)

// Describe turns a Kubernetes error into one sentence with its remedy as hint, and returns every
// other error unchanged. The exit code is unchanged, and errors.Is and errors.As still find the
// cause.
func Describe(err error) error {
	if err == nil || Hint(err) != "" {
		return err
	}
	if kind, ok := errors.AsType[*Error](err); ok && (kind.Err == nil || kind.Code != CodeError) {
		return err
	}
	// Only a joined error at the top: a wrapped one keeps its own sentence.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		said := map[string]bool{}
		for _, e := range joined.Unwrap() {
			if e = Describe(e); !said[e.Error()] {
				said[e.Error()] = true
				all = append(all, e)
			}
		}
		err := errors.Join(all...)
		if len(all) > 1 && apierrors.IsForbidden(err) {
			// The hint of the first error names only one permission; after fixing it the user would
			// fail on the second.
			return &Error{Code: Code(err), Err: err,
				Hint: "request a Role with these verbs, or use other credentials with --context or --as"}
		}
		return err
	}
	if text, hint := sentence(err); text != "" {
		hint.Code, hint.Err = Code(err), &described{text: text, cause: err}
		return &hint
	}
	return err
}

// described replaces the text of its cause; its type and exit code are unchanged.
type described struct {
	text  string
	cause error
}

func (d *described) Error() string { return d.text }
func (d *described) Unwrap() error { return d.cause }

func sentence(err error) (text string, hint Error) {
	switch {
	case apierrors.IsForbidden(err):
		return forbiddenSentence(err)
	case apierrors.IsUnauthorized(err):
		return "the API server does not accept these credentials",
			Error{Hint: "log in again, or use other credentials with --context, --user or --token"}
	case meta.IsNoMatchError(err), unknownResource(err):
		return "the API server does not know " + missingKind(err),
			Error{Step: words.New(words.InstallKinds).Do(words.Scylla("", "install"))}
	}
	if cause := unreachable(err); cause != "" {
		return "cannot reach the API server" + cause,
			Error{Hint: "check --context and --server, or try",
				Step: words.New(words.SayCommand).Do(words.Kubectl("", "cluster-info"))}
	}
	return "", Error{}
}

func forbiddenSentence(err error) (text string, hint Error) {
	m := forbidden().FindStringSubmatch(rootStatus(err))
	if m == nil {
		return "forbidden: " + rootStatus(err), Error{Hint: "request the permission that the API server names"}
	}
	user, verb, resource, group, namespace := m[1], m[2], m[3], m[4], m[5]
	if group != "" {
		resource += "." + group
	}
	where := "in namespace " + namespace
	if namespace == "" {
		where = "in all namespaces"
	}
	return fmt.Sprintf("user %q cannot %s %s %s", user, verb, resource, where),
		Error{Hint: fmt.Sprintf("request a Role with verb %q on %q %s, or use other credentials with --context or --as",
			verb, resource, where)}
}

func rootStatus(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Message
	}
	return err.Error()
}

// unknownResource distinguishes an unknown kind from a missing object: only the former has no
// details of an object.
func unknownResource(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) &&
		strings.Contains(status.ErrStatus.Message, "could not find the requested resource")
}

func missingKind(err error) string {
	if e, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return e.GroupKind.String()
	}
	if e, ok := errors.AsType[*meta.NoResourceMatchError](err); ok {
		return e.PartialResource.GroupResource().String()
	}
	if e, ok := errors.AsType[*apierrors.StatusError](err); ok && e.ErrStatus.Details != nil &&
		e.ErrStatus.Details.Kind != "" {
		kind := e.ErrStatus.Details.Kind
		if g := e.ErrStatus.Details.Group; g != "" {
			kind += "." + g
		}
		return kind
	}
	return "this kind of object"
}

// unreachable returns " at HOST: CAUSE" if err is a failure to reach the API server, else empty.
func unreachable(err error) (cause string) {
	u, ok := errors.AsType[*url.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return ""
	}
	where := ""
	if parsed, perr := url.Parse(u.URL); perr == nil && parsed.Host != "" {
		where = " at " + parsed.Scheme + "://" + parsed.Host
	}
	cause = ": " + u.Err.Error()
	if errors.Is(err, context.DeadlineExceeded) || u.Timeout() {
		return where + ": no response in time"
	}
	// A dial error's own text contains addresses and ephemeral ports; its last cause is the reason.
	if op, ok := errors.AsType[*net.OpError](err); ok {
		cause = ": " + op.Err.Error()
		if _, after, found := strings.Cut(cause, "connect: "); found {
			cause = ": " + after
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && where != "" {
		cause = ": " + dns.Err // the text already contains the name
	}
	return where + cause
}
