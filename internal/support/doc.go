// SPDX-License-Identifier: Apache-2.0

// Package support owns the archive of a cluster: the data that an expert without access to the cluster needs, and nothing more. It collects, redacts, packs into a zip file with
// a manifest, writes that file whole or not at all, and opens it again as snapshots that judge and draw as they did live. Open also reads plain saved objects, so that every
// command's --from has one way in.
//
// Nothing gets into an archive but by a list of the fields of each kind, and through Redact, which is pure; a Secret or ConfigMap never does. An opened archive is
// not trusted: sizes are bounded while reading, names are checked, and contents must match the manifest. The package decides nothing about the cluster, and draws nothing: pictures
// and documents are in bundle/page.
package support
