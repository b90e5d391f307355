// SPDX-License-Identifier: Apache-2.0

// Package pattern compiles regular expressions on first use: compiling all at the start would cost
// every command a millisecond. It does not depend on the matched texts.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that returns the expression, compiled at its first call. That call panics
// if expr is not a regular expression.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
