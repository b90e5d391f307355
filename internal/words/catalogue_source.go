// SPDX-License-Identifier: Apache-2.0

package words

// sourceWords are where rows come from. They belong to internal/cluster, whose own tests import
// this package, so they are declared here.
var (
	SourceReportsFound = define("SourceReportsFound",
		"{found} of {known} datacenter report{known?|s} found[ (none for {missing})]")
	SourceClusterReport = define("SourceClusterReport",
		"cluster report, {found} of {known} datacenter{known?|s}[ (none for {missing})]")
	SourceClusterReportNamed = define("SourceClusterReportNamed",
		"cluster report {report} found, named by annotation {annotation}")
	SourceClusterReportGone = define("SourceClusterReportGone",
		"cluster report {report} is named by annotation {annotation} and could not be read")
	SourceClusterReportOnly = define("SourceClusterReportOnly",
		"no datacenter report found; cluster report {report} found")
	SourceNoReport         = define("SourceNoReport", "no report found")
	SourceKindNotInstalled = define("SourceKindNotInstalled", "no report found: CRD not installed")
	SourceReportsForbidden = define("SourceReportsForbidden", "no permission to list reports")
	SourceReportsNotListed = define("SourceReportsNotListed", "reports could not be listed")

	SourceAnnotations       = define("SourceAnnotations", "Pod annotations of {pods} Pod{pods?|s}")
	SourceAnnotationsOfSome = define("SourceAnnotationsOfSome", "Pod annotations of {have} of {pods} Pod{pods?|s}")
	SourceAnnotationsWanted = define("SourceAnnotationsWanted", "Pod annotations requested: {found}")
	SourceAnnotationsUsed   = define("SourceAnnotationsUsed", "{reports}; used {found}")

	SourceAnswers        = define("SourceAnswers", "ScyllaDB answered on {answered} of {pods} Pod{pods?|s}")
	SourceAnswersInstead = define("SourceAnswersInstead", "no status report in reports or annotations; {found}")

	SourceNothing    = define("SourceNothing", "{reports}; no status report on any Pod")
	SourceNothingAsk = define("SourceNothingAsk",
		"{reports}; no status report on any Pod: --source=live queries ScyllaDB")
	SourceNothingMayAsk = define("SourceNothingMayAsk",
		"{reports}; no status report on any Pod, and no permission to query ScyllaDB")
)
