// SPDX-License-Identifier: Apache-2.0

package words

// sourceWords say where rows come from. They belong to internal/cluster, whose own tests import this package: its codes are written out here.
var (
	SourceReportsFound       = define("SourceReportsFound", "{found} of {known} datacenter report{known?|s} found[ (none for {missing})]")
	SourceClusterReport      = define("SourceClusterReport", "cluster report, {found} of {known} datacenter{known?|s}[ (none for {missing})]")
	SourceClusterReportNamed = define("SourceClusterReportNamed", "cluster report {report} found, named by annotation {annotation}")
	SourceClusterReportGone  = define("SourceClusterReportGone", "cluster report {report} is named by annotation {annotation} and could not be read")
	SourceClusterReportOnly  = define("SourceClusterReportOnly", "no datacenter report found; cluster report {report} found")
	SourceNoReport           = define("SourceNoReport", "no report found")
	SourceKindNotInstalled   = define("SourceKindNotInstalled", "no report found: CRD not installed")
	SourceReportsForbidden   = define("SourceReportsForbidden", "reports may not be listed (forbidden)")
	SourceReportsNotListed   = define("SourceReportsNotListed", "reports could not be listed")

	SourceAnnotations       = define("SourceAnnotations", "Pod annotations of {pods} Pod{pods?|s}")
	SourceAnnotationsOfSome = define("SourceAnnotationsOfSome", "Pod annotations of {have} of {pods} Pod{pods?|s}")
	SourceAnnotationsWanted = define("SourceAnnotationsWanted", "Pod annotations asked for: {found}")
	SourceAnnotationsUsed   = define("SourceAnnotationsUsed", "{reports}; used {found}")

	SourceAnswers        = define("SourceAnswers", "ScyllaDB answered on {answered} of {pods} Pod{pods?|s}")
	SourceAnswersInstead = define("SourceAnswersInstead", "no report and no annotation has a row; {found}")

	SourceNothing       = define("SourceNothing", "{reports}; no Pod carries a row either")
	SourceNothingAsk    = define("SourceNothingAsk", "{reports}; no Pod carries a row either: --source=live asks ScyllaDB itself")
	SourceNothingMayAsk = define("SourceNothingMayAsk", "{reports}; no Pod carries a row either, and ScyllaDB itself may not be asked")
)
