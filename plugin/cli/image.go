// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// FlagFloatingTag is the flag that accepts an image whose tag is latest or missing.
const FlagFloatingTag = "--allow-floating-tag"

// AllowVersionUsage is the usage of --allow-version.
const AllowVersionUsage = "Allow a ScyllaDB older than 2025.2.0, whose disk cannot be queried: the barrier then " +
	"recognises a restart only while the API server and the other nodes respond."

// AddFloatingTagFlag binds FlagFloatingTag.
func AddFloatingTagFlag(cmd *cobra.Command, allowed *bool) {
	cmd.Flags().BoolVar(allowed, strings.TrimPrefix(FlagFloatingTag, "--"), false,
		"Allow an --image without a digest whose tag is latest or missing.")
}

// CheckImage refuses what is not an image reference, which the API server would accept and no
// kubelet could pull, and an image of scylla-agent that may change between pulls.
func CheckImage(image string, allowed bool) error {
	if _, _, err := release.Reference(image); image != "" && err != nil {
		return exit.WithHint(exit.Usagef("invalid --image: %w", err),
			"an image reference is [REGISTRY/]NAME:TAG or [REGISTRY/]NAME@sha256:DIGEST, "+
				"NAME in lower case and without spaces")
	}
	if allowed || !release.Floating(image) {
		return nil
	}
	return exit.WithHint(
		exit.Usagef(
			"image %q has no fixed version: a Pod that starts later can run a different version, even an older one",
			image),
		"specify its digest (IMAGE@sha256:DIGEST) or a version (IMAGE:VERSION), or add "+FlagFloatingTag)
}
