// SPDX-License-Identifier: Apache-2.0

// Package support owns the archive of a cluster: only the data that an expert without access to the
// cluster needs. It collects, redacts and packs them into a zip file with a manifest, and writes
// that file atomically. It opens the file as snapshots with the same verdicts and output as live
// ones. Open also reads plain saved objects, for every command's --from.
//
// Every value in an archive has passed the list of fields of its kind, and Redact, which is pure;
// Secrets and ConfigMaps never do. An opened archive is not trusted: reading bounds sizes, checks
// names, and compares contents with the manifest. The package makes no decision about the cluster.
// Pictures and documents are in internal/show.
package support
