// SPDX-License-Identifier: Apache-2.0

// Package page owns the report of a cluster: its document (the status, its source objects, the
// changes with their times) and all its drawings: text, Markdown, the matrix as an SVG picture, and
// one self-contained HTML page. The drawings use only the document.
//
// It makes no decision and reads no clock and no cluster. It imports html/template: no program that
// runs in a Pod may import it.
package page
