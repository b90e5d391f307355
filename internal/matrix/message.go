// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const groupObservers = 3 // how many observers Group.Message names before it counts

// Message is the blocker as a code with parameters: observer and observed as Ref.String, name as
// Ref.Name, why (the cause, else the detail) and more. Its age is not included, so that the same
// facts give the same message.
func (b Blocker) Message() words.Message {
	c := b.Reason
	switch {
	case b.Reason == words.NodeDown && b.Observer.equal(b.Observed):
		c = words.NodeSeesItselfDown
	case b.Reason == words.DatacenterNotVerified && b.Observed.Datacenter == "":
		c = words.OtherDatacenterUnverified
	case b.Reason == words.HostIDMissing && b.Observed == (Ref{}):
		c = words.NodeWithoutHostID
	}
	m := words.New(c)
	add := func(name string, v any) {
		if m.Params == nil {
			m.Params = words.Params{}
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
	if b.Reason == words.DatacenterNotVerified && b.Observed.Datacenter != "" {
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

// Message is the group as a code with parameters; its blocker's message if it stands for one.
func (g Group) Message() words.Message {
	if g.Total == 1 {
		return g.first.Message()
	}
	var c words.Code
	switch {
	case g.Reason == words.NodeDown:
		c = words.NodeDownForMany
	case g.Reason == words.NodeUnknown:
		c = words.NodeUnknownForMany
	case g.Reason == words.NodeNotSeen:
		c = words.NodeNotSeenForMany
	case len(g.Observers) > 0:
		c = words.WithoutHostIDForMany
	default:
		return words.New(words.SaidSeveralTimes, "fact", g.first.Message(), "times", g.Total)
	}
	names := make([]string, min(groupObservers, len(g.Observers)))
	for i := range names {
		names[i] = g.Observers[i].Name()
	}
	m := words.New(c, "observers", names)
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
