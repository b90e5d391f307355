// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// Harm is one thing that goes wrong.
type Harm struct {
	Name string
	Of   func(*Total) int
}

// Harms are all, the worst first. The last ones cost nobody anything by themselves: a rule was broken that is there to prevent the others.
var Harms = []Harm{
	{SecondCluster, func(t *Total) int { return t.SecondClusters }},
	{"two processes of one host ID", func(t *Total) int { return t.Twice }},
	{"wrong deletions", func(t *Total) int { return t.WrongDeletions }},
	{KnownLoss, func(t *Total) int { return max(t.Known, t.Unsafe) }},
	{KnownStart, func(t *Total) int { return t.KnownStarts }},
	{"endless waits", func(t *Total) int { return t.EndlessWaits }},
	{"views out of order", func(t *Total) int { return t.Backwards }},
	{TwoAtOnce, func(t *Total) int { return t.Together }},
	{NoPermit, func(t *Total) int { return t.Unpermitted }},
	{WrongStart, func(t *Total) int { return t.WrongStarts }},
}

// Names of harms.
const (
	SecondCluster = "second clusters"
	KnownLoss     = "joins lost that could be known"
	KnownStart    = "starts while a known node is DOWN"
	TwoAtOnce     = "two joins at once"
	NoPermit      = "starts without a permit"
	WrongStart    = "starts against what is read"
)

// Case is a run that a protection, or one of a pair, alone withstands.
type Case struct {
	Off   []Off
	Shows string // the worst that happens without it
	Of    Options
}

// Cases are the cheapest that are known.
func Cases() []Case {
	seed := func(r Rule, n uint64) Options { return Options{Seed: n, Rule: r, Patience: 90 * time.Minute} }
	when := func(r Rule, at Boundary, nth int, do What, lasts time.Duration) Options {
		return Options{Seed: 1, Rule: r, Schedule: []Placed{{at, nth, do, 0, lasts}}}
	}
	quiet := func(r Rule) Options { return Options{Seed: 1, Rule: r, Schedule: []Placed{}} }
	old := when(Permits, after(readConfirm), 1, AnswersAreOld, time.Minute)
	old.Schedule = append(old.Schedule, Placed{after(readConfirm), 1, PermitGoes, 0, 0}, Placed{after(readConfirm), 1, TimePasses, 0, 6 * time.Second})
	seeded := func(o Options, n uint64) Options {
		o.Seed = n
		return o
	}
	const short, long = 20 * time.Second, time.Minute
	out := []Case{
		{[]Off{OffFiles}, KnownLoss, seed(Permits, 25)},
		{[]Off{OffSeeds}, SecondCluster, seed(Reports, 10)},
		{[]Off{OffFounder}, SecondCluster, seed(Reports, 1)},
		{[]Off{OffReport, OffPods}, KnownLoss, seed(Reports, 16)},
		{[]Off{OffRest}, WrongStart, when(Permits, before(readCluster), 3, PodIsNotReady, short)},
		{[]Off{OffRest}, WrongStart, when(Reports, before(readCluster), 1, PodIsNotReady, short)},
		{[]Off{OffRest, OffHold}, WrongStart, when(Permits, before(readCluster), 1, PodIsNotReady, short)},
		{[]Off{OffWindow}, WrongStart, quiet(Reports)},
		{[]Off{OffLease}, WrongStart, seed(Reports, 1)},
		{[]Off{OffGrantWindow}, WrongStart, seed(Permits, 1)},
		{[]Off{OffPermit}, TwoAtOnce, quiet(Permits)},
		{[]Off{OffFirst}, WrongStart, when(Permits, before(readCluster), 3, LeaderFreezes, long)},
		{[]Off{OffSecond}, WrongStart, when(Permits, after(readConfirm), 1, PermitGoes, 0)},
		{[]Off{OffFirst, OffSecond}, TwoAtOnce, when(Permits, before(readPods), 1, PermitGoes, 0)},
		{[]Off{OffAge}, WrongStart, when(Permits, before(readCluster), 3, LeaderFreezes, long)},
		{[]Off{OffClaim}, WrongStart, when(Permits, before(readReport), 1, ClaimIsNew, 0)},
		{[]Off{OffRelays}, NoPermit, seeded(old, 80)},
		{[]Off{OffRelays, OffSecond}, NoPermit, seeded(old, 3)},
		{[]Off{OffServed, OffRelays}, NoPermit, seeded(old, 7)},
		{[]Off{OffKept}, WrongStart, when(Reports, before(readCluster), 1, LeaseKeepsNone, short)},
		{[]Off{OffOne}, TwoAtOnce, seed(Permits, 1)},
	}
	for _, r := range []Rule{Permits, Reports} {
		out = append(out,
			Case{[]Off{OffPods}, WrongStart, when(r, before(readPods), 1, RowSaysDown, 0)},
			Case{[]Off{OffReporters}, WrongStart, when(r, before(readConfirm), 1, ReporterHangs, short)},
			Case{[]Off{OffDigest}, WrongStart, when(r, before(readPods), 1, RowIsOutdated, 0)},
		)
	}
	return append(out, Case{[]Off{OffLauncher}, KnownLoss, seed(Permits, 22)})
}

// Worst is the first of Harms that happened; empty for none.
func (t *Total) Worst() (name string, n int) {
	for _, h := range Harms {
		if n := h.Of(t); n > 0 {
			return h.Name, n
		}
	}
	return "", 0
}
