// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// serving is a member that serves with the newest template; old one of an older template.
func serving(name string) *cluster.Member {
	return &cluster.Member{
		Ref:         matrix.Ref{Member: name},
		Service:     &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.LabelServiceType: api.ServiceTypeMember}}},
		StatefulSet: &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{UpdateRevision: "new"}},
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "new"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}},
			Status: corev1.PodStatus{
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
			},
		},
	}
}

func old(name string) *cluster.Member { return aged(serving(name)) }

func aged(m *cluster.Member) *cluster.Member {
	m.Pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "old"
	return m
}

// starting is one whose ScyllaDB runs and is not ready; idle one whose ScyllaDB does not run.
func starting(m *cluster.Member) *cluster.Member {
	m.Pod.Status.Conditions, m.Pod.Status.ContainerStatuses[0].Ready = nil, false
	return m
}

func idle(m *cluster.Member) *cluster.Member {
	starting(m).Pod.Status.ContainerStatuses[0].State.Running = nil
	return m
}

// ending is one whose Pod is being deleted and is Ready still; gone is one without a Pod.
func ending(m *cluster.Member) *cluster.Member {
	m.Pod.DeletionTimestamp = &metav1.Time{}
	return m
}

func gone(name string) *cluster.Member {
	m := serving(name)
	m.Pod = nil
	return m
}

func unserviced(m *cluster.Member) *cluster.Member {
	m.Service = nil
	return m
}

// foreign is one whose name a Service has that is no member's.
func foreign(m *cluster.Member) *cluster.Member {
	m.Service.Labels[api.LabelServiceType] = "identity"
	return m
}

func set(name string, change func(*State), members ...*cluster.Member) State {
	s := State{Name: name, Labelled: true, Written: true, Held: true, Seen: true, Members: members}
	if change != nil {
		change(&s)
	}
	return s
}

func TestNext(t *testing.T) {
	done := func(s *State) { s.Held = false }
	begun := func(s *State) { s.Held, s.Written = false, false }
	for name, tc := range map[string]struct {
		sets []State
		want do
		of   string // the member, or what is waited for
		at   int
	}{
		"nothing is there":                    {nil, DoEnd, "", 0},
		"all is done":                         {[]State{set("a", done, serving("a-0"))}, DoEnd, "", 0},
		"no labels":                           {[]State{set("a", begun, serving("a-0")), set("b", func(s *State) { begun(s); s.Labelled = false }, old("b-0"))}, DoLabel, "", 1},
		"no Service yet":                      {[]State{set("a", begun, unserviced(serving("a-0")))}, doWait, "Service a-0", 0},
		"a Service of its name that is none":  {[]State{set("a", begun, foreign(serving("a-0")))}, doWait, "Service a-0", 0},
		"labelled":                            {[]State{set("a", done, serving("a-0")), set("b", begun, serving("b-0"))}, DoTemplate, "", 1},
		"Pods of an older template":           {[]State{set("a", done, old("a-0"))}, DoTemplate, "", 0},
		"not looked at":                       {[]State{set("a", func(s *State) { s.Seen = false }, old("a-0"))}, doWait, "StatefulSet a", 0},
		"held":                                {[]State{set("a", nil, serving("a-1"), old("a-0"))}, DoEvict, "a-0", 0},
		"the largest first":                   {[]State{set("a", nil, old("a-1"), old("a-0"))}, DoEvict, "a-1", 0},
		"one is gone":                         {[]State{set("a", nil, gone("a-1"), old("a-0"))}, doWait, "Pod a-1 does not exist", 0},
		"one ends":                            {[]State{set("a", nil, ending(serving("a-1")), old("a-0"))}, doWait, "Pod a-1 is not Ready", 0},
		"one ends, and its ScyllaDB has":      {[]State{set("a", nil, ending(idle(old("a-1"))), old("a-0"))}, doWait, "Pod a-1 is not Ready", 0},
		"one starts":                          {[]State{set("a", nil, starting(serving("a-1")), old("a-0"))}, doWait, "Pod a-1 is not Ready", 0},
		"one of another StatefulSet starts":   {[]State{set("a", nil, old("a-0")), set("b", begun, idle(serving("b-0")))}, doWait, "Pod b-0 is not Ready", 1},
		"all of it are rolled":                {[]State{set("a", nil, serving("a-0")), set("b", begun, serving("b-0"))}, DoRelease, "", 0},
		"no Pods":                             {[]State{set("a", nil)}, DoRelease, "", 0},
		"a dead Pod of the old template":      {[]State{set("a", nil, idle(old("a-0")), old("a-1"))}, DoMend, "a-0", 0},
		"a dead Pod of the new one":           {[]State{set("a", nil, idle(serving("a-0")), old("a-1"))}, doWait, "Pod a-0", 0},
		"the template is wrong and corrected": {[]State{set("a", func(s *State) { s.Written = false }, idle(serving("a-0")))}, DoTemplate, "", 0},
		"undo of a template that is wrong": {[]State{set("a", func(s *State) { s.Undo, s.Held, s.Written = true, false, true }, serving("a-0")),
			set("b", func(s *State) { begun(s); s.Undo = true }, idle(serving("b-0")))}, DoTemplate, "", 1},
		"a dead Pod before anything": {[]State{set("a", begun, idle(serving("a-0")))}, doWait, "Pod a-0", 0},
		"undo needs no Service":      {[]State{set("a", func(s *State) { s.Undo = true }, unserviced(old("a-0")))}, DoEvict, "a-0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := Next(tc.sets)
			said := got.Why
			if got.Member != nil {
				said = got.Member.Member + said
			}
			if got.Do != tc.want || !strings.Contains(said, tc.of) || tc.of == "" && said != "" || got.Set != tc.at {
				t.Errorf("got %s of %d (%s), want %s of %d (%s)", got.Do, got.Set, said, tc.want, tc.at, tc.of)
			}
		})
	}
}

