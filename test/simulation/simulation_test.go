// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run this seed alone, and print its trace")
	first    = flag.Uint64("first", 1, "the first of the seeds")
	seeds    = flag.Int("seeds", 20, "how many seeds to run")
	ruleFlag = flag.String("rule", "", "who holds newcomers back: permits, reports, scylla-operator, or a planted bug; empty for permits and then reports")
	offFlag  = flag.String("off", "", "protections that do nothing, with commas between them: see off.go")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(1600) // little memory, much garbage
	os.Exit(m.Run())
}

// No seed lets an unsafe join through, founds a second cluster, leaves a Pod waiting for ever, or lets a view go backwards. One that fails is printed with its trace; it replays alone:
//
//	go test ./test/simulation -run 'TestSeeds$' -rule=permits -seed=N -v
func TestSeeds(t *testing.T) {
	rules := []Rule{Permits, Reports}
	if *ruleFlag != "" {
		rules = []Rule{Rule(*ruleFlag)}
	}
	for _, rule := range rules {
		t.Run(string(rule), func(t *testing.T) { runSeeds(t, rule) })
	}
}

func runSeeds(t *testing.T, rule Rule) {
	o := Options{Seed: *seedFlag, Rule: rule, World: *worldFlag}
	for off := range strings.FieldsFuncSeq(*offFlag, func(r rune) bool { return r == ',' }) {
		o.Off = append(o.Off, Off(off))
	}
	if *seedFlag != 0 {
		o.Trace = true
		complain(t, Run(o), true)
		return
	}
	sum := Total{}
	const traced = 3
	for _, r := range RunManyOf(o, *first, *seeds) {
		sum.Add(&r)
		if r.Failed() && sum.Failed <= traced {
			again := o
			again.Seed, again.Trace = r.Seed, true
			r = Run(again)
		}
		complain(t, r, r.Failed())
	}
	t.Logf("%+v", sum)
	const many = 100 // fewer say little
	if f := sum.Followed; f.Healed+f.Unhealed >= many && 100*f.Healed < 95*(f.Healed+f.Unhealed) {
		t.Errorf("a person heals %d troubles, and leaves %d", f.Healed, f.Unhealed)
	}
	if sum.LetThrough < *seeds || sum.Faults < *seeds {
		t.Errorf("nothing happened: %+v", sum)
	}
}

func complain(t *testing.T, r Result, trace bool) {
	if trace {
		for _, l := range r.Trace {
			t.Log(l)
		}
	}
	for _, v := range r.Violations {
		t.Errorf("seed %d %s", r.Seed, v)
	}
}

// The same seed is the same run, or no failure could be looked at twice.
func TestASeedReplays(t *testing.T) {
	for _, seed := range []uint64{2, 5, 13} {
		a, b := Run(Options{Seed: seed, Rule: Permits, Trace: true}), Run(Options{Seed: seed, Rule: Permits, Trace: true})
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("seed %d differs (-first +second):\n%s", seed, diff)
		}
	}
}

// A barrier that never opens makes Pods wait for ever. That one which is always open loses joins, outcomes_test.go has, and what each protection is for, off_test.go.
func TestABarrierThatNeverOpensIsCaught(t *testing.T) {
	if r := Run(Options{Seed: 1, Rule: NeverOpen, Patience: 45 * time.Minute}); r.EndlessWaits == 0 {
		t.Errorf("not caught: %+v", r.Counts)
	}
}

// All rows are UP, no reporter reaches the API server any more, and a node dies: by reports alone a newcomer is let through, and ScyllaDB cancels its join. Permits
// close the hole: the controller hears that the dead node's row is another one than the one that is written. And the last look closes it without permits, where it
// asks the reporters what their row is.
func TestTheHoleOfReportsIsClosedByPermits(t *testing.T) {
	for name, c := range map[string]struct {
		rule Rule
		mum  bool
		hole bool
	}{
		"by reports, whose reporters say nothing of it": {Reports, true, true},
		"by permits, whose reporters say nothing of it": {Permits, true, false},
		"by reports, and the last look compares them":   {Reports, false, false},
		"by permits, and the last look compares them":   {Permits, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum := Total{}
			for seed := uint64(1); seed <= 6; seed++ {
				r := Run(Options{Seed: seed, Rule: c.rule, Hole: true, Mum: c.mum})
				if sum.Add(&r); !c.hole {
					complain(t, r, false)
				}
			}
			t.Logf("%+v", sum)
			if c.hole != (sum.Unsafe > 0) || sum.LetThrough == 0 {
				t.Errorf("unsafe joins: %d, want some: %v", sum.Unsafe, c.hole)
			}
		})
	}
}

