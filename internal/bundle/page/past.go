// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// Kinds of the documents of `kubectl scylla events`.
const (
	KindHistory     = "ClusterHistory"
	KindHistoryList = "ClusterHistoryList"
)

// History lists the changes of one cluster, the oldest first.
type History struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	// TakenAt is when the objects were read, of saved objects the newest time in them; absent where they have none.
	TakenAt *metav1.Time `json:"takenAt,omitempty"`
	Items   []Change     `json:"items"`
	// Routine counts the left-out events of the scheduler and the kubelet about every Pod that starts; Older counts changes left out for want of room.
	Routine int `json:"routineLeftOut,omitempty"`
	Older   int `json:"olderLeftOut,omitempty"`
	// LeftOut lists the parts that could not be read.
	LeftOut []bundle.LeftOut `json:"leftOut,omitempty"`
}

// HistoryChoice selects changes.
type HistoryChoice struct {
	// Since is how far back; zero means everything known.
	Since time.Duration
	// Names, when there are any, are those of the objects that a change must be about or name.
	Names []string
	// Routine includes the events that every Pod has when it starts.
	Routine bool
}

// History is the report's changes that are chosen. Ages count to when the objects were read, and where that is not known to now.
func (r *Report) History(choice HistoryChoice, now time.Time) *History {
	h := &History{
		TypeMeta: metav1.TypeMeta{APIVersion: render.APIVersion, Kind: KindHistory}, ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name},
		TakenAt: r.TakenAt, Items: []Change{}, Older: r.ChangesLeftOut,
	}
	for _, l := range r.LeftOut {
		if !strings.HasPrefix(l.What, "log") { // no change is read from a log
			h.LeftOut = append(h.LeftOut, l)
		}
	}
	if t := r.taken(); !t.IsZero() {
		now = t
	}
	for _, c := range slices.Backward(r.Changes) {
		switch {
		case choice.Since > 0 && c.Time.Time.Before(now.Add(-choice.Since)), len(choice.Names) > 0 && !c.names(choice.Names):
		case c.Routine && !choice.Routine:
			h.Routine++
		default:
			h.Items = append(h.Items, c)
		}
	}
	return h
}

// names is true for a change that is about one of the objects, or names it.
func (c Change) names(names []string) bool {
	words := strings.FieldsFunc(c.About+" "+c.Text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(names, strings.Trim(word, ".")) })
}

// Text is the history for people, as the report lists changes but the newest last.
func (h *History) Text(o render.Options) string {
	r := &Report{}
	r.TakenAt = h.TakenAt
	var b strings.Builder
	for _, c := range h.Items {
		b.WriteString(r.changeLine(c, o))
	}
	if len(h.Items) == 0 {
		b.WriteString("Nothing changed, as far as rows, conditions, replacements and Events tell.\n")
	}
	if h.Routine > 0 {
		b.WriteString(render.Dim.Paint(routineText(h.Routine)+" left out (--all shows them)") + "\n")
	}
	if h.Older > 0 {
		b.WriteString(render.Dim.Paint("older ones left out: there are too many") + "\n")
	}
	for _, l := range h.LeftOut {
		b.WriteString(render.Warn.Paint("not read:") + " " + render.Clean(LeftOutLine(l)) + "\n")
	}
	return b.String()
}

// DeepCopyObject makes the history a runtime.Object, which the printers of cli-runtime ask for.
func (h *History) DeepCopyObject() runtime.Object {
	out := new(History)
	// A copy by JSON is complete: the document holds texts, numbers and times only.
	if data, err := json.Marshal(h); err == nil {
		_ = json.Unmarshal(data, out)
	}
	return out
}

// HistoryList is the document of the histories of several clusters.
type HistoryList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []*History `json:"items"`
}

// NewHistoryList wraps histories, sorted by cluster; Items is never null.
func NewHistoryList(list []*History) *HistoryList {
	out := &HistoryList{TypeMeta: metav1.TypeMeta{APIVersion: render.APIVersion, Kind: KindHistoryList}, Items: []*History{}}
	out.Items = append(out.Items, list...)
	slices.SortStableFunc(out.Items, func(a, b *History) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// DeepCopyObject makes the list a runtime.Object, which the printers of cli-runtime ask for.
func (l *HistoryList) DeepCopyObject() runtime.Object {
	out := new(HistoryList)
	// A copy by JSON is complete: the document holds texts, numbers and times only.
	if data, err := json.Marshal(l); err == nil {
		_ = json.Unmarshal(data, out)
	}
	return out
}
