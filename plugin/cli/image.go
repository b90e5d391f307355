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

// AddFloatingTagFlag binds FlagFloatingTag.
func AddFloatingTagFlag(cmd *cobra.Command, allowed *bool) {
	cmd.Flags().BoolVar(allowed, strings.TrimPrefix(FlagFloatingTag, "--"), false, "Accept an --image without a digest whose tag is latest or missing.")
}

// CheckImage refuses an image of scylla-agent that can be a different one at each pull.
func CheckImage(image string, allowed bool) error {
	if allowed || !release.Floating(image) {
		return nil
	}
	return exit.WithHint(exit.Usagef("image %q names no version: Pods that start at different times can get different versions, and an older one can replace a newer one", image),
		"give its digest (IMAGE@sha256:DIGEST) or a version (IMAGE:VERSION), or accept it with "+FlagFloatingTag)
}
