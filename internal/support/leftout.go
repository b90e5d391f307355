// SPDX-License-Identifier: Apache-2.0

package support

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// LeftOut is a part that was not collected.
type LeftOut struct {
	// What is plain text: "events", "log of demo-0/scylla".
	What string `json:"what"`
	// Why is Forbidden, Absent, TooBig or Failed.
	Why why `json:"why"`
	// Detail is the reason as text, with the fix if there is one.
	Detail string `json:"detail,omitempty"`
}

// why something was omitted.
type why string

// Values of Why.
const (
	Forbidden why = "Forbidden"
	Absent    why = "Absent"
	TooBig    why = "TooBig"
	Failed    why = "Failed"
)

// Word returns the reason for texts.
func (w why) Word() string {
	switch w {
	case Forbidden:
		return "forbidden"
	case Absent:
		return "absent"
	case TooBig:
		return "too big"
	}
	return "failed"
}

func leftOutProblem(p cluster.Problem) LeftOut {
	l := LeftOut{What: p.Resource, Why: Failed, Detail: Text(p.Message)}
	if p.Name != "" {
		l.What += " " + p.Name
	}
	switch p.Kind {
	case cluster.ProblemForbidden:
		l.Why = Forbidden
	case cluster.ProblemNotFound, cluster.ProblemNotInstalled:
		l.Why = Absent
	}
	return l
}

func (cl *Cluster) leaveOut(what string, err error) {
	l := LeftOut{What: what, Why: Failed, Detail: Text(err.Error())}
	switch {
	case apierrors.IsForbidden(err):
		l.Why = Forbidden
	case apierrors.IsNotFound(err):
		l.Why = Absent
	}
	cl.LeftOut = append(cl.LeftOut, l)
}

// trimForbidden removes the object's name, so that refusals of several objects are equal.
func trimForbidden(err error) error {
	e, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	short := *e
	if _, after, found := strings.Cut(short.ErrStatus.Message, ": "); found {
		short.ErrStatus.Message = after
	}
	return &short
}
