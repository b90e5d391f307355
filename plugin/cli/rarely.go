// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// RarelyUsed marks a flag that help names and does not explain: its page does.
const RarelyUsed = "rarely-used"

// Rarely marks flags of cmd as rarely used.
func Rarely(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, RarelyUsed, nil); err != nil {
			panic(err) // cmd has no such flag
		}
	}
}
