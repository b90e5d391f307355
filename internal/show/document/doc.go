// SPDX-License-Identifier: Apache-2.0

// Package document has the versioned documents (apiVersion kubectl-scylla/v1) that every command's
// -o json and -o yaml print, and of which text, dashboard and page are drawn. It decides nothing:
// health, blockers, findings and verdicts are the results of the judges. It reads no clock.
package document
