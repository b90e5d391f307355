// SPDX-License-Identifier: Apache-2.0

// Package show owns all output for people and scripts: the versioned documents (apiVersion kubectl-scylla/v1) that every command's -o json and -o yaml print, the text that
// is made from these documents and from nothing else, tables, colour and width.
//
// It is the only importer of tablewriter. It decides nothing: health, blockers and verdicts come from internal/matrix and internal/bootstrap through internal/cluster. It must
// not read the clock, the environment or the terminal: sizes, time and the colour profile come in as values.
package show
