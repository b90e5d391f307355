// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// UnreachableError means that nothing was read: the API server did not respond or refused the
// credentials.
type UnreachableError struct {
	// Attempt is the attempted action ("list pods in namespace demo").
	Attempt string
	// Refused is true if the server rejected the credentials.
	Refused bool
	Err     error
}

func (e *UnreachableError) Error() string {
	switch {
	case e.Refused:
		return fmt.Sprintf(
			"%s: the API server does not accept the credentials: %v; log in again or choose another user or context",
			e.Attempt, e.Err)
	case errors.Is(e.Err, context.DeadlineExceeded):
		return fmt.Sprintf(
			"%s: the API server did not respond in time; check the network, or allow more time with --request-timeout",
			e.Attempt)
	}
	return fmt.Sprintf("%s: the API server is not reachable: %v; check the cluster in the kubeconfig and the network",
		e.Attempt, innermost(e.Err))
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// innermost drops the request's method and URL, which repeat Attempt.
func innermost(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func attempt(verb, resource, ns, name string) string {
	if name != "" {
		if ns != "" {
			name = ns + "/" + name
		}
		return verb + " " + resource + " " + name
	}
	if ns == "" {
		return verb + " " + resource + " in all namespaces"
	}
	return verb + " " + resource + " in namespace " + ns
}

// classify converts an error of the API into a cluster.Problem, which affects only its own part, or
// into an error that ends the whole read. At most one result is non-nil; both are nil if err is
// nil.
func classify(ctx context.Context, verb, resource, ns, name string, err error) (*cluster.Problem, error) {
	if err == nil {
		return nil, nil
	}
	what := attempt(verb, resource, ns, name)
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return nil, &UnreachableError{Attempt: what, Err: context.DeadlineExceeded}
		}
		return nil, fmt.Errorf("%s: %w", what, cause)
	}
	p := &cluster.Problem{Verb: verb, Resource: resource, Namespace: ns, Name: name, Err: err,
		Kind: cluster.ProblemOther}
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	switch {
	case meta.IsNoMatchError(err), answered && apierrors.IsNotFound(err) && (name == "" || noSuchResource(err)):
		p.Kind = cluster.ProblemNotInstalled
		p.Message = fmt.Sprintf(
			"%s: the CRD is not installed in this Kubernetes cluster; to install it, run \"kubectl scylla install\"",
			what)
	case answered && apierrors.IsNotFound(err):
		p.Kind = cluster.ProblemNotFound
		p.Message = what + ": it does not exist"
	case answered && apierrors.IsForbidden(err):
		p.Kind = cluster.ProblemForbidden
		p.Message = forbiddenMessage(verb, resource, ns, name)
	case answered && apierrors.IsUnauthorized(err):
		return nil, &UnreachableError{Attempt: what, Refused: true, Err: err}
	case answered && (apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)):
		p.Kind = cluster.ProblemTimeout
		p.Message = fmt.Sprintf("%s: the API server is too busy: %v; retry", what, err)
	case unreachable(err):
		return nil, &UnreachableError{Attempt: what, Err: err}
	default:
		p.Message = fmt.Sprintf("%s: %v", what, err)
	}
	return p, nil
}

// forbiddenMessage names verb, resource and namespace.
func forbiddenMessage(verb, resource, ns, name string) string {
	return fmt.Sprintf("%s: forbidden; request a Role with verb %s on resource %s", attempt(verb, resource, ns, name),
		verb, resource)
}

// during sets the attempted action of an UnreachableError. With parallel requests, which one fails
// first is random.
func during(what string, err error) error {
	if u, ok := errors.AsType[*UnreachableError](err); ok {
		return &UnreachableError{Attempt: what, Refused: u.Refused, Err: u.Err}
	}
	return err
}

// noSuchResource reports whether a 404 means that the CRD is missing, not the object.
func noSuchResource(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func unreachable(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
