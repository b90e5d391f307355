// SPDX-License-Identifier: Apache-2.0

// Package document has the versioned documents (apiVersion kubectl-scylla/v1) of -o json and -o
// yaml. Text, dashboard and page draw these documents. It makes no decision: health, blockers,
// findings and verdicts come from the judges. It reads no clock.
package document
