// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// WithBanned returns the same Cluster with evidence, by member name, from the logs of new nodes:
// ScyllaDB permanently refuses their join.
func (c *Cluster) WithBanned(said map[string]words.Message) *Cluster {
	if len(said) == 0 {
		return c
	}
	other := *c
	other.Banned = maps.Clone(said)
	return other.judge(c.want)
}

// LogError is a known error in ScyllaDB's log that ends the process.
type LogError struct {
	Code words.Code
	// Text is the message.
	Text string
}

// brief returns the start of the message without the words that every such message begins with.
func (e LogError) brief() string {
	text := FirstLine(e.Text)
	for _, before := range []string{"FATAL: Exception during startup, aborting: ", "Startup failed: "} {
		text = strings.TrimPrefix(text, before)
	}
	if inner, found := strings.CutPrefix(text, "std::runtime_error ("); found {
		text = strings.TrimSuffix(inner, ")")
	}
	return text
}

// WithLogs returns the same Cluster with the known errors in the logs of members that do not run,
// by member name. Notes are about logs that could not be read.
func (c *Cluster) WithLogs(logged map[string]LogError, notes ...string) *Cluster {
	if len(logged)+len(notes) == 0 {
		return c
	}
	other := *c
	other.Logged = maps.Clone(logged)
	other.Notes = append(slices.Clip(other.Notes), notes...)
	return other.judge(c.want)
}

// refusesVolume reports whether the member's ScyllaDB has compared its volume with the cluster's
// topology, and never starts on it: so the member reaches the others, and what keeps it DOWN is
// its own (service/storage_service.cc:6546, db/system_keyspace.cc:3553).
func (c *Cluster) refusesVolume(member string) bool {
	code := c.Logged[member].Code
	return code == words.JoinUnfinished || code == words.RequestNotFound
}

// logged returns the known error in the log of a member whose container ends again and again, or
// runs while its ScyllaDB does not.
func (c *Cluster) logged(member string, ends words.Message) words.Message {
	said, known := c.Logged[member]
	pod := c.ix.pods[member]
	if !known || pod == nil || pod.DeletionTimestamp != nil || serving(pod) ||
		said.Code == words.ShadowRound && c.startsLong(member).IsZero() {
		return words.Message{}
	}
	if ends.IsZero() {
		ends = c.ended(member)
	}
	m := words.New(words.PodSays, "text", said.brief(), "first", said.Code)
	if !ends.IsZero() {
		m.Params["ends"] = ends
	}
	if on := pod.Spec.NodeName; on != "" {
		m.Params["kubernetesNode"] = on
	}
	if pvc := c.ix.pvcs[c.ix.pvcName(member)]; said.Code == words.DiskNoSpace && pvc != nil {
		maps.Copy(m.Params, c.unbound(pvc).Params)
		delete(m.Params, "words")
	}
	return m
}

// Newcomers returns the names, sorted, of the members whose ScyllaDB has run and that have not
// joined. If ScyllaDB has permanently refused one of them, its log has the reason. Nodes that
// replace others are not among them: package replace judges those.
func (c *Cluster) Newcomers() []string {
	var out []string
	for _, name := range c.ix.names() {
		if c.isNewcomer(name) {
			out = append(out, name)
		}
	}
	return out
}

func (c *Cluster) isNewcomer(member string) bool {
	svc, pod := c.ix.services[member], c.ix.pods[member]
	if svc == nil || pod == nil || pod.DeletionTimestamp != nil || serving(pod) {
		return false
	}
	for _, label := range []string{api.LabelReplace, api.LabelReplacingNodeHostID, api.LabelDecommissioned} {
		if _, there := svc.Labels[label]; there {
			return false
		}
	}
	if j := joined(svc); j != nil && *j {
		return false
	}
	st := ScyllaDBStatus(pod)
	return st != nil &&
		(st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil)
}

// banned returns the evidence that ScyllaDB has permanently refused the new node, else zero. The
// exit code is not evidence. The container ends as the image's entrypoint ends: with 0 after
// SIGTERM and after an error of its own. The end of a banned ScyllaDB does not end the container.
// If the volume was emptied, it belongs to a new Pod, whose ScyllaDB has not run. The Service may
// still record the host ID of an earlier volume, so the Pod's own row must have it too.
func (c *Cluster) banned(member string) words.Message {
	if !c.isNewcomer(member) {
		return words.Message{}
	}
	if why := c.Banned[member]; !why.IsZero() {
		return why
	}
	id := c.ix.refs[member].HostID
	if id == "" || id != c.Said(member).LastHostID() {
		return words.Message{}
	}
	if at, ok := c.all.Index(id); ok && c.all.Nodes()[at].SeenUp > 0 {
		return words.Message{} // its peers list it: it is joining
	}
	operations, _ := c.Operations()
	for _, op := range operations {
		if op.HostID == id && op.State == "failed" && (op.Type == "bootstrap" || op.Type == "replace") {
			return words.New(words.JoinOperationFailed, "operation", op.Type, "hostID", id, "error", op.Error)
		}
	}
	return words.Message{}
}

// LastEnd returns how the Pod's ScyllaDB ended, even while its container waits for its restart; nil
// while it runs or if it has not run.
func LastEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	switch st := ScyllaDBStatus(pod); {
	case st == nil || st.State.Running != nil:
		return nil
	case st.State.Terminated != nil:
		return st.State.Terminated
	default:
		return st.LastTerminationState.Terminated
	}
}
