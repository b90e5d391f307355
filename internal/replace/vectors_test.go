// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

type vector struct {
	ID    string `json:"id"`
	Input struct {
		ServiceLabels              map[string]string `json:"serviceLabels"`
		ServiceAnnotations         map[string]string `json:"serviceAnnotations"`
		PVCExists                  bool              `json:"pvcExists"`
		PodInCache                 bool              `json:"podInCache"`
		PodLive                    string            `json:"podLive"`
		PodOwnedByOurStatefulSet   bool              `json:"podOwnedByOurStatefulSet"`
		PVCDeleteError, EvictError string
	} `json:"input"`
	Expected struct {
		APICalls           []string          `json:"apiCalls"`
		FinalServiceLabels map[string]string `json:"finalServiceLabels"`
		PVCLeft            bool              `json:"pvcLeft"`
	} `json:"expected"`
}

// toInput puts the vector's objects into the base cluster. The vectors call host IDs "old" and "new"; the live Pod counts, as ours is
// always read live. An `old` is DOWN in all rows, a `new` is a joined node where the live Pod is ready.
func (v vector) toInput() Input {
	in := base()
	ids := map[string]string{"old": hostOld, "new": hostNew}
	id := func(s string) string {
		if full, ok := ids[s]; ok {
			return full
		}
		return s
	}
	in.Self.Service.Labels, in.Self.Service.Annotations = map[string]string{}, map[string]string{}
	for k, val := range v.Input.ServiceLabels {
		in.Self.Service.Labels[k] = id(val)
	}
	for k, val := range v.Input.ServiceAnnotations {
		in.Self.Service.Annotations[k] = id(val)
	}
	if !v.Input.PVCExists {
		in.Claims = nil
	}
	if !v.Input.PodOwnedByOurStatefulSet {
		in.Self.Pod.OwnerReferences = nil
	}
	if v.Input.PodLive == "" {
		in.Self.Pod = nil
	}
	// The vectors say "ready" of the Pod of a node that is to be replaced as well. Ours must be dead.
	if in.Self.RecordedID() == hostNew {
		in.Self.Joined = new(false)
		if v.Input.PodLive == "ready" {
			ready(in.Self.Pod, true)
			in.Self.Joined = new(true)
			in.Matrix = joined().Matrix
		}
	}
	return in
}

// The vectors run one sync of the Scylla Operator, which deletes, evicts and labels in one go; ours is one step, so its first write is
// compared. agree means that what is waited for or finished is the same; every other case gives its reason.
func TestVectorsAgreeOrDifferWithAReason(t *testing.T) {
	const recordFirst = "the original host ID and the claim's UID are recorded before the claim is deleted; the operator records last"
	want := map[string]struct {
		action  Action
		differs string // empty: agrees
	}{
		"replace/empty host ID annotation: proceeds and records an empty label":                  {ActionRefuse, "an empty host ID names no node; the new Pod would join as a plain new one"},
		"replace/init: eviction refused by a PDB: pvc already deleted, label not set":            {ActionRecord, recordFirst + "; a refused eviction is retried alone"},
		"replace/init: pod already gone":                                                         {ActionRecord, recordFirst},
		"replace/init: pvc already gone":                                                         {ActionRecord, recordFirst},
		"replace/init: pvc and pod exist":                                                        {ActionRecord, recordFirst},
		"replace/init: pvc delete fails":                                                         {ActionRecord, recordFirst},
		"replace/init: replace label with a non-empty value is treated the same":                 {ActionRecord, recordFirst},
		"replace/init: service update conflicts: pvc and pod gone, label not set (crash window)": {ActionRecord, recordFirst + ", so a conflict costs nothing"},
		"replace/no host ID annotation yet: wait":                                                {ActionRefuse, ""},
		"replace/ongoing: cache says ready, live pod gone":                                       {ActionWaitNewPod, ""},
		"replace/ongoing: cache says ready, live says not ready":                                 {ActionWaitJoin, ""},
		"replace/ongoing: finished":                                                              {ActionFinish, ""},
		"replace/ongoing: finished but update conflicts (the event is sent anyway)":              {ActionFinish, ""},
		"replace/ongoing: host ID changed, pod not ready":                                        {ActionWaitJoin, ""},
		"replace/ongoing: pod back, host ID annotation still old":                                {ActionWaitJoin, ""},
		"replace/ongoing: pod not recreated":                                                     {ActionWaitNewPod, ""},
		"replace/ongoing: pod of another owner":                                                  {ActionWaitNewPod, ""},
		"replace/ongoing: replacing label with an empty value, host ID set: finishes at once when ready": {ActionRefuse,
			"the original host ID is lost: a node without it has joined as a plain new one and the dead one is still a member"},
		"replace/only the internal label, user label removed by hand: never cleaned up": {ActionCancelRefused, "the label comes back, visibly, and the replacement ends"},
		"replace/replace label absent: nothing":                                         {ActionNone, ""},
		"replace/resume after a crash between eviction and label, new pod already up with a NEW host ID: records the new node's ID and deletes its PVC": {ActionRefuse,
			"the node that the Service names is alive; its volume must not go"},
	}
	data, err := os.ReadFile("../../test/simulation/vectors/replace-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(want) {
		t.Errorf("%d vectors, %d expectations", len(vectors), len(want))
	}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			w, ok := want[v.ID]
			if !ok {
				t.Fatal("no expectation")
			}
			in := v.toInput()
			s := Next(in)
			if s.Action != w.action {
				t.Fatalf("%s, want %s: %s", s.Action, w.action, all(s))
			}
			if w.differs == "" {
				agrees(t, v, in, s)
			}
		})
	}
}

// agrees: the operator left the labels as they are where we wait, and took them away where we finish.
func agrees(t *testing.T, v vector, in Input, s Step) {
	t.Helper()
	if s.Action.Writes() && s.Action != ActionFinish {
		t.Errorf("%s writes", s.Action)
	}
	for _, call := range v.Expected.APICalls {
		if strings.HasPrefix(call, "delete") || strings.HasPrefix(call, "create") {
			t.Errorf("the operator does %q, we %s", call, s.Action)
		}
	}
	conflict := strings.Contains(v.ID, "conflict")
	if s.Action == ActionFinish && !conflict {
		labels := after(in, s).Self.Service.Labels
		if len(labels) != len(v.Expected.FinalServiceLabels) {
			t.Errorf("labels left %v, the operator leaves %v", labels, v.Expected.FinalServiceLabels)
		}
	}
}

// The state in which the vector "resume after a crash" begins cannot come about here, because the record is written first; where another
// controller has left it, the claim of the living newcomer stays.
func TestAliveNewcomerKeepsItsClaim(t *testing.T) {
	in := joined()
	in.Self.Service.Labels, in.Self.Service.Annotations = map[string]string{api.LabelReplace: ""}, map[string]string{}
	records(&in, hostNew, new(true))
	in = setCell(in, "*", hostOld, matrix.Down, 0)
	if s := Next(in); s.Action != ActionRefuse {
		t.Errorf("%s", s.Action)
	}
}
