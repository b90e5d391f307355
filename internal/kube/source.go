// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// cache keeps the decoded annotations of a snapshot: with 1,000 members they are 1,000 rows of 1,000 observations each.
type cache struct {
	once sync.Once
	rows map[string]decoded
}

// decoded is one Pod's annotation. Both fields are nil when the Pod has none.
type decoded struct {
	report *api.NodeStatusReport
	err    error
}

// annotations decodes the annotation of every Pod, by Pod name. Pods without one are left out.
func (s *Snapshot) annotations() map[string]decoded {
	if s.cache == nil {
		return s.decodeAnnotations()
	}
	s.cache.once.Do(func() { s.cache.rows = s.decodeAnnotations() })
	return s.cache.rows
}

// decoder decodes annotations of one cluster. In its steady state all nodes say the same of each other, letter by letter: those cells are
// decoded once and shared, which makes 1,000 annotations of 1,000 cells cost the reading of their bytes.
type decoder struct {
	mu    sync.Mutex
	cells map[string][]api.ObservedNodeStatusReport // by the annotation's text up to the end of the cells
}

const cellsStart = `{"observedNodes":[`

// maxCells bounds how many different texts are kept.
const maxCells = 64

func (d *decoder) decode(value string) (*api.NodeStatusReport, error) {
	end := strings.IndexByte(value, ']')
	if end < 0 || !strings.HasPrefix(value, cellsStart) {
		return api.DecodeNodeStatusReport(value)
	}
	head, tail := value[:end+1], strings.TrimSpace(value[end+1:])
	rest := "{" + strings.TrimPrefix(tail, ",")
	// The short way only for a rest that cannot speak of the cells again, in whatever spelling.
	lower := strings.ToLower(rest)
	if !strings.HasPrefix(tail, ",") && tail != "}" || strings.HasPrefix(tail, ",}") || strings.ContainsAny(rest, "\\\u017f\u212a") ||
		strings.Contains(lower, "observednodes") || strings.Contains(lower, "nodestatusreport") {
		return api.DecodeNodeStatusReport(value)
	}
	d.mu.Lock()
	cells, known := d.cells[head]
	d.mu.Unlock()
	if !known {
		first, err := api.DecodeNodeStatusReport(head + "}")
		if err != nil {
			return api.DecodeNodeStatusReport(value) // for its error, or a bracket inside a text
		}
		cells = first.ObservedNodes
		d.mu.Lock()
		if len(d.cells) < maxCells {
			d.cells[head] = cells
		}
		d.mu.Unlock()
	}
	if tail == "}" {
		return &api.NodeStatusReport{ObservedNodes: cells}, nil
	}
	r, err := api.DecodeNodeStatusReport(rest)
	if err != nil {
		return api.DecodeNodeStatusReport(value)
	}
	r.ObservedNodes = cells
	return r, nil
}

func (s *Snapshot) decodeAnnotations() map[string]decoded {
	d := &decoder{cells: map[string][]api.ObservedNodeStatusReport{}}
	all := make([]decoded, len(s.Pods))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	const chunk = 16
	for from := 0; from < len(s.Pods); from += chunk {
		g.Go(func() error {
			for i := from; i < min(from+chunk, len(s.Pods)); i++ {
				if v, ok := s.Pods[i].Annotations[api.AnnotationNodeStatusReport]; ok {
					all[i].report, all[i].err = d.decode(v)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // the functions give no error: a row that cannot be decoded carries its own
	out := make(map[string]decoded, len(s.Pods))
	for i := range s.Pods {
		if all[i] != (decoded{}) {
			out[s.Pods[i].Name] = all[i]
		}
	}
	return out
}

// used is the source that rows come from.
func (s *Snapshot) used() Source {
	if s.Source != "" && s.Source != SourceAuto {
		return s.Source
	}
	src, _ := s.chooseSource(SourceAuto)
	return src
}

// chooseSource settles which source Rows uses, and says in words why.
func (s *Snapshot) chooseSource(want Source) (Source, string) {
	switch want {
	case SourceReport:
		return SourceReport, s.reportsFound()
	case SourceAnnotation:
		return SourceAnnotation, "Pod annotations asked for: " + s.annotationsFound()
	case SourceLive:
		return SourceLive, "ScyllaDB itself was asked for"
	}
	if s.OverrideRef != "" || len(s.Reports) > 0 || s.StatusReport != nil {
		return SourceReport, s.reportsFound()
	}
	why := s.noReport()
	if len(s.annotations()) == 0 {
		switch {
		case s.mayNotAsk():
			return SourceAnnotation, why + "; no Pod carries a row either, and ScyllaDB itself may not be asked"
		case s.Offline:
			return SourceAnnotation, why + "; no Pod carries a row either"
		}
		return SourceAnnotation, why + "; no Pod carries a row either: --source=live asks ScyllaDB itself"
	}
	return SourceAnnotation, why + "; used " + s.annotationsFound()
}

const noReportFound = "no report found"

// noReport says that there is no report, and why where that is known.
func (s *Snapshot) noReport() string {
	why := noReportFound
	for _, p := range s.Problems {
		if p.Resource == resourceReports {
			switch p.Kind {
			case ProblemNotInstalled:
				why = noReportFound + ": CRD not installed"
			case ProblemForbidden:
				why = "reports may not be listed (forbidden)"
			default:
				why = "reports could not be listed"
			}
		}
	}
	return why
}

func (s *Snapshot) annotationsFound() string {
	have, all := len(s.annotations()), len(s.Pods)
	if have == all {
		return fmt.Sprintf("Pod annotations of %s", plural(have, "Pod"))
	}
	return fmt.Sprintf("Pod annotations of %d of %s", have, plural(all, "Pod"))
}

func (s *Snapshot) reportsFound() string {
	switch {
	case s.OverrideRef != "" && s.StatusReport == nil:
		return fmt.Sprintf("cluster report %s is named by annotation %s and could not be read", s.OverrideRef, api.AnnotationStatusReportOverrideRef)
	case s.OverrideRef != "":
		return fmt.Sprintf("cluster report %s found, named by annotation %s", s.OverrideRef, api.AnnotationStatusReportOverrideRef)
	case len(s.Reports) == 0 && s.StatusReport != nil:
		return fmt.Sprintf("no datacenter report found; cluster report %s found", s.StatusReport.Name)
	case len(s.Reports) == 0 && s.noReport() != noReportFound:
		return s.noReport()
	}
	have := map[string]bool{}
	for i := range s.Reports {
		have[s.Reports[i].DatacenterName] = true
	}
	known := s.datacenters()
	missing := slices.DeleteFunc(slices.Clone(known), func(dc string) bool { return have[dc] })
	for dc := range have {
		if !slices.Contains(known, dc) {
			known = append(known, dc)
		}
	}
	text := fmt.Sprintf("%d of %s found", len(have), plural(len(known), "datacenter report"))
	if len(missing) > 0 {
		text += " (none for " + strings.Join(missing, ", ") + ")"
	}
	return text
}

// datacenters by the labels of Services, Pods and StatefulSets, sorted.
func (s *Snapshot) datacenters() []string {
	var out []string
	add := func(labels map[string]string) {
		if dc := labels[api.LabelDatacenter]; dc != "" && !slices.Contains(out, dc) {
			out = append(out, dc)
		}
	}
	for i := range s.Services {
		add(s.Services[i].Labels)
	}
	for i := range s.Pods {
		add(s.Pods[i].Labels)
	}
	for i := range s.StatefulSets {
		add(s.StatefulSets[i].Labels)
	}
	slices.Sort(out)
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
