// SPDX-License-Identifier: Apache-2.0

// Package page owns the report of a cluster: its document (the status, the objects it is assembled from, the changes with their times) and everything that is drawn from that
// document and from nothing else: text, Markdown, the matrix as an SVG picture, and one self-contained HTML page.
//
// It decides nothing and reads nothing, no clock and no cluster. It imports html/template, so nothing that runs in a Pod may import it.
package page
