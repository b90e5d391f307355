// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const replacedMember = "demo-dc1-rack3-0"

// replacing is a cluster whose third rack has a node being replaced by a Pod that has not joined.
func replacing(racks, members int) *plugintest.Cluster {
	return plugintest.New(racks, members).Replacing(replacedMember)
}

// failing is replacing after ScyllaDB has exited with that code.
func failing(racks, members int, code int32) *plugintest.Cluster {
	return replacing(racks, members).Exited(replacedMember, code)
}

// ghostly is a cluster with a member that is gone from Kubernetes: its peers list a host ID that no object has.
func ghostly(t testing.TB) *cluster.Cluster {
	t.Helper()
	return loadObjects(t, plugintest.New(3, 4).DownSince("demo-dc1-rack2-3", time.Hour).Leftover("demo-dc1-rack2-3"))
}

const resume = "kubectl scylla replace resume " + replacedMember + " -n demo"

func TestReplacementStates(t *testing.T) {
	withdrawn := failing(3, 1, 1)
	unread := failing(3, 1, 1)
	requested := plugintest.New(3, 1)
	requested.Service(replacedMember).Labels[api.LabelReplace] = ""
	requested.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-" + replacedMember, UID: "claim", Labels: map[string]string{api.LabelCluster: "demo"},
	}})
	cases := map[string]struct {
		cluster   *plugintest.Cluster
		logs      map[string]cluster.LogError
		drop      func(*cluster.Cluster)
		phase     replace.Phase
		code      string
		held      bool
		cure, say string
	}{
		"under way": {cluster: replacing(3, 1), phase: replace.PhaseJoin, say: "is being replaced"},
		"crashed": {cluster: withdrawn, phase: replace.PhaseFailed, code: string(words.ExitedBeforeJoining), cure: "delete nothing yet",
			say: "ScyllaDB on Pod demo-dc1-rack3-0 exited with code 1"},
		"ended with 0": {cluster: failing(3, 1, 0), phase: replace.PhaseFailed, code: string(words.ExitedBeforeJoining), cure: "delete nothing yet",
			say: "ScyllaDB on Pod demo-dc1-rack3-0 exited with code 0"},
		"the launcher tries again": {cluster: failing(3, 1, replace.ExitLaunchRetry), phase: replace.PhaseJoin, say: "is being replaced"},
		"its log says why": {cluster: replacing(3, 1), logs: map[string]cluster.LogError{replacedMember: {Code: words.JoinCancelled, Text: "Canceled. Dead nodes: {}"}},
			phase: replace.PhaseFailed, code: "JoinCancelled", cure: resume, say: "Canceled. Dead nodes"},
		"held up": {cluster: requested, phase: replace.PhaseVerify, held: true, say: "nothing is deleted"},
		"the Scylla Operator's": {cluster: failing(3, 1, 1).Operator(), phase: replace.PhaseFailed, code: string(words.ExitedBeforeJoining),
			cure: "delete nothing yet", say: "failed"},
		"the Scylla Operator's, under way": {cluster: replacing(3, 1).Operator(), phase: replace.PhaseJoin, say: "is being replaced"},
		"claims were not read":             {cluster: unread, drop: func(s *cluster.Cluster) { s.PVCs = nil }, phase: replace.PhaseFailed, code: string(words.ExitedBeforeJoining), cure: "delete nothing yet"},
		"claims of a request were not read": {cluster: requested, drop: func(s *cluster.Cluster) { s.PVCs = nil },
			say: "requested, the host ID to replace is not recorded yet"},
		"Pods were not read": {cluster: failing(3, 1, 1), drop: func(s *cluster.Cluster) { s.Pods = nil }, say: "is being replaced"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := load(t, tc.cluster).WithLogs(tc.logs)
			if tc.drop != nil {
				tc.drop(s)
			}
			before := s.Source
			d := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
			if len(d.Replacements) != 1 {
				t.Fatalf("%d replacements", len(d.Replacements))
			}
			r := d.Replacements[0]
			code := ""
			if r.Failure != nil {
				code = r.Failure.Code
			}
			if r.Phase != tc.phase || code != tc.code || r.Held != tc.held || !strings.Contains(r.Cure, tc.cure) || !strings.Contains(r.Summary, tc.say) {
				t.Errorf("got %+v (failure %+v)", r, r.Failure)
			}
			if (code != "") != strings.Contains(d.Summary, "replacement of "+replacedMember+" failed: "+failureText(r)) {
				t.Errorf("summary %q", d.Summary)
			}
			if s.Source != before {
				t.Errorf("the snapshot was turned to source %s", s.Source)
			}
			b, err := document.NewBarrierVerdict(diagnosis.Judge(s, plugintest.Now, replacedMember), replacedMember)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, *b.Replacement, cmpopts.IgnoreUnexported(document.Replacement{}, document.Failure{})); diff != "" {
				t.Errorf("status and barrier differ:\n%s", diff)
			}
			noted := strings.Contains(strings.Join(words.Texts(b.Verdict.Notes), "\n"), "failed: ")
			if noted != (code != "") {
				t.Errorf("notes %q", b.Verdict.Notes)
			}
			for what, text := range map[string]string{"status": show.Cluster(d, show.Options{}), "barrier": show.Barrier(b, show.Options{})} {
				if tc.code != "" && (strings.Count(text, tc.say) != 1 || !strings.Contains(flat(text), flat(r.Cure))) && tc.say != "failed" && tc.say != "" {
					t.Errorf("%s does not show failure and cure once:\n%s", what, text)
				}
			}
		})
	}
}

