// SPDX-License-Identifier: Apache-2.0

package words

import (
	"strings"
)

// page is the documentation page with a heading for each code.
const page = "https://github.com/kubectl-scylla/kubectl-scylla/blob/main/docs/reference/codes.md"

// Link returns the documentation address of a code of package preflight or replacement.
func Link(c Code) string { return page + "#" + strings.ToLower(string(c)) }
