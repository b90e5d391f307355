// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func TestFollowUpTasksAreShownUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	open := document.Task{State: string(diagnosis.TaskOpen), Text: words.New(words.AfterCleanupNoTokens, "node", "demo-dc1-rack1-0")}
	ticked := document.Task{State: "NotNeeded", Text: open.Text}
	for name, tc := range map[string]struct {
		tasks   []document.Task
		options show.Options
		want    bool
	}{
		"one of two is open":             {[]document.Task{ticked, open}, show.Options{}, true},
		"none is open":                   {[]document.Task{ticked}, show.Options{}, false},
		"none is open, with --wide":      {[]document.Task{ticked}, show.Options{Wide: true}, true},
		"none is open, with --all":       {[]document.Task{ticked}, show.Options{All: true}, true},
		"no operation has ended":         {nil, show.Options{All: true}, false},
		"one is open, on a small screen": {[]document.Task{open}, show.Options{Width: 80, Height: 24}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := documentOf(t, plugintest.New(3, 1))
			if tc.tasks != nil {
				d.Afterwards = []document.Afterwards{{Summary: "demo-dc1-rack3-0 has joined", Tasks: tc.tasks}}
			}
			text := plain(show.Cluster(d, tc.options))
			title, what := strings.Contains(text, "Follow-up tasks"), strings.Contains(text, "demo-dc1-rack3-0 has joined")
			if title != tc.want || what != tc.want {
				t.Errorf("title %t, operation %t, want %t:\n%s", title, what, tc.want, text)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	got := plain(show.Facts([]show.Fact{{Name: "Pod", Text: "Running"}, {Text: "on node-1"}, {}, {Name: "A name beyond the column", Text: "text"}}, 0))
	want := "Pod:             Running\n" + strings.Repeat(" ", show.FactColumn) + "on node-1\n\nA name beyond the column: text\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFactsWrap: texts continue below their begin, those of the title below it; a command is not broken.
func TestFactsWrap(t *testing.T) {
	t.Parallel()
	command := "kubectl logs demo-dc1-rack1-0 -n demo --container scylla"
	got := plain(show.Facts([]show.Fact{
		{Name: "demo/demo-dc1-rack1-0", Text: "DOWN for 12s: no answer from it at all", Style: show.Bad},
		{Name: "Next", Text: "do not delete it; check its own log", Style: show.Strong}, {Text: command, Command: true},
	}, 40))
	pad := "\n" + strings.Repeat(" ", show.FactColumn)
	want := "demo/demo-dc1-rack1-0: DOWN for 12s: no\n  answer from it at all\nNext:            do not delete it; check" + pad + "its own log" + pad + command + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A member that may start because a person forced it still has blockers: the list gives the reason
// why it may start, not why it would wait.
func TestTheListSaysWhyAForcedMemberMayStart(t *testing.T) {
	t.Parallel()
	c := plugintest.New(3, 2).Down("demo-dc1-rack3-0")
	c.Service(c.Newcomer("dc1", "rack2", 2)).Annotations = map[string]string{api.AnnotationForceProceed: api.ForceProceedValue}
	list, err := document.NewBarrierList([]*diagnosis.Judged{diagnosis.Judge(load(t, c), plugintest.Now)})
	if err != nil {
		t.Fatal(err)
	}
	if v := list.Items[0].Verdict; !v.Satisfied || len(v.Blockers) == 0 {
		t.Fatalf("satisfied %t, %d blockers: the case is not what it says", v.Satisfied, len(v.Blockers))
	}
	text := oneLine(show.Barriers(list, show.Options{}))
	if want := list.Items[0].Verdict.Predicate(); !strings.Contains(text, want) {
		t.Errorf("%q is missing:\n%s", want, text)
	}
}
