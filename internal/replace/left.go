// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// KeepLeftVolume returns the step for a node that is not removed because of why, a
// StrangerLeftVolume: its data may be on a volume that no member has.
func KeepLeftVolume(c *cluster.Cluster, why words.Message) words.Message {
	text := func(name string) string { s, _ := why.Params[name].(string); return s }
	n, _ := why.Params["replicas"].(int)
	wanted, _ := why.Params["wanted"].(int)
	f := evidence.Facts{"namespace": c.Namespace, "statefulSet": text("statefulSet"), "wanted": strconv.Itoa(wanted),
		"left": "pvc " + text("claim")}
	if volume := text("volume"); volume != "" {
		f["left"], f["podNamespace"] = "pv "+volume, ""
	}
	step := words.New(words.ScaleBackOrLook, "statefulSet", text("statefulSet"), "replicas", n, "wanted", wanted,
		"member", text("member"))
	switch {
	case text("statefulSet") == "":
		step = words.New(words.SeeLeftVolume, "member", text("member"))
	case c.Operator:
		step.Params["statefulSet"], step.Params["rack"] = "", text("rack")
	case text("volume") == "" && wanted == n+1: // else ordinals before it would be created
		step.Code = words.ScaleBack
	}
	return evidence.Do(step, f)
}