// TestNextEndsWhateverStopsIt: from any state, with Pods that come back one step late and a turn to the other direction at any moment, at most one Pod is away at a
// time, and it ends with every StatefulSet released and every Pod of the newest template.
func TestNextEndsWhateverStopsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets []State
		for i := range rapid.IntRange(1, 3).Draw(t, "sets") {
			s := set(string(rune('a'+i)), nil)
			s.Labelled, s.Written = rapid.Bool().Draw(t, "labelled"), false
			s.Held = false
			for range rapid.IntRange(0, 3).Draw(t, "members") {
				s.Members = append(s.Members, serving("m"))
			}
			sets = append(sets, s)
		}
		turn := rapid.IntRange(0, 20).Draw(t, "turn")
		away := 0
		for steps := 0; ; steps++ {
			if steps > 200 {
				t.Fatalf("it does not end: %+v", sets)
			}
			if steps == turn {
				for i := range sets {
					s := &sets[i]
					s.Undo, s.Held, s.Written = true, false, !s.Labelled
					s.Labelled = true
				}
			}
			next := Next(sets)
			s := &State{}
			if next.Do != DoEnd {
				s = &sets[next.Set]
			}
			switch next.Do {
			case DoLabel:
				s.Labelled = true
			case DoTemplate:
				s.Written, s.Held = true, true
				for i := range s.Members {
					aged(s.Members[i])
				}
			case DoEvict, DoMend:
				if away > 0 {
					t.Fatalf("a second Pod is stopped: %+v", sets)
				}
				away++
				for i := range s.Members {
					if !s.Members[i].Current() {
						s.Members[i] = gone("m")
						break
					}
				}
			case DoRelease:
				s.Held = false
			case doWait:
				for i := range sets {
					for j, m := range sets[i].Members {
						if m.Pod == nil {
							sets[i].Members[j] = serving("m")
							away--
						}
					}
				}
			case DoEnd:
				for _, s := range sets {
					if s.Held || !s.Written || away > 0 {
						t.Fatalf("it ends too early: %+v", sets)
					}
				}
				return
			}
		}
	})
}

