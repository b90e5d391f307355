// SPDX-License-Identifier: Apache-2.0

package replace

import "github.com/kubectl-scylla/kubectl-scylla/internal/words"

var titles = map[Phase]words.Code{
	PhaseVerify:  words.PhaseVerify,
	PhaseDelete:  words.PhaseDeleteVolume,
	PhaseEvict:   words.PhaseEvictPod,
	PhaseNewPod:  words.PhaseNewPod,
	PhaseJoin:    words.PhaseJoin,
	PhaseReady:   words.PhaseReady,
	PhaseOldGone: words.PhaseOldNodeGone,
	PhaseDone:    words.PhaseDone,
	PhaseFailed:  words.PhaseFailed,
	PhaseCancel:  words.PhaseCancelled,
	PhaseNone:    words.PhaseNone,
}
