// SPDX-License-Identifier: Apache-2.0

// Package crds embeds the CustomResourceDefinitions generated from package api, for the programs that install them. The agent does not install
// anything and must not import it.
package crds

import "embed"

// FS holds one YAML file per kind.
//
//go:embed *.yaml
var FS embed.FS
