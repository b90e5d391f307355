// SPDX-License-Identifier: Apache-2.0

// Package greatest is what the tests of command mutants plant bugs in.
package greatest

// Of returns the greater number.
func Of(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Name is tested by nothing.
func Name() string {
	return "greatest"
}

// Least returns the smaller number.
func Least(a, b int) int {
	if a < b {
		return a
	}
	return b
}
