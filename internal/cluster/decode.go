// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Decoder decodes the rows that Pods carry, and caches them. In the steady state all nodes carry
// identical cells, and nothing changes between two readings. Both are decoded once and shared, so
// 1,000 annotations of 1,000 cells cost only the reading of their bytes. The zero value and nil are
// ready to use; Decoder is safe for concurrent use.
type Decoder struct {
	mu   sync.Mutex
	rows map[string]remembered // by Pod name, of the last reading
	// by the annotation's text up to the end of the cells
	cells map[string][]api.ObservedNodeStatusReport
}

type remembered struct {
	text api.RowText
	decoded
}

// decoded is one Pod's annotation: a report, or the reason why there is none.
type decoded struct {
	report *api.NodeStatusReport
	err    error
}

// all decodes the annotation of every Pod, by Pod name, and drops Pods that no longer exist. Pods
// without annotation are left out.
func (d *Decoder) all(pods []corev1.Pod) map[string]decoded {
	if d == nil {
		d = &Decoder{}
	}
	rows := make([]remembered, len(pods))
	var news atomic.Bool
	part := func(from, to int) {
		for i := from; i < to; i++ {
			if text, ok := api.RowOf(pods[i].Annotations); ok {
				var known bool
				if rows[i], known = d.one(pods[i].Name, text); !known {
					news.Store(true)
				}
			}
		}
	}
	const chunk = 16
	if len(pods) <= chunk {
		part(0, len(pods)) // not worth a goroutine
	} else {
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for from := 0; from < len(pods); from += chunk {
			g.Go(func() error {
				part(from, min(from+chunk, len(pods)))
				return nil
			})
		}
		_ = g.Wait() // no function returns an error: decoded.err has it
	}
	out := make(map[string]decoded, len(pods))
	for i := range pods {
		if rows[i].decoded != (decoded{}) {
			out[pods[i].Name] = rows[i].decoded
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if news.Load() || len(out) != len(d.rows) {
		d.rows = make(map[string]remembered, len(out))
		for i := range pods {
			if _, ok := out[pods[i].Name]; ok {
				d.rows[pods[i].Name] = rows[i]
			}
		}
	}
	return out
}

// one returns the row of a Pod, and whether it was cached.
func (d *Decoder) one(pod string, text api.RowText) (r remembered, known bool) {
	d.mu.Lock()
	r, known = d.rows[pod]
	d.mu.Unlock()
	if known && r.text == text {
		return r, true
	}
	r = remembered{text: text}
	r.report, r.err = d.Decode(text)
	return r, false
}

// maxCells is the maximum number of different texts that are cached.
const maxCells = 64

// Decode decodes one row as RowText.Decode does. The rows with the same cells share them.
func (d *Decoder) Decode(value api.RowText) (*api.NodeStatusReport, error) {
	head, tail, ok := value.Parts()
	if !ok {
		return value.Decode()
	}
	tail = strings.TrimSpace(tail)
	rest := "{" + strings.TrimPrefix(tail, ",")
	// The fast path is safe only if the rest cannot list cells again, in any spelling.
	lower := strings.ToLower(rest)
	if !strings.HasPrefix(tail, ",") && tail != "}" || strings.HasPrefix(tail, ",}") ||
		strings.ContainsAny(rest, "\\\u017f\u212a") ||
		strings.Contains(lower, "observednodes") || strings.Contains(lower, "nodestatusreport") {
		return value.Decode()
	}
	cells, ok := d.shared(head)
	if !ok {
		return value.Decode() // for its error, or a bracket inside a text
	}
	if tail == "}" {
		return &api.NodeStatusReport{ObservedNodes: cells}, nil
	}
	r, err := api.DecodeNodeStatusReport(rest)
	if err != nil {
		return value.Decode()
	}
	r.ObservedNodes = cells
	return r, nil
}

// shared decodes an annotation's cells once for all Pods with the same text. head is the text up to
// the end of the cells.
func (d *Decoder) shared(head string) ([]api.ObservedNodeStatusReport, bool) {
	d.mu.Lock()
	cells, known := d.cells[head]
	d.mu.Unlock()
	if known {
		return cells, true
	}
	first, err := api.DecodeNodeStatusReport(head + "}")
	if err != nil {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.cells == nil || len(d.cells) >= maxCells:
		d.cells = map[string][]api.ObservedNodeStatusReport{head: first.ObservedNodes}
	default:
		d.cells[head] = first.ObservedNodes
	}
	return first.ObservedNodes, true
}

// Condense decodes and caches a Pod's row, and replaces the annotation by a short key by which New
// finds the row. So the texts of 1,000 rows need not be in memory at once. Use it only for Pods
// that New gets next with this Decoder.
func (d *Decoder) Condense(p *corev1.Pod) {
	text, ok := api.RowOf(p.Annotations)
	if !ok {
		return
	}
	r, _ := d.one(p.Name, text)
	// No writer can forge this key: every annotation is replaced by a key, or is absent.
	r.text = api.RowText{Rest: "condensed " + p.Name}
	r.text.SetIn(p.Annotations)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows == nil {
		d.rows = map[string]remembered{}
	}
	d.rows[p.Name] = r
}
