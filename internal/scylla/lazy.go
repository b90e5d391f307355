// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"regexp"
	"sync"
)

// lazy compiles its pattern when it is first asked: compiling all of them at the start would cost every command a millisecond.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
