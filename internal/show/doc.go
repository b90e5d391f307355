// SPDX-License-Identifier: Apache-2.0

// Package show draws documents as text for people: tables, colour and width. It is the only importer
// of tablewriter. It must not read the clock, the environment or the terminal: sizes, time and the
// colour profile come in as values.
package show
