// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// partitioned is a cluster of 28 racks of 18 nodes, of which those of the first datacenter and the rest do not see each other: 110,808
// pairs are DOWN.
func partitioned() *Report {
	const racks, perRack, cut = 28, 18, 9 * 18
	notUp := map[int]map[int]string{}
	for i := range racks * perRack {
		notUp[i] = map[int]string{}
		for j := range racks * perRack {
			if (i < cut) != (j < cut) {
				notUp[i][j] = "DOWN"
			}
		}
	}
	r := report(racks, perRack, notUp)
	since := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r.TakenAt = &metav1.Time{Time: since.Add(time.Minute)}
	dc := func(i int) string { return []string{"eu-central-1", "us-east-1", "us-west-2"}[min(2, i/cut)] }
	for i := range r.Nodes {
		n := &r.Nodes[i]
		n.Datacenter, n.Rack = dc(i), fmt.Sprintf("rack%d", i/perRack)
		n.Seen = &document.Seen{Status: "DOWN", Up: 1, Down: 1}
		r.Rows[i].Observer = n.Ref
		r.Places = append(r.Places, Place{Member: n.Member, PodIP: fmt.Sprintf("10.0.%d.%d", i/250, i%250), KubernetesNode: fmt.Sprintf("ip-10-1-%d-%d.ec2.internal", i/250, i%250), State: "Ready"})
	}
	for i, down := range notUp {
		for j := range down {
			r.Blockers = append(r.Blockers, matrix.Blocker{Reason: words.NodeDown, Observer: r.Nodes[i].Ref, Observed: r.Nodes[j].Ref, Since: since})
		}
	}
	r.Counts.Blockers = len(r.Blockers)
	return r
}

// The worst of 504 nodes: small enough to mail, and nothing but racks is open.
func TestPageOfAPartition(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := HTML(&b, partitioned()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", b.Len())
	if b.Len() > 3<<20 {
		t.Errorf("%d bytes, more than 3 MiB", b.Len())
	}
	text := b.String()
	if n := strings.Count(text, `<details class="rack">`); n != 28 {
		t.Errorf("%d racks", n)
	}
	if n := strings.Count(text, `<g id="mx-p`); n > 56 {
		t.Errorf("rows of one content are drawn %d times", n)
	}
	if strings.Index(text, `<h2 id="matrix">`) > strings.Index(text, `<h2 id="blockers">`) {
		t.Error("the matrix comes after the blockers")
	}
	if keep := os.Getenv("REPORT_SCREENSHOTS"); keep != "" {
		if err := os.WriteFile(keep+"/partition.html", b.Bytes(), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// Events of every start of a Pod are folded on the page, counted in texts, and the first to go when there are too many changes.
func TestRoutineEventsAreFolded(t *testing.T) {
	t.Parallel()
	r := report(1, 2, nil)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var events []corev1.Event
	for i := range maxChanges {
		events = append(events, corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprint("p", i)}, Reason: "Pulled", Message: "routine", Type: corev1.EventTypeNormal, LastTimestamp: metav1.NewTime(at)})
	}
	for _, reason := range []string{"Killing", "Created"} {
		events = append(events, corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "odd"}, Reason: reason, Message: "old", Type: map[bool]string{true: corev1.EventTypeWarning, false: corev1.EventTypeNormal}[reason == "Created"],
			LastTimestamp: metav1.NewTime(at.Add(-time.Hour))})
	}
	r.eventChanges(events)
	slices.SortStableFunc(r.Changes, func(a, b change) int { return b.Time.Compare(a.Time.Time) })
	r.cutChanges()
	others, routine := r.split()
	if len(others) != 2 || len(routine) != maxChanges-2 || r.ChangesLeftOut != 2 {
		t.Fatalf("%d others, %d routine, %d left out", len(others), len(routine), r.ChangesLeftOut)
	}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	folded := strings.Index(page.String(), "<summary>498 routine events of Pods&#39; starts</summary>")
	if odd := strings.Index(page.String(), "Killing: old"); folded < 0 || odd < 0 || odd > folded {
		t.Errorf("%d, %d", odd, folded)
	}
	if text := r.Text(show.Options{}); strings.Contains(text, "Pulled") || !strings.Contains(text, "498 routine events") || !strings.Contains(text, "Created: old") {
		t.Errorf("text:\n%s", text)
	}
	if text := r.Text(show.Options{Wide: true}); strings.Count(text, "Pulled") != 498 {
		t.Error("-o wide does not list them")
	}
}

// BenchmarkPage draws the page of the worst of 504 nodes; page-B is its size.
func BenchmarkPage(b *testing.B) {
	r := partitioned()
	b.Run(fmt.Sprintf("N=%d", len(r.Nodes)), func(b *testing.B) {
		var size bytes.Buffer
		for b.Loop() {
			size.Reset()
			if err := HTML(&size, r); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(size.Len()), "page-B")
	})
}
