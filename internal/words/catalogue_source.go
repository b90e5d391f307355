// SPDX-License-Identifier: Apache-2.0

package words

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// sourceWords say where rows come from. They belong to internal/cluster, whose own tests import this package: its codes are written out here.
var sourceWords = map[code.Code]string{
	"SourceReportsFound":       "{found} of {known} datacenter report{known?|s} found[ (none for {missing})]",
	"SourceClusterReport":      "cluster report, {found} of {known} datacenter{known?|s}[ (none for {missing})]",
	"SourceClusterReportNamed": "cluster report {report} found, named by annotation {annotation}",
	"SourceClusterReportGone":  "cluster report {report} is named by annotation {annotation} and could not be read",
	"SourceClusterReportOnly":  "no datacenter report found; cluster report {report} found",
	"SourceNoReport":           "no report found",
	"SourceKindNotInstalled":   "no report found: CRD not installed",
	"SourceReportsForbidden":   "reports may not be listed (forbidden)",
	"SourceReportsNotListed":   "reports could not be listed",

	"SourceAnnotations":       "Pod annotations of {pods} Pod{pods?|s}",
	"SourceAnnotationsOfSome": "Pod annotations of {have} of {pods} Pod{pods?|s}",
	"SourceAnnotationsWanted": "Pod annotations asked for: {found}",
	"SourceAnnotationsUsed":   "{reports}; used {found}",

	"SourceAnswers":        "ScyllaDB answered on {answered} of {pods} Pod{pods?|s}",
	"SourceAnswersInstead": "no report and no annotation has a row; {found}",

	"SourceNothing":       "{reports}; no Pod carries a row either",
	"SourceNothingAsk":    "{reports}; no Pod carries a row either: --source=live asks ScyllaDB itself",
	"SourceNothingMayAsk": "{reports}; no Pod carries a row either, and ScyllaDB itself may not be asked",
}
