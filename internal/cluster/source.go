// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// SourceReason returns the reason for the choice of Source.
func (c *Cluster) SourceReason() words.Message {
	_, why := c.choose(c.want)
	return why
}

// choose returns the source of Rows, and the reason.
func (c *Cluster) choose(want Source) (Source, words.Message) {
	switch want {
	case SourceReport:
		return SourceReport, c.reportsFound()
	case SourceAnnotation:
		return SourceAnnotation, words.New(words.SourceAnnotationsWanted, "found", c.annotationsFound())
	case SourceLive:
		return SourceLive, c.answersFound()
	}
	if c.Live != nil && (c.answered() > 0 || !c.mayNotAsk()) {
		return SourceLive, words.New(words.SourceAnswersInstead, "found", c.answersFound())
	}
	if c.OverrideRef != "" || len(c.Reports) > 0 || c.StatusReport != nil {
		return SourceReport, c.reportsFound()
	}
	reports := c.noReport()
	switch {
	case len(c.annotations) > 0:
		return SourceAnnotation, words.New(words.SourceAnnotationsUsed, "reports", reports, "found",
			c.annotationsFound())
	case c.mayNotAsk():
		return SourceAnnotation, words.New(words.SourceNothingMayAsk, "reports", reports)
	case c.Offline:
		return SourceAnnotation, words.New(words.SourceNothing, "reports", reports)
	}
	return SourceAnnotation, words.New(words.SourceNothingAsk, "reports", reports)
}

// noReport is the fact that no report exists, with the reason if known.
func (c *Cluster) noReport() words.Message {
	why := words.SourceNoReport
	for _, p := range c.Problems {
		if p.Resource == ResourceReports {
			switch p.Kind {
			case ProblemNotInstalled:
				why = words.SourceKindNotInstalled
			case ProblemForbidden:
				why = words.SourceReportsForbidden
			default:
				why = words.SourceReportsNotListed
			}
		}
	}
	return words.New(why)
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

func (c *Cluster) answersFound() words.Message {
	return words.New(words.SourceAnswers, "answered", c.answered(), "pods", len(c.Pods))
}

func (c *Cluster) annotationsFound() words.Message {
	if have, all := len(c.annotations), len(c.Pods); have != all {
		return words.New(words.SourceAnnotationsOfSome, "have", have, "pods", all)
	}
	return words.New(words.SourceAnnotations, "pods", len(c.Pods))
}

func (c *Cluster) reportsFound() words.Message {
	switch none := c.noReport(); {
	case c.OverrideRef != "" && c.StatusReport == nil:
		return words.New(words.SourceClusterReportGone, "report", c.OverrideRef, "annotation",
			api.AnnotationStatusReportOverrideRef)
	case c.OverrideRef != "":
		return words.New(words.SourceClusterReportNamed, "report", c.OverrideRef, "annotation",
			api.AnnotationStatusReportOverrideRef)
	case len(c.Reports) == 0 && c.StatusReport != nil:
		return words.New(words.SourceClusterReportOnly, "report", c.StatusReport.Name)
	case len(c.Reports) == 0 && none.Code != words.SourceNoReport:
		return none
	}
	// The other kind of report exists for other readers: only the kind in use is counted.
	have, kind := map[string]bool{}, words.SourceReportsFound
	for i := range c.Reports {
		have[c.Reports[i].DatacenterName] = true
	}
	if c.ownReport() {
		clear(have)
		kind = words.SourceClusterReport
		for i := range c.StatusReport.Datacenters {
			have[c.StatusReport.Datacenters[i].Name] = true
		}
	}
	known := slices.Clip(c.ix.datacenters)
	missing := slices.DeleteFunc(slices.Clone(known), func(dc string) bool { return have[dc] })
	for dc := range have {
		if !slices.Contains(known, dc) {
			known = append(known, dc)
		}
	}
	return words.New(kind, "found", len(have), "known", len(known), "missing", missing)
}

// datacenters returns the datacenters by the labels of Services, Pods and StatefulSets, sorted.
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
