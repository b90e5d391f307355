// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnreachableError says that the API server did not answer at all, or refused the credentials: nothing was read.
type UnreachableError struct {
	// Attempt is what was attempted ("list pods in namespace demo").
	Attempt string
	// Refused is true when the server answered that it does not know the user.
	Refused bool
	Err     error
}

func (e *UnreachableError) Error() string {
	switch {
	case e.Refused:
		return fmt.Sprintf("%s: the API server does not accept the credentials: %v; log in again or choose another user or context", e.Attempt, e.Err)
	case errors.Is(e.Err, context.DeadlineExceeded):
		return fmt.Sprintf("%s: the API server did not answer in time; check the network, or allow more time with --request-timeout", e.Attempt)
	}
	return fmt.Sprintf("%s: the API server cannot be reached: %v; check the cluster in the kubeconfig and the network", e.Attempt, innermost(e.Err))
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// innermost drops the request's method and URL, which say nothing that Attempt does not.
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

// classify tells what an error of the API means: a Problem that costs its own part, or an error that ends everything. One of the two
// results is nil; a nil err gives neither.
func classify(ctx context.Context, verb, resource, ns, name string, err error) (*Problem, error) {
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
	p := &Problem{Verb: verb, Resource: resource, Namespace: ns, Name: name, Err: err, Kind: ProblemOther}
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	switch {
	case meta.IsNoMatchError(err), answered && apierrors.IsNotFound(err) && (name == "" || noSuchResource(err)):
		p.Kind = ProblemNotInstalled
		p.Message = fmt.Sprintf("%s: the kind is not installed in this Kubernetes cluster; \"kubectl scylla install\" installs it", what)
	case answered && apierrors.IsNotFound(err):
		p.Kind = ProblemNotFound
		p.Message = what + ": it does not exist"
	case answered && apierrors.IsForbidden(err):
		p.Kind = ProblemForbidden
		p.Message = forbiddenMessage(verb, resource, ns, name)
	case answered && apierrors.IsUnauthorized(err):
		return nil, &UnreachableError{Attempt: what, Refused: true, Err: err}
	case answered && (apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)):
		p.Kind = ProblemTimeout
		p.Message = fmt.Sprintf("%s: the API server is too busy: %v; try again", what, err)
	case unreachable(err):
		return nil, &UnreachableError{Attempt: what, Err: err}
	default:
		p.Message = fmt.Sprintf("%s: %v", what, err)
	}
	return p, nil
}

// forbiddenMessage names verb, resource and namespace.
func forbiddenMessage(verb, resource, ns, name string) string {
	return fmt.Sprintf("%s: forbidden; ask for a Role with verb %s on resource %s", attempt(verb, resource, ns, name), verb, resource)
}

// during names what was going on when the API server proved unreachable: which of several parallel requests said so first is chance.
func during(what string, err error) error {
	if u, ok := errors.AsType[*UnreachableError](err); ok {
		return &UnreachableError{Attempt: what, Refused: u.Refused, Err: u.Err}
	}
	return err
}

// noSuchResource tells the 404 of a missing kind from that of a missing object: only the latter is made by the kind's own storage.
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

// sortProblems puts problems into a stable order and drops repetitions.
func sortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Resource == b.Resource && a.Name == b.Name && a.Verb == b.Verb && a.Namespace == b.Namespace && a.Kind == b.Kind
	})
}

// Incomplete joins the Problems that make the snapshot partial, nil when there are none. A kind that is not installed and an object
// that does not exist hide nothing.
func (s *Snapshot) Incomplete() error {
	var errs []error
	for _, p := range sortProblems(slices.Clone(s.Problems)) {
		if p.Kind != ProblemNotInstalled && p.Kind != ProblemNotFound {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

// Partial are the Problems by which what is shown of the snapshot is partial. A kind that is not installed and an object that does not exist hide
// nothing, nor does the controller's Lease; what a node did not answer matters where it was asked.
func (s *Snapshot) Partial() []Problem {
	var out []Problem
	for _, p := range s.Problems {
		switch {
		case p.Kind == ProblemNotInstalled || p.Kind == ProblemNotFound || p.Resource == resourceLeases:
		case p.Resource == resourcePortForward && p.Name != "" && s.Source != SourceLive:
		default:
			out = append(out, p)
		}
	}
	return out
}

// maxNamed bounds the Pods that one line names.
const maxNamed = 5

// ProblemLines are the Problems in words, in their order: those of Pods with one reason in one line.
func ProblemLines(ps []Problem) []string {
	type group struct{ what, reason string }
	names := map[group][]string{}
	var order []group
	for _, p := range ps {
		g := group{what: p.Message}
		if what, ok := strings.CutSuffix(p.Message, onPod(p.Name)+p.Reason); ok && p.Reason != "" {
			g = group{what, p.Reason}
		}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], p.Name)
	}
	lines := make([]string, len(order))
	for i, g := range order {
		pods := names[g]
		switch {
		case g.reason == "":
			lines[i] = g.what
		case len(pods) == 1:
			lines[i] = g.what + onPod(pods[0]) + g.reason
		default:
			shown := strings.Join(pods[:min(maxNamed, len(pods))], ", ")
			if more := len(pods) - maxNamed; more > 0 {
				shown += fmt.Sprintf(" and %d more", more)
			}
			lines[i] = g.what + " Pods " + shown + ": " + g.reason
		}
	}
	return lines
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no %s %q", e.What, e.Name)
	if e.Name == "" {
		b.Reset()
		fmt.Fprintf(&b, "no %s", e.What)
	}
	if e.In != "" {
		b.WriteString(" in " + e.In)
	}
	switch {
	case len(e.Nearest) > 0:
		fmt.Fprintf(&b, "; did you mean %s?", orList(e.Nearest))
	case e.Cure != "":
		b.WriteString("; " + e.Cure)
	}
	return b.String()
}

func (e *AmbiguousError) Error() string {
	shown, rest := e.Candidates, ""
	if len(shown) > 8 {
		shown, rest = shown[:8], fmt.Sprintf(" and %d more", len(e.Candidates)-8)
	}
	if e.Name == "" {
		return fmt.Sprintf("there are %d %ss in %s, name one: %s%s", len(e.Candidates), e.What, e.In, strings.Join(shown, ", "), rest)
	}
	return fmt.Sprintf("%q fits %d %ss in %s, say which: %s%s", e.Name, len(e.Candidates), e.What, e.In, strings.Join(shown, ", "), rest)
}

func orList(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	if len(q) == 1 {
		return q[0]
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}

// Nearest returns at most three of the known names that are close to the one typed, nearest first.
func Nearest(typed string, known []string) []string {
	type near struct {
		name string
		dist int
	}
	t := strings.ToLower(typed)
	if len(t) > maxTyped {
		return nil
	}
	var found []near
	for _, k := range known {
		lower := strings.ToLower(k)
		d := editDistance(t, lower)
		// A third of the name may be wrong; a part of a name counts as near whatever its length.
		contained := len(t) >= 3 && (strings.Contains(lower, t) || strings.Contains(t, lower) && len(lower) >= 3)
		if d <= max(2, len(k)/3) || contained {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, n.name)
	}
	return slices.Compact(out)
}

// maxTyped bounds what is compared; no Kubernetes name is longer.
const maxTyped = 253

// editDistance is Levenshtein's, in bytes: the names are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
