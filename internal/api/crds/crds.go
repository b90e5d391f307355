// SPDX-License-Identifier: Apache-2.0

// Package crds embeds the CustomResourceDefinitions generated from package api, for programs that
// install them. The agent must not import it.
package crds

import "embed"

// FS holds one YAML file per CRD.
//
//go:embed *.yaml
var FS embed.FS
