// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
)

// Codes of facts that need another sentence than their reason. The code of every other fact is its reason.
const (
	FactSeesItselfDown  code.Code = "NodeSeesItselfDown"        // observer
	FactNamelessListed  code.Code = "NodeWithoutHostID"         // observer
	FactOtherUnverified code.Code = "OtherDatacenterUnverified" // why
	FactNodesDown       code.Code = "NodeDownForMany"           // observed, observers, more
	FactNodesUnknown    code.Code = "NodeUnknownForMany"        // observed, observers, more
	FactNodesNotSeen    code.Code = "NodeNotSeenForMany"        // observed, observers, more
	FactNamelessForMany code.Code = "WithoutHostIDForMany"      // observers, more
	FactSeveralTimes    code.Code = "SaidSeveralTimes"          // fact, times
	groupObservers                = 3                           // how many observers Group.Message names before it counts
)

// Message is the blocker as a code with parameters: observer and observed as Ref.String gives them, name as Ref.Name does, why (the cause, else the
// detail) and more. Its age is not part of it, so that the same facts give the same message.
func (b Blocker) Message() code.Message {
	c := code.Code(b.Reason)
	switch {
	case b.Reason == ReasonNodeDown && b.Observer.equal(b.Observed):
		c = FactSeesItselfDown
	case b.Reason == ReasonDatacenterUnverified && b.Observed.Datacenter == "":
		c = FactOtherUnverified
	case b.Reason == ReasonHostIDMissing && b.Observed == (Ref{}):
		c = FactNamelessListed
	}
	m := code.New(c)
	add := func(name string, v any) {
		if m.Params == nil {
			m.Params = code.Params{}
		}
		m.Params[name] = v
	}
	if b.Observer != (Ref{}) {
		add("observer", b.Observer.String())
	}
	if b.Observed != (Ref{}) {
		add("observed", b.Observed.String())
		add("name", b.Observed.Name())
	}
	if b.Reason == ReasonDatacenterUnverified && b.Observed.Datacenter != "" {
		add("datacenter", b.Observed.Datacenter)
	}
	switch {
	case !b.Cause.IsZero():
		add("why", b.Cause)
	case b.Detail != "":
		add("why", b.Detail)
	}
	if b.More > 0 {
		add("more", b.More)
	}
	if b.Coordinator {
		add("coordinator", b.Observer.Name())
	}
	return m
}

// Message is the group as a code with parameters; that of its blocker when it stands for one.
func (g Group) Message() code.Message {
	if g.Total == 1 {
		return g.first.Message()
	}
	var c code.Code
	switch {
	case g.Reason == ReasonNodeDown:
		c = FactNodesDown
	case g.Reason == ReasonNodeUnknown:
		c = FactNodesUnknown
	case g.Reason == ReasonNodeNotSeen:
		c = FactNodesNotSeen
	case len(g.Observers) > 0:
		c = FactNamelessForMany
	default:
		return code.New(FactSeveralTimes, "fact", g.first.Message(), "times", g.Total)
	}
	names := make([]string, min(groupObservers, len(g.Observers)))
	for i := range names {
		names[i] = g.Observers[i].Name()
	}
	m := code.New(c, "observers", names)
	if g.Observed != (Ref{}) {
		m.Params["observed"] = g.Observed.String()
	}
	if g.first.Coordinator {
		m.Params["coordinator"] = g.first.Observer.Name()
	}
	if rest := g.Total - len(names); rest > 0 {
		m.Params["more"] = rest
	}
	return m
}
