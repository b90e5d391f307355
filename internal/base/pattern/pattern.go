// SPDX-License-Identifier: Apache-2.0

// Package pattern holds regular expressions back until they are needed: compiling all of them at the start would cost every command a
// millisecond. It knows nothing of what is matched.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy gives the compiled expression, compiled at the first call. It panics then when expr is no regular expression.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
