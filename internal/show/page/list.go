// SPDX-License-Identifier: Apache-2.0

package page

import "github.com/kubectl-scylla/kubectl-scylla/internal/show/document"

// KindList is the kind of List.
const KindList = "ClusterReportList"

// List is the document of `kubectl scylla report`.
type List = document.List[*Report]
