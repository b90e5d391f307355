// SPDX-License-Identifier: Apache-2.0

// Package show draws documents as text for people: tables, colour and width. Only this package
// imports tablewriter. It does not read the clock, the environment or the terminal: sizes, time and
// the colour profile are parameters.
package show
