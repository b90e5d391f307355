// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// destructive are all verbs that delete, remove, drain or force, by program. A verb of several
// words has its words in this order, with any arguments between them.
var destructive = map[string][]string{
	"kubectl": {"delete", "drain", "evict", "replace --force", "taint NoExecute",
		"patch pvc"},
	"scylla": {"replace", "force-proceed", "force-bootstrap", "init reset", "uninstall", "remote remove",
		"inject --undo"},
	"nodetool": {"decommission", "removenode", "excludenode", "assassinate", "drain", "stopdaemon"},
}

// undone are the commands with such a verb that only read, or withdraw a request.
var undone = map[string][]string{
	"scylla":   {"replace status", "replace cancel", "force-proceed --undo", "force-bootstrap --undo"},
	"nodetool": {"removenode status"},
}

// Destroys reports whether the command deletes, removes, drains, replaces, forces or opens a
// barrier, so that it cannot be undone. A label that requests a replacement counts, and the removal
// of a recorded host ID. The deletion of a Pod does not count without --force: its StatefulSet
// creates it again, with the same volume.
func Destroys(c words.Command) bool {
	if len(c) == 0 {
		return false
	}
	program, args := "kubectl", []string(c[1:])
	if i := slices.Index(args, "nodetool"); i >= 0 {
		program, args = "nodetool", args[i+1:]
	} else if len(args) > 0 && args[0] == "scylla" {
		program, args = "scylla", args[1:]
	}
	has := func(verb string) bool { return inOrder(args, strings.Fields(verb)) }
	switch {
	case slices.Contains(args, "--force"), slices.Contains(args, "--ignore-dead"):
		return true
	case program == "kubectl" && len(args) > 1 && args[0] == "delete" && args[1] == "pod":
		return false
	case program == "kubectl" && (has("label") || has("annotate")) && slices.ContainsFunc(args, recorded):
		return true
	}
	return slices.ContainsFunc(destructive[program], has) && !slices.ContainsFunc(undone[program], has)
}

// inOrder reports whether args has the words of the verb, in this order.
func inOrder(args, verb []string) bool {
	for _, arg := range args {
		if len(verb) > 0 && arg == verb[0] {
			verb = verb[1:]
		}
	}
	return len(verb) == 0
}

// recorded reports whether a label or annotation requests a replacement, or removes the record of a
// host ID.
func recorded(arg string) bool {
	key, removes := strings.CutSuffix(arg, "-")
	name, _, _ := strings.Cut(arg, "=")
	return name == api.LabelReplace && !removes || removes && slices.Contains([]string{api.AnnotationHostID,
		api.LabelReplacingNodeHostID, api.AnnotationReplaceOriginalHostID}, key)
}