// The rule that ours is compared with is the Scylla Operator's: it answers as that did.
func TestOperatorPreconditionIsTheOperators(t *testing.T) {
	type oracle struct {
		ID      int
		Reports []api.ScyllaDBDatacenterNodesStatusReport
		Self    struct {
			DC      string
			Rack    string
			Ordinal int32
		}
		Lenient   bool `json:"singleReportAllowNonReportingHostIDs"`
		Satisfied bool
	}
	for _, c := range vectors.Oracle[oracle](t) {
		if got := OperatorPrecondition(c.Reports, Place{c.Self.DC, c.Self.Rack, c.Self.Ordinal}, c.Lenient); got != c.Satisfied {
			t.Errorf("case %d: %v, the operator says %v", c.ID, got, c.Satisfied)
		}
	}
}

// A link notices what happened after its delay, and not before.
func TestLink(t *testing.T) {
	at := start.Add(time.Minute)
	l := link{was: true, now: false, at: at, delay: 22 * time.Second}
	for after, want := range map[time.Duration]bool{0: true, 21 * time.Second: true, 22 * time.Second: false, time.Hour: false} {
		if got := l.up(at.Add(after)); got != want {
			t.Errorf("%s after a death it is up: %v", after, got)
		}
	}
}

// The settings of the health policy that are about views, each at its bound: an old view opens nothing, and nobody waits for ever.
func TestSettingsAtTheirBounds(t *testing.T) {
	for name, said := range map[string]map[string]string{
		"the slowest":  {healthpolicy.FieldViewLimit: "30s", healthpolicy.FieldPeerCheck: "5s", healthpolicy.FieldLook: "4s", healthpolicy.FieldMissed: "5"},
		"the tightest": {healthpolicy.FieldViewLimit: "20s", healthpolicy.FieldPeerCheck: "5s", healthpolicy.FieldLook: "4s", healthpolicy.FieldMissed: "2"},
		"the quickest": {healthpolicy.FieldViewLimit: "30s", healthpolicy.FieldPeerCheck: "2s", healthpolicy.FieldLook: "1s", healthpolicy.FieldMissed: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := healthpolicy.Said{Namespace: namespace, Name: clusterName, Annotations: map[string]string{}}
			for field, value := range said {
				s.Annotations[healthpolicy.Annotation(field)] = value
			}
			policy, problems := healthpolicy.Resolve(healthpolicy.Input{Said: []healthpolicy.Said{s}, Window: healthpolicy.Stabilisation})
			if len(problems) > 0 {
				t.Fatalf("%+v", problems)
			}
			sum := Total{}
			for seed := range uint64(12) {
				r := Run(Options{Seed: seed + 1, Rule: Permits, Policy: policy})
				sum.Add(&r)
				complain(t, r, false)
			}
			t.Logf("%+v", sum)
			if sum.LetThrough < 12 {
				t.Errorf("nobody is let through: %+v", sum)
			}
		})
	}
}

// BenchmarkSeed is one seed of a cluster that grows to six nodes, of which 1,000 are to fit into a minute of one core; and to nine, as in TestSeeds.
func BenchmarkSeed(b *testing.B) {
	for _, rule := range []Rule{Permits, Reports} {
		for _, perRack := range []int32{2, 3} {
			b.Run(fmt.Sprintf("%s/nodes=%d", rule, 3*perRack), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					Run(Options{Seed: uint64(1 + i%100), Rule: rule, PerRack: perRack})
				}
			})
		}
	}
}
