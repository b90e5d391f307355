// SPDX-License-Identifier: Apache-2.0

package healthpolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func said(name string, pairs ...string) Said {
	s := Said{Namespace: "demo", Name: name, Annotations: map[string]string{"other.example/health-dead": "1s"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Annotations[Annotation(pairs[i])] = pairs[i+1]
	}
	return s
}

func with(change func(p *api.StatusReportHealthPolicy)) *api.StatusReportHealthPolicy {
	p := Standard(Stabilisation, 3)
	change(p)
	return p
}

// TestNumbersOfTheSourceTexts states each default as the texts give it: the constants of this package
// do not appear.
func TestNumbersOfTheSourceTexts(t *testing.T) {
	p := Standard(Stabilisation, 1)
	of := Of(nil) // what a barrier takes without a report
	for name, tt := range map[string]struct {
		got, of any
		want    any
	}{
		"dead_server_last_contact_threshold 5m":         {p.Dead.Duration.String(), of.Dead.Duration.String(), "5m0s"},
		"last_contact_threshold 10s":                    {p.Contact.Duration.String(), of.Contact.Duration.String(), "10s"},
		"server_stabilization_time 10s":                 {p.Stabilisation.Duration.String(), of.Stabilisation.Duration.String(), "10s"},
		"max_trailing_logs 1000":                        {p.Trailing, of.Trailing, int64(1000)},
		"min_quorum 3":                                  {p.MinQuorum, of.MinQuorum, int32(3)},
		"min_quorum of 5 replicas":                      {Standard(0, 5).MinQuorum, Standard(0, 5).MinQuorum, int32(5)},
		"pollInterval 2s":                               {p.LookInterval.Duration.String(), of.LookInterval.Duration.String(), "2s"},
		"failureThreshold 3":                            {p.MissedLooks, of.MissedLooks, int32(3)},
		"leaseTimeout 20s":                              {p.ViewLimit.Duration.String(), of.ViewLimit.Duration.String(), "20s"},
		"peerCheckInterval 5s":                          {p.PeerCheck.Duration.String(), of.PeerCheck.Duration.String(), "5s"},
		"interval of a row 5s":                          {Interval.String(), Interval.String(), "5s"},
		"the window of the first node and of a barrier": {First(nil).String(), Window(nil, nil).String(), "10s"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]any{tt.want, tt.want}, []any{tt.got, tt.of}); diff != "" {
				t.Errorf("(-text +policy, and the one without a report):\n%s", diff)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	tests := map[string]struct {
		in   Input
		want *api.StatusReportHealthPolicy
		bad  []string // codes
	}{
		"nothing is said": {in: Input{Members: 3}, want: with(func(*api.StatusReportHealthPolicy) {})},
		"every field by itself": {
			in: Input{Members: 3, Said: []Said{said("a", FieldDead, "10m", FieldContact, "20s"), said("b", FieldStabilisation, "1m", FieldMinQuorum, "4", FieldCleanUp, "false", FieldProfile, "development")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Profile, p.Dead.Duration, p.Contact.Duration, p.Stabilisation.Duration = api.ProfileDevelopment, 10*time.Minute, 20*time.Second, time.Minute
				p.MinQuorum, p.CleanUpDeadReports = 4, false
				p.Overridden = []string{FieldCleanUp, FieldContact, FieldDead, FieldMinQuorum, FieldProfile, FieldStabilisation}
			}),
		},
		"a large production cluster": {in: Input{Members: 9}, want: with(func(p *api.StatusReportHealthPolicy) { p.MinQuorum = 9 })},
		"a small production cluster": {in: Input{Members: 1}, want: with(func(*api.StatusReportHealthPolicy) {})},
		"development, and clean-up forced off": {
			in: Input{Members: 2, Said: []Said{said("a", FieldProfile, "development")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Profile, p.MinQuorum, p.CleanUpDeadReports, p.Overridden = api.ProfileDevelopment, 2, false, []string{FieldProfile}
			}),
		},
		"development without a member": {
			in: Input{Said: []Said{said("a", FieldProfile, "development")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Profile, p.MinQuorum, p.CleanUpDeadReports, p.Overridden = api.ProfileDevelopment, 1, false, []string{FieldProfile}
			}),
		},
		"a small quorum forces the clean-up off": {
			in: Input{Members: 3, Said: []Said{said("a", FieldMinQuorum, "2")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.MinQuorum, p.CleanUpDeadReports, p.Overridden = 2, false, []string{FieldMinQuorum}
			}),
		},
		"unless it is said to be on": {
			in: Input{Members: 3, Said: []Said{said("a", FieldMinQuorum, "1", FieldCleanUp, "true")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.MinQuorum, p.CleanUpDeadReports, p.Overridden = 1, true, []string{FieldCleanUp, FieldMinQuorum}
			}),
		},
		"how far a member may be behind": {
			in:   Input{Members: 3, Said: []Said{said("a", FieldTrailing, "50")}},
			want: with(func(p *api.StatusReportHealthPolicy) { p.Trailing, p.Overridden = 50, []string{FieldTrailing} }),
		},
		"the times of views": {
			in: Input{Members: 3, Said: []Said{said("a", FieldViewLimit, "25s", FieldPeerCheck, "3s", FieldLook, "1s", FieldMissed, "5")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.ViewLimit.Duration, p.PeerCheck.Duration, p.LookInterval.Duration, p.MissedLooks = 25*time.Second, 3*time.Second, time.Second, 5
				p.Overridden = []string{FieldLook, FieldMissed, FieldPeerCheck, FieldViewLimit}
			}),
		},
		"a time of views beyond its bound": {
			in: Input{Members: 3, Said: []Said{said("a", FieldViewLimit, "1h", FieldPeerCheck, "3s")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.PeerCheck.Duration, p.Overridden = 3*time.Second, []string{FieldPeerCheck}
			}),
			bad: []string{string(words.HealthFieldInvalid)},
		},
		"a bad number keeps what it was": {
			in: Input{
				Members: 3, Said: []Said{said("a", FieldTrailing, "0")},
				Stored: with(func(p *api.StatusReportHealthPolicy) { p.Trailing, p.Overridden = 50, []string{FieldTrailing} }),
			},
			want: with(func(p *api.StatusReportHealthPolicy) { p.Trailing, p.Overridden = 50, []string{FieldTrailing} }),
			bad:  []string{string(words.HealthFieldInvalid)},
		},
		"two that disagree change nothing": {
			in:   Input{Members: 3, Said: []Said{said("a", FieldTrailing, "50"), said("b", FieldTrailing, "60")}},
			want: with(func(*api.StatusReportHealthPolicy) {}), bad: []string{string(words.HealthFieldDisputed)},
		},
		"a bad field costs only itself": {
			in: Input{Members: 3, Said: []Said{said("a", FieldDead, "5", FieldContact, "30s")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Contact.Duration, p.Overridden = 30*time.Second, []string{FieldContact}
			}),
			bad: []string{string(words.HealthFieldInvalid)},
		},
		"a bad field keeps what it was": {
			in: Input{
				Members: 3, Said: []Said{said("a", FieldDead, "5", FieldContact, "3s")},
				Stored: with(func(p *api.StatusReportHealthPolicy) {
					p.Dead.Duration, p.Contact.Duration, p.Overridden = time.Hour, 30*time.Second, []string{FieldDead}
				}),
			},
			want: with(func(p *api.StatusReportHealthPolicy) { p.Dead.Duration, p.Overridden = time.Hour, []string{FieldDead} }),
			bad:  []string{string(words.HealthFieldInvalid), string(words.HealthFieldInvalid)},
		},
		"an override that is taken off": {
			in:   Input{Members: 3, Stored: with(func(p *api.StatusReportHealthPolicy) { p.Dead.Duration, p.Overridden = time.Hour, []string{FieldDead} })},
			want: with(func(*api.StatusReportHealthPolicy) {}),
		},
		"two StatefulSets that disagree": {
			in: Input{Members: 3, Said: []Said{said("a", FieldDead, "10m"), said("b", FieldDead, "20m")}}, want: with(func(*api.StatusReportHealthPolicy) {}),
			bad: []string{string(words.HealthFieldDisputed)},
		},
		"two StatefulSets that agree": {
			in: Input{Members: 3, Said: []Said{said("a", FieldDead, "10m"), said("b", FieldDead, "10m"), said("c")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Dead.Duration, p.Overridden = 10*time.Minute, []string{FieldDead}
			}),
		},
		"one of two is bad": {
			in: Input{Members: 3, Said: []Said{said("a", FieldDead, "10m"), said("b", FieldDead, "soon")}},
			want: with(func(p *api.StatusReportHealthPolicy) {
				p.Dead.Duration, p.Overridden = 10*time.Minute, []string{FieldDead}
			}),
			bad: []string{string(words.HealthFieldInvalid)},
		},
		"no field of ours": {in: Input{Members: 3, Said: []Said{said("a", "deed", "10m")}}, want: with(func(*api.StatusReportHealthPolicy) {}), bad: []string{string(words.HealthFieldUnknown)}},
		"a Pod is rolled": {
			in:   Input{Members: 2, Stored: with(func(p *api.StatusReportHealthPolicy) { p.MinQuorum = 5 })},
			want: with(func(p *api.StatusReportHealthPolicy) { p.MinQuorum = 5 }),
		},
		"no Pod is rolled": {
			in:   Input{Members: 4, Settled: true, Stored: with(func(p *api.StatusReportHealthPolicy) { p.MinQuorum = 5 })},
			want: with(func(p *api.StatusReportHealthPolicy) { p.MinQuorum = 4 }),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.in.Window = Stabilisation
			got, problems := Resolve(tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
			var codes []string
			for _, p := range problems {
				codes = append(codes, string(p.Message.Code))
				if p.Object == "" {
					t.Errorf("%+v names no object", p)
				}
			}
			if diff := cmp.Diff(tc.bad, codes); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Each bound itself is accepted, and a value beyond it is not.
func TestBounds(t *testing.T) {
	for field, values := range map[string]struct{ good, bad []string }{
		FieldDead:          {good: []string{"1s", "24h"}, bad: []string{"0", "999ms", "-5m", "24h1s", "", "5", "5 m", strings.Repeat("9", 500) + "h"}},
		FieldContact:       {good: []string{"10s", "1m"}, bad: []string{"9s", "61s", "0s"}},
		FieldStabilisation: {good: []string{"1s", "10m"}, bad: []string{"0", "25h"}},
		FieldMinQuorum:     {good: []string{"1", "1000"}, bad: []string{"0", "-1", "1001", "three", "1.5", "99999999999999999999"}},
		FieldTrailing:      {good: []string{"1", "1000000"}, bad: []string{"0", "-1", "1000001", "off", "1e3", ""}},
		FieldViewLimit:     {good: []string{"20s", "30s"}, bad: []string{"19s", "31s", "0"}},
		FieldPeerCheck:     {good: []string{"2s", "5s"}, bad: []string{"1s", "6s", "0"}},
		FieldLook:          {good: []string{"1s", "4s", "1500ms"}, bad: []string{"999ms", "5s", "0"}},
		FieldMissed:        {good: []string{"2", "5"}, bad: []string{"1", "6", "0", "3s"}},
		FieldCleanUp:       {good: []string{"true", "false"}, bad: []string{"yes", "TRUE", "1", ""}},
		FieldProfile:       {good: []string{"production", "development"}, bad: []string{"prod", ""}},
	} {
		for _, v := range values.good {
			if _, problems := Resolve(Input{Said: []Said{said("a", field, v)}}); len(problems) > 0 {
				t.Errorf("%s=%s: %+v", field, v, problems)
			}
		}
		for _, v := range values.bad {
			_, problems := Resolve(Input{Said: []Said{said("a", field, v)}})
			if len(problems) != 1 || problems[0].Object != "a" || len(problems[0].Message.Commands) != 1 {
				t.Errorf("%s=%.20s: %+v", field, v, problems)
			}
		}
	}
	for _, f := range Fields() {
		if Cures()[f].IsZero() {
			t.Errorf("%s has no cure", f)
		}
	}
}

// Every combination of values that are accepted keeps an old view from opening anything, and a view that is renewed open. That no view opens for longer than it takes to notice that
// no controller leads is a test of package controller, which has the duration of the Lease.
func TestBoundsOfViewsGoTogether(t *testing.T) {
	if least := 2 * (mostCheck + mostLook); least > ViewLimit {
		t.Errorf("two renewals take up to %v: a view that stands is too old after %v", least, ViewLimit)
	}
	if longest := mostMissed * mostLook; longest > ViewLimit {
		t.Errorf("a member that falls silent is UNKNOWN after up to %v: a view in which it is UP opens for %v", longest, ViewLimit)
	}
	if 2*mostLook >= Contact {
		t.Errorf("a member that missed one look of %v is not heard for %v", mostLook, Contact)
	}
	for name, is := range map[string]struct{ least, standard, most time.Duration }{
		"view limit": {ViewLimit, ViewLimit, MostViewLimit}, "peer check": {leastCheck, PeerCheck, mostCheck}, "look interval": {LeastLook, LookInterval, mostLook},
		"missed looks": {leastMissed, MissedLooks, mostMissed},
	} {
		if is.standard < is.least || is.standard > is.most {
			t.Errorf("%s: %v is not from %v to %v", name, is.standard, is.least, is.most)
		}
	}
}

// A value that a report lacks, or that is invalid in it, counts as the default.
func TestOf(t *testing.T) {
	standard := *Standard(Stabilisation, 0)
	report := func(p *api.StatusReportHealthPolicy) *api.ScyllaDBStatusReport {
		return &api.ScyllaDBStatusReport{Status: api.ScyllaDBStatusReportStatus{HealthPolicy: p}}
	}
	for name, r := range map[string]*api.ScyllaDBStatusReport{"no report": nil, "no policy": report(nil)} {
		if diff := cmp.Diff(standard, Of(r)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	got := Of(report(&api.StatusReportHealthPolicy{Stabilisation: metav1.Duration{Duration: -1}}))
	if got.Dead != standard.Dead || got.Contact != standard.Contact || got.Stabilisation.Duration != 0 || got.MinQuorum != 1 || got.Trailing != Trailing {
		t.Errorf("an empty policy is %+v", got)
	}
	for stored, want := range map[int64]int64{-1: Trailing, 0: Trailing, 1: 1, mostBehind: mostBehind, mostBehind + 1: Trailing} {
		if got := Of(report(&api.StatusReportHealthPolicy{Trailing: stored})); got.Trailing != want {
			t.Errorf("trailing %d counts as %d, want %d", stored, got.Trailing, want)
		}
	}
	for name, c := range map[string]struct {
		change, want func(p *api.StatusReportHealthPolicy)
	}{
		"none": {func(p *api.StatusReportHealthPolicy) {
			p.ViewLimit.Duration, p.PeerCheck.Duration, p.LookInterval.Duration, p.MissedLooks = 0, 0, 0, 0
		}, func(*api.StatusReportHealthPolicy) {}},
		"too much": {func(p *api.StatusReportHealthPolicy) {
			p.ViewLimit.Duration, p.PeerCheck.Duration, p.LookInterval.Duration, p.MissedLooks = time.Hour, time.Hour, time.Hour, 99
		}, func(*api.StatusReportHealthPolicy) {}},
		"the least": {func(p *api.StatusReportHealthPolicy) { p.Dead.Duration, p.PeerCheck.Duration = least, leastCheck }, func(p *api.StatusReportHealthPolicy) {
			p.Dead.Duration, p.PeerCheck.Duration = least, leastCheck
		}},
		"accepted": {func(p *api.StatusReportHealthPolicy) { p.ViewLimit.Duration, p.MissedLooks = MostViewLimit, mostMissed }, func(p *api.StatusReportHealthPolicy) { p.ViewLimit.Duration, p.MissedLooks = MostViewLimit, mostMissed }},
		"one too low": {func(p *api.StatusReportHealthPolicy) {
			p.ViewLimit.Duration, p.PeerCheck.Duration = time.Second, mostCheck
		}, func(p *api.StatusReportHealthPolicy) { p.PeerCheck.Duration = mostCheck }},
	} {
		if diff := cmp.Diff(*with(c.want), Of(report(with(c.change)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p := Standard(0, 3)
	if w := First(report(p)); w != Stabilisation {
		t.Errorf("the flag of the controller makes the first node's window %v", w)
	}
	p.Stabilisation.Duration, p.Overridden = time.Minute, []string{FieldStabilisation}
	if w := First(report(p)); w != time.Minute {
		t.Errorf("the annotation makes the first node's window %v", w)
	}
}

// No reporter's own word makes the limit less than the policy, or more than an annotation could.
func TestContactOf(t *testing.T) {
	for _, c := range []struct{ contact, interval, want time.Duration }{
		{Contact, 0, Contact}, {Contact, Interval, Contact}, {Contact, 20 * time.Second, 40 * time.Second}, {time.Minute, 20 * time.Second, time.Minute},
		{Contact, MostInterval, time.Minute}, {Contact, time.Hour, time.Minute}, {Contact, -time.Hour, Contact},
	} {
		if got := ContactOf(c.contact, c.interval); got != c.want {
			t.Errorf("contact %v, interval %v: %v, want %v", c.contact, c.interval, got, c.want)
		}
	}
}

func TestTheWindowOfABarrier(t *testing.T) {
	said := func(d time.Duration) *api.ScyllaDBStatusReport {
		r := &api.ScyllaDBStatusReport{}
		r.Status.HealthPolicy = Standard(d, 3)
		return r
	}
	for name, c := range map[string]struct {
		given  *time.Duration
		report *api.ScyllaDBStatusReport
		want   time.Duration
	}{
		"nothing is known":                        {nil, nil, Stabilisation},
		"a report without a policy":               {nil, &api.ScyllaDBStatusReport{}, Stabilisation},
		"what the controller goes by":             {nil, said(time.Minute), time.Minute},
		"also where that is shorter":              {nil, said(time.Second), time.Second},
		"the flag wins over a longer one":         {new(5 * time.Second), said(time.Minute), 5 * time.Second},
		"the flag wins where it says at once":     {new(time.Duration(0)), said(time.Minute), 0},
		"the flag wins where nothing else speaks": {new(time.Hour), nil, time.Hour},
	} {
		if got := Window(c.given, c.report); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
