// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"maps"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// wait is how long a step that begins with "wait" is an answer, and the step from then on, which
// names the object that blocks.
type wait struct {
	limit time.Duration
	past  words.Code
}

// waits has every step of a finding that begins with "wait".
var waits = map[words.Code]wait{
	words.ReplacementOpen:      {cluster.LimitReplacement, words.PastReplacement},
	words.ReplacementRequested: {cluster.LimitRequest, words.PastReplacement},
	words.WaitForEviction:      {cluster.LimitStart, words.PastReplacement},
	words.WaitForReplacement:   {cluster.LimitReplacement, words.PastReplacement},
	words.WaitForRollback:      {cluster.LimitRollback, words.PastJoin},
	words.WaitForJoin:          {cluster.LimitJoin, words.PastJoin},
	words.WaitForNewcomer:      {cluster.LimitJoin, words.PastJoin},
	words.WaitForFirstNode:     {cluster.LimitFirstNode, words.PastJoin},
	words.WaitForGossip:        {cluster.LimitGossip, words.PastGossip},
	words.WaitForMembership:    {cluster.LimitGossip, words.PastGossip},
	words.WaitForRollout:       {cluster.LimitRollout, words.PastRollout},
	words.WaitForInject:        {cluster.LimitRollout, words.PastRollout},
	words.WaitForPermit:        {cluster.LimitPermit, words.PastPermit},
	words.WaitWhileAllStayUp:   {cluster.LimitStable, words.PastStable},
	words.BarrierRetries:       {cluster.LimitReread, words.PastAPI},
	words.ReadReporterLog:      {cluster.LimitReread, words.PastReporter},
	words.WaitForSchema:        {cluster.LimitSchema, words.PastSchema},
	words.WaitForStart:         {cluster.LimitStart, words.SeeSlowStart},
	words.WaitForAll:           {cluster.LimitStart, words.SeeSilentLog},
	words.WaitForLeaving:       {cluster.DecommissionRequested, words.SeeSlowDecommission},
	words.WaitForDecommission:  {cluster.DecommissionUnchanged, words.SeeSlowDecommission},
}

// Waited returns a step that begins with "wait" with its limit, or what follows it at that age. Any
// other step is returned unchanged, and an age of zero is unknown.
func Waited(step words.Message, age time.Duration, f evidence.Facts) words.Message {
	w, ok := waits[step.Code]
	switch {
	case !ok:
		return step
	case age < w.limit:
		with := words.Message{Code: step.Code, Params: words.Params{"limit": w.limit}, Commands: step.Commands}
		maps.Copy(with.Params, step.Params)
		return with
	}
	past := words.New(w.past, "limit", w.limit)
	for _, name := range []string{"node", "pod", "statefulSet", "report", "cluster"} {
		past.Params[name] = f[name]
	}
	if first, _ := step.Params["first"].(string); first != "" { // the node that it waits for
		past.Params["node"], f = first, maps.Clone(f)
		f["pod"], f["member"] = first, first
	}
	return evidence.Do(past, f)
}

// StartStep returns the step for a member whose Pod is starting, by what it waits for and for how
// long: where its barrier waits, the barrier shows why.
func StartStep(c *cluster.Cluster, member string) words.Message {
	m := c.Member(member)
	if m == nil || m.Pod == nil {
		return words.Message{}
	}
	f := evidence.Facts{
		"namespace": c.Namespace, "cluster": c.Name, "member": member, "pod": member, "log": Log(c, member),
		"container": c.Containers().Container(member),
	}
	if m.WaitsInBarrier() && !m.Deleting() {
		return evidence.Do(words.New(words.SeeBarrier), f)
	}
	age, waiting := time.Duration(0), m.StartingSince()
	if down := c.Matrix().DownSince(m.HostID); m.ScyllaDB().RestartCount > 0 && !down.IsZero() {
		// it was started again: it has been starting since it was DOWN in this Pod
		waiting = latest(down, m.Pod.CreationTimestamp.Time)
	}
	if !c.TakenAt.IsZero() && !waiting.IsZero() {
		age = c.TakenAt.Sub(waiting)
	}
	switch {
	case age < cluster.LimitStart:
		return Waited(evidence.Do(words.New(words.WaitForStart, "waits", m.Waiting), f), age, f)
	case m.Deleting() || cluster.LogOf(m.Pod, f["container"]).None:
		return evidence.Do(words.New(words.SeePodEvents), f)
	}
	return evidence.Do(words.New(words.SeeSlowStart), f)
}

// leavingFor returns how long a member is known to be decommissioned; zero if unknown.
func leavingFor(c *cluster.Cluster, member string) time.Duration {
	d := c.Decommissions()[member]
	if since := d.Since(); !since.IsZero() && !c.TakenAt.IsZero() {
		return c.TakenAt.Sub(since)
	}
	return 0
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
