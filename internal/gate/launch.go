// SPDX-License-Identifier: Apache-2.0

package gate

import "github.com/kubectl-scylla/kubectl-scylla/internal/words"

// LaunchStep is what a launcher does next.
type LaunchStep int

// Values of LaunchStep.
const (
	LaunchWaits  LaunchStep = iota // read again after a pause
	LaunchJudges                   // repeat the judgement of the Pod's barrier, and then read again
	LaunchStarts                   // start ScyllaDB by what was read
)

// Launch decides when the launcher starts ScyllaDB on a volume that is possibly not bootstrapped.
// The judgement takes seconds or hours, so what was read before it must be read again after it,
// with seeds of the same code. The zero value has read nothing.
type Launch struct {
	first  bool       // the last reading also had this member as the first node
	before words.Code // of the seeds before the judgement; empty before it
}

// Read takes the code of the seeds that were read; empty if the reading failed or found no seeds.
// A member that appears to be first is read a second time: creation times have a resolution of one
// second, in which the Services of other members may also have been created.
func (l *Launch) Read(seeds words.Code) LaunchStep {
	before := l.before
	l.before = ""
	switch {
	case seeds != "" && before == seeds:
		return LaunchStarts
	case before != "":
		l.first = false
	}
	if seeds == "" || seeds == words.SeedsFirstNode && !l.first {
		l.first = seeds != ""
		return LaunchWaits
	}
	l.before = seeds
	return LaunchJudges
}
