// SPDX-License-Identifier: Apache-2.0

package page

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// KindList is the kind of several reports.
const KindList = "ClusterReportList"

// List is the document of the reports of several clusters.
type List struct {
	metav1.TypeMeta `json:",inline"`
	Items           []*Report `json:"items"`
}

// Repeat adds the given flags to every command of the reports.
func (l *List) Repeat(p words.Printer) {
	for _, r := range l.Items {
		r.Repeat(p)
	}
}

// NewList wraps reports; Items is never null.
func NewList(reports []*Report) *List {
	if reports == nil {
		reports = []*Report{}
	}
	return &List{TypeMeta: metav1.TypeMeta{APIVersion: document.APIVersion, Kind: KindList}, Items: reports}
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (l *List) DeepCopyObject() runtime.Object { return document.DeepCopy(l) }

// InContext is Header.InContext of every report.
func (l *List) InContext(name string) {
	for _, r := range l.Items {
		r.InContext(name)
	}
}

// Pods returns the names of all Pods, for -o name.
func (l *List) Pods() (names []string) {
	for _, r := range l.Items {
		names = append(names, r.Pods()...)
	}
	return names
}
