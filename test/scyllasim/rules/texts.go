// SPDX-License-Identifier: Apache-2.0

package rules

import "fmt"

const (
	// RequestCancelled is told to a queued newcomer whose request is cancelled. TC:3170; since 6.0.
	RequestCancelled = "request canceled because some required nodes are dead"
	// FirstZeroToken ends a zero-token node that finds no cluster. SS:1372; since 6.2.
	FirstZeroToken = "Cannot start the first node in the cluster as zero-token"
	// NotAlive begins the error of AliveWait. G:2255; since 6.0.
	NotAlive = "Failed to mark node as alive in 30000 ms"
)

// NoSeedReached ends a replacing node that reaches none of these, "{a,b}". G:1996; since 5.2.
func NoSeedReached(nodes string) string {
	return fmt.Sprintf("Unable to gossip with any nodes=%s (ShadowRound).", nodes)
}

// StreamFailed is the error of a request that is rolled back. TC:3605; since 6.0.
func StreamFailed(why string) string { return "Rolled back: Failed stream ranges: " + why }

// FeaturesLacking is why a newcomer is turned away that lacks features. TC:4250; since 6.0.
func FeaturesLacking(features string) string {
	return "Feature check failed. The node does not support some features that are enabled by the cluster: " + features
}