// flat is a text on one line, without what separates commands.
func flat(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), ";", "")
}

func failureText(r document.Replacement) string {
	if r.Failure == nil {
		return "?"
	}
	return r.Failure.Text
}

func TestFailedReplacementFitsTheScreen(t *testing.T) {
	for name, s := range map[string]*cluster.Cluster{"a failed replacement": load(t, failing(3, 4, 1)), "a ghost host ID": ghostly(t)} {
		t.Run(name, func(t *testing.T) {
			text := show.Cluster(document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now)), show.Options{Width: 80, Height: 24})
			for line := range strings.Lines(text) {
				if len([]rune(plain(line))) > 81 && !isCommand(line) {
					t.Errorf("too wide: %s", line)
				}
			}
			if n := strings.Count(text, "\n"); n > 23 {
				t.Errorf("%d lines, 23 leave room for the prompt:\n%s", n, text)
			}
			plugintest.Golden(t, "80x24/"+strings.ReplaceAll(name, " ", "-")+".txt", text)
		})
	}
	b, err := document.NewBarrierVerdict(diagnosis.Judge(load(t, failing(3, 4, 1)), plugintest.Now, replacedMember), replacedMember)
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Golden(t, "80x24/barrier-of-a-failed-replacement.txt", show.Barrier(b, show.Options{Width: 80, Height: 24}))
}

func plain(s string) string {
	var b strings.Builder
	esc := false
	for _, r := range s {
		switch {
		case r == '\x1b':
			esc = true
		case esc:
			esc = r != 'm'
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// The command that is shown on a narrow screen is the command, once a shell has joined its lines.
func TestGhostHasItsCommand(t *testing.T) {
	d := document.NewClusterStatus(diagnosis.Judge(ghostly(t), plugintest.Now))
	want := "kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- removenode 3cd7f8a7-5ea1-4d00-8000-000000000007"
	if len(d.Leftovers) != 1 || d.Leftovers[0].Command != want || d.Leftovers[0].HostID != d.GossipOnly[0] {
		t.Fatalf("leftovers %+v, gossip only %v", d.Leftovers, d.GossipOnly)
	}
	for _, width := range []int{0, 60, 80, 200} {
		text := plain(show.Cluster(d, show.Options{Width: width}))
		if joined := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " "); !strings.Contains(joined, want) {
			t.Errorf("width %d:\n%s", width, text)
		}
	}
}

// A host ID that the new node of an open replacement reports for itself is no ghost.
func TestNewNodeIsNoGhost(t *testing.T) {
	c := replacing(3, 4)
	c.Pod(replacedMember).Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"0ddba115-5ea1-4d00-8000-0000000000f1"}`}
	if d := documentOf(t, c); len(d.Leftovers) != 0 {
		t.Errorf("%+v", d.Leftovers)
	}
}

func TestNoNoiseWhenNothingIsOpen(t *testing.T) {
	for name, c := range map[string]*plugintest.Cluster{"healthy": plugintest.New(3, 1), "a node down": plugintest.New(3, 1).Down(replacedMember)} {
		d := documentOf(t, c)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"original", "hostIDs", "failure", "phase"} {
			if strings.Contains(string(data), `"`+word+`"`) {
				t.Errorf("%s: field %s in %s", name, word, data)
			}
		}
	}
}