// running is the StatefulSet of test/simulation/manifests/plain.yaml as the API server has it.
func running(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	docs, err := split(input(t, "plain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := docs[1].items[0]
	child(u.Object, "spec")["updateStrategy"] = object{"type": "RollingUpdate", "rollingUpdate": object{"partition": int64(0)}}
	u.Object["status"] = object{"replicas": int64(3)}
	return u
}

func TestThereAndBack(t *testing.T) {
	o := Options{Image: "agent:1", Cluster: "shop", ControllerNamespace: "kubectl-scylla"}
	plan := func(u *unstructured.Unstructured, undo bool) *Running {
		t.Helper()
		r, err := Plan(u, o, nil, undo)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	state := func(r *Running) [3]bool { return [3]bool{r.Labelled(), r.Written(), r.Held()} }
	before := running(t)
	r := plan(before, false)
	if got := state(r); got != [3]bool{} {
		t.Errorf("before: labelled, written, held: %v", got)
	}
	labelled := plan(r.WithLabels(), false)
	if got := state(labelled); got != [3]bool{true, false, false} {
		t.Errorf("labelled: %v", got)
	}
	template, _ := podTemplate(before.DeepCopy())
	same, _ := podTemplate(labelled.Have.DeepCopy())
	if diff := cmp.Diff(template, same); diff != "" {
		t.Errorf("the labels roll Pods: %s", diff)
	}
	held, err := labelled.WithTemplate()
	if err != nil {
		t.Fatal(err)
	}
	r = plan(held, false)
	if got := state(r); got != [3]bool{true, true, true} {
		t.Errorf("held: %v", got)
	}
	if kind, _, _ := unstructured.NestedString(held.Object, "spec", "updateStrategy", "type"); kind != string(appsv1.OnDeleteStatefulSetStrategyType) {
		t.Errorf("held with strategy %q: Kubernetes would roll it", kind)
	}
	if c, err := r.Change(); err != nil || c.Before != c.After {
		t.Errorf("a change is shown where nothing is to change any more: %v", err)
	}
	// The API server fills in defaults.
	_, spec := podTemplate(held)
	spec["terminationMessagePath"], spec["initContainers"].([]any)[0].(object)["terminationMessagePolicy"] = "/dev/log", "File"
	if !plan(held, false).Written() {
		t.Error("what the API server has filled in is taken for a change")
	}
	o.Image = "agent:2"
	if other := plan(held, false); other.Written() || !other.Held() {
		t.Error("another image is no change")
	}
	o.Image = "agent:1"
	released, err := Released(held)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["spec"].(object)["updateStrategy"], released.Object["spec"].(object)["updateStrategy"]); diff != "" || released.GetAnnotations()[api.AnnotationRolling] != "" {
		t.Errorf("released: %s %v", diff, released.GetAnnotations())
	}
	for name, from := range map[string]*unstructured.Unstructured{"labelled": labelled.Have, "held": held, "released": released} {
		r := plan(from, true)
		if r.Written() || r.Held() {
			t.Errorf("%s: undo has nothing to do", name)
		}
		back, err := r.WithTemplate()
		if err != nil {
			t.Fatal(err)
		}
		if r = plan(back, true); !r.Written() || !r.Held() {
			t.Errorf("%s: undo does not end", name)
		}
		if back, err = Released(back); err != nil {
			t.Fatal(err)
		}
		delete(back.Object["spec"].(object)["template"].(object)["spec"].(object), "terminationMessagePath")
		if diff := cmp.Diff(before.Object, back.Object); diff != "" {
			t.Errorf("%s: it is not what it was: %s", name, diff)
		}
	}
	broken := running(t)
	broken.SetAnnotations(map[string]string{api.AnnotationRolling: "{"})
	if _, err := Plan(broken, o, nil, false); err == nil || !strings.Contains(err.Error(), "restore spec.updateStrategy manually") {
		t.Errorf("a broken record: %v", err)
	}
}

// What somebody has added to a list of an added container is a change: the template is written again. What the API server fills in is none.
func TestWrittenIsExactAboutLists(t *testing.T) {
	o := Options{Image: "agent:1", Cluster: "shop", ControllerNamespace: "kubectl-scylla"}
	r, err := Plan(running(t), o, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	held, err := r.WithTemplate()
	if err != nil {
		t.Fatal(err)
	}
	first := func(spec object) object { return spec["initContainers"].([]any)[0].(object) }
	for name, tc := range map[string]struct {
		change func(spec object)
		want   bool
	}{
		"nothing":     {func(object) {}, true},
		"a default":   {func(spec object) { first(spec)["terminationMessagePolicy"] = "File" }, true},
		"an argument": {func(spec object) { first(spec)["args"] = append(first(spec)["args"].([]any), "--v=9") }, false},
		"a variable": {func(spec object) {
			first(spec)["env"] = append(first(spec)["env"].([]any), object{"name": "X", "value": "y"})
		}, false},
		"a mount": {func(spec object) {
			first(spec)["volumeMounts"] = append(first(spec)["volumeMounts"].([]any), object{"name": "data", "mountPath": "/x"})
		}, false},
		"one argument less": {func(spec object) { first(spec)["args"] = first(spec)["args"].([]any)[1:] }, false},
		"no arguments":      {func(spec object) { delete(first(spec), "args") }, false},
		"another image":     {func(spec object) { first(spec)["image"] = "agent:0" }, false},
	} {
		u := held.DeepCopy()
		_, spec := podTemplate(u)
		tc.change(spec)
		again, err := Plan(u, o, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Written(); got != tc.want {
			t.Errorf("%s: written %t, want %t", name, got, tc.want)
		}
	}
}

// A second injection without the credential container, interrupted after each write, ends without it: the record always names the parts that the template has.
func TestPartsThatGoAreRecordedUntilTheyAreGone(t *testing.T) {
	with := func(mode credential.Mode) Options {
		return Options{Image: "agent:1", Cluster: "shop", ControllerNamespace: "kubectl-scylla", RootCredential: mode}
	}
	plan := func(u *unstructured.Unstructured, mode credential.Mode) *Running {
		t.Helper()
		r, err := Plan(u, with(mode), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	set := func(r *Running) *unstructured.Unstructured {
		t.Helper()
		u, err := r.WithTemplate()
		if err == nil {
			u, err = Released(u)
		}
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := running(t)
	first := set(plan(before, credential.Verify))
	r := plan(first, credential.Off)
	if r.Labelled() || r.Written() {
		t.Error("nothing is left to do")
	}
	labelled := r.WithLabels()
	if r = plan(labelled, credential.Off); !r.Labelled() || r.Written() {
		t.Errorf("labelled %t, written %t", r.Labelled(), r.Written())
	}
	second := set(r)
	if r = plan(second, credential.Off); !r.Labelled() || !r.Written() {
		t.Errorf("done: labelled %t, written %t", r.Labelled(), r.Written())
	}
	if diff := cmp.Diff(set(plan(before, credential.Off)).Object, second.Object); diff != "" {
		t.Errorf("by way of the container (-at once +after it):\n%s", diff)
	}
	for name, u := range map[string]*unstructured.Unstructured{"first": first, "labelled": labelled, "second": second} {
		back, err := Undo(u)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before.Object["spec"], back.Object["spec"]); diff != "" {
			t.Errorf("undo of %s: %s", name, diff)
		}
	}
}
