// SPDX-License-Identifier: Apache-2.0

package rules

// Begins is the state of a node from the moment at which its request begins. One that joins or
// replaces has it once it is accepted, and is None until then. TC:4082-4172; since 6.0.
func (k Kind) Begins() State {
	return map[Kind]State{Join: Bootstrapping, Replace: Replacing, Leave: Decommissioning, Remove: Removing}[k]
}

// Ends is the state of a node whose request is done. A replaced node is Left in the same step.
// TC:3674, TC:3690-3740; since 6.0.
func (k Kind) Ends() State {
	if k == Leave || k == Remove {
		return Left
	}
	return Normal
}

// RolledBack is the state of a node whose request began and failed. A replaced node stays Normal,
// and banned. TC:3264, TC:4931-4950; since 6.0.
func (k Kind) RolledBack() State {
	if k == Join || k == Replace {
		return Left
	}
	return Normal
}

// Cancelled is the state of a node whose queued request is cancelled, for dead nodes or because
// its turn was refused: a member stays one. TC:301-333, TC:4045; since 6.0.
func (k Kind) Cancelled() State { return k.RolledBack() }
