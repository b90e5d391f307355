// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
)

// Reasons for a source, and its state.
const (
	SourceReportsFound       code.Code = "SourceReportsFound"       // found, known, missing
	SourceClusterReport      code.Code = "SourceClusterReport"      // found, known, missing
	SourceClusterReportNamed code.Code = "SourceClusterReportNamed" // report, annotation
	SourceClusterReportGone  code.Code = "SourceClusterReportGone"  // report, annotation
	SourceClusterReportOnly  code.Code = "SourceClusterReportOnly"  // report
	SourceNoReport           code.Code = "SourceNoReport"
	SourceKindNotInstalled   code.Code = "SourceKindNotInstalled"
	SourceReportsForbidden   code.Code = "SourceReportsForbidden"
	SourceReportsNotListed   code.Code = "SourceReportsNotListed"

	SourceAnnotations       code.Code = "SourceAnnotations"       // pods
	SourceAnnotationsOfSome code.Code = "SourceAnnotationsOfSome" // have, pods
	SourceAnnotationsWanted code.Code = "SourceAnnotationsWanted" // found
	SourceAnnotationsUsed   code.Code = "SourceAnnotationsUsed"   // reports, found

	SourceAnswers        code.Code = "SourceAnswers"        // answered, pods
	SourceAnswersInstead code.Code = "SourceAnswersInstead" // found

	SourceNothing       code.Code = "SourceNothing"       // reports
	SourceNothingAsk    code.Code = "SourceNothingAsk"    // reports
	SourceNothingMayAsk code.Code = "SourceNothingMayAsk" // reports
)

// choose returns the source of Rows, and why.
func (c *Cluster) choose(want Source) (Source, code.Message) {
	switch want {
	case SourceReport:
		return SourceReport, c.reportsFound()
	case SourceAnnotation:
		return SourceAnnotation, code.New(SourceAnnotationsWanted, "found", c.annotationsFound())
	case SourceLive:
		return SourceLive, c.answersFound()
	}
	if c.Live != nil && (c.answered() > 0 || !c.mayNotAsk()) {
		return SourceLive, code.New(SourceAnswersInstead, "found", c.answersFound())
	}
	if c.OverrideRef != "" || len(c.Reports) > 0 || c.StatusReport != nil {
		return SourceReport, c.reportsFound()
	}
	reports := c.noReport()
	switch {
	case len(c.annotations) > 0:
		return SourceAnnotation, code.New(SourceAnnotationsUsed, "reports", reports, "found", c.annotationsFound())
	case c.mayNotAsk():
		return SourceAnnotation, code.New(SourceNothingMayAsk, "reports", reports)
	case c.Offline:
		return SourceAnnotation, code.New(SourceNothing, "reports", reports)
	}
	return SourceAnnotation, code.New(SourceNothingAsk, "reports", reports)
}

// noReport is the fact that there is no report, with the reason where it is known.
func (c *Cluster) noReport() code.Message {
	why := SourceNoReport
	for _, p := range c.Problems {
		if p.Resource == ResourceReports {
			switch p.Kind {
			case ProblemNotInstalled:
				why = SourceKindNotInstalled
			case ProblemForbidden:
				why = SourceReportsForbidden
			default:
				why = SourceReportsNotListed
			}
		}
	}
	return code.New(why)
}

func (c *Cluster) answered() int {
	n := 0
	for _, r := range c.Live {
		if r.Error == nil {
			n++
		}
	}
	return n
}

func (c *Cluster) answersFound() code.Message {
	return code.New(SourceAnswers, "answered", c.answered(), "pods", len(c.Pods))
}

func (c *Cluster) annotationsFound() code.Message {
	if have, all := len(c.annotations), len(c.Pods); have != all {
		return code.New(SourceAnnotationsOfSome, "have", have, "pods", all)
	}
	return code.New(SourceAnnotations, "pods", len(c.Pods))
}

func (c *Cluster) reportsFound() code.Message {
	switch none := c.noReport(); {
	case c.OverrideRef != "" && c.StatusReport == nil:
		return code.New(SourceClusterReportGone, "report", c.OverrideRef, "annotation", api.AnnotationStatusReportOverrideRef)
	case c.OverrideRef != "":
		return code.New(SourceClusterReportNamed, "report", c.OverrideRef, "annotation", api.AnnotationStatusReportOverrideRef)
	case len(c.Reports) == 0 && c.StatusReport != nil:
		return code.New(SourceClusterReportOnly, "report", c.StatusReport.Name)
	case len(c.Reports) == 0 && none.Code != SourceNoReport:
		return none
	}
	// The other kind is there for other readers: what is found is what is used.
	have, kind := map[string]bool{}, SourceReportsFound
	for i := range c.Reports {
		have[c.Reports[i].DatacenterName] = true
	}
	if c.ownReport() {
		clear(have)
		kind = SourceClusterReport
		for i := range c.StatusReport.Datacenters {
			have[c.StatusReport.Datacenters[i].Name] = true
		}
	}
	known := c.datacenters()
	missing := slices.DeleteFunc(slices.Clone(known), func(dc string) bool { return have[dc] })
	for dc := range have {
		if !slices.Contains(known, dc) {
			known = append(known, dc)
		}
	}
	return code.New(kind, "found", len(have), "known", len(known), "missing", missing)
}

// datacenters by the labels of Services, Pods and StatefulSets, sorted.
func (c *Cluster) datacenters() []string {
	var out []string
	add := func(labels map[string]string) {
		if dc := labels[api.LabelDatacenter]; dc != "" && !slices.Contains(out, dc) {
			out = append(out, dc)
		}
	}
	for i := range c.Services {
		add(c.Services[i].Labels)
	}
	for i := range c.Pods {
		add(c.Pods[i].Labels)
	}
	for i := range c.StatefulSets {
		add(c.StatefulSets[i].Labels)
	}
	slices.Sort(out)
	return out
}
