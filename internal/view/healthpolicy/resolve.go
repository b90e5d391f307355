// SPDX-License-Identifier: Apache-2.0

package healthpolicy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Said has the annotations of one StatefulSet.
type Said struct {
	Namespace, Name string
	Annotations     map[string]string
}

func (s *Said) object() string { return s.Namespace + "/" + s.Name }

// Input is everything from which a policy is resolved.
type Input struct {
	Said []Said
	// Stored is the policy in the present report, nil before the first: a field with an invalid
	// annotation keeps its stored value.
	Stored *api.StatusReportHealthPolicy
	// Members is how many nodes are NORMAL. Settled is false while that is about to change, for
	// example while Pods restart: minQuorum then keeps its value.
	Members int
	Settled bool
	// Window is the default of stabilisation.
	Window time.Duration
}

// Problem is an invalid annotation. It affects only its own field.
type Problem struct {
	// Object is the name of the StatefulSet.
	Object  string
	Message words.Message
}

// field describes one field: set parses a text into the policy, keep copies the field of another
// policy, show returns the value for messages.
type field struct {
	set  func(p *api.StatusReportHealthPolicy, text string) words.Message
	keep func(p, from *api.StatusReportHealthPolicy)
	show func(p *api.StatusReportHealthPolicy) any
	// within reports whether the value is in bounds; nil if the field has none.
	within func(p *api.StatusReportHealthPolicy) bool
}

var fields = map[string]field{
	FieldProfile: {
		set: func(p *api.StatusReportHealthPolicy, text string) words.Message {
			switch v := api.HealthProfile(text); v {
			case api.ProfileProduction, api.ProfileDevelopment:
				p.Profile = v
				return words.Message{}
			}
			return words.New(words.HealthGiveProfile)
		},
		keep: func(p, from *api.StatusReportHealthPolicy) { p.Profile = from.Profile },
		show: func(p *api.StatusReportHealthPolicy) any { return string(p.Profile) },
	},
	FieldDead: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.Dead }, least,
		most),
	FieldContact: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.Contact }, Contact,
		mostContact),
	FieldStabilisation: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.Stabilisation },
		least, most),
	FieldMinQuorum: number(func(p *api.StatusReportHealthPolicy) *int32 { return &p.MinQuorum }, 1, mostQuorum),
	FieldTrailing:  number(func(p *api.StatusReportHealthPolicy) *int64 { return &p.Trailing }, 1, mostBehind),
	FieldViewLimit: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.ViewLimit },
		ViewLimit, MostViewLimit),
	FieldPeerCheck: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.PeerCheck },
		leastCheck, mostCheck),
	FieldLook: duration(func(p *api.StatusReportHealthPolicy) *metav1.Duration { return &p.LookInterval },
		LeastLook, mostLook),
	FieldMissed: number(func(p *api.StatusReportHealthPolicy) *int32 { return &p.MissedLooks }, leastMissed,
		mostMissed),
	FieldCleanUp: {
		set: func(p *api.StatusReportHealthPolicy, text string) words.Message {
			if text != "true" && text != "false" {
				return words.New(words.HealthGiveSwitch)
			}
			p.CleanUpDeadReports = text == "true"
			return words.Message{}
		},
		keep: func(p, from *api.StatusReportHealthPolicy) { p.CleanUpDeadReports = from.CleanUpDeadReports },
		show: func(p *api.StatusReportHealthPolicy) any { return strconv.FormatBool(p.CleanUpDeadReports) },
	},
}

// duration describes a field with a duration between two bounds.
func duration(of func(p *api.StatusReportHealthPolicy) *metav1.Duration, least, most time.Duration) field {
	return field{
		set: func(p *api.StatusReportHealthPolicy, text string) words.Message {
			d, err := time.ParseDuration(text)
			if err != nil || d < least || d > most {
				return words.New(words.HealthGiveDuration, "least", short(least), "most", short(most))
			}
			of(p).Duration = d
			return words.Message{}
		},
		keep:   func(p, from *api.StatusReportHealthPolicy) { *of(p) = *of(from) },
		show:   func(p *api.StatusReportHealthPolicy) any { return of(p).Duration },
		within: func(p *api.StatusReportHealthPolicy) bool { d := of(p).Duration; return d >= least && d <= most },
	}
}

// number describes a field with an integer between two bounds.
func number[N int32 | int64](of func(p *api.StatusReportHealthPolicy) *N, least, most N) field {
	return field{
		set: func(p *api.StatusReportHealthPolicy, text string) words.Message {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < int64(least) || n > int64(most) {
				return words.New(words.HealthGiveNumber, "least", int(least), "most", int(most))
			}
			*of(p) = N(n)
			return words.Message{}
		},
		keep:   func(p, from *api.StatusReportHealthPolicy) { *of(p) = *of(from) },
		show:   func(p *api.StatusReportHealthPolicy) any { return int(*of(p)) },
		within: func(p *api.StatusReportHealthPolicy) bool { n := *of(p); return n >= least && n <= most },
	}
}

// short formats a duration as a user writes it: 24h, not 24h0m0s.
func short(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if !strings.HasSuffix(text, "m") {
		return d.String()
	}
	if whole, ok := strings.CutSuffix(text, "h0m"); ok {
		return whole + "h"
	}
	return text
}

// Cures returns the accepted values of each field, by field name.
func Cures() map[string]words.Message {
	out := map[string]words.Message{}
	for name, f := range fields {
		out[name] = f.set(&api.StatusReportHealthPolicy{}, "")
	}
	return out
}

// Fields returns the names of all fields, sorted.
func Fields() []string { return slices.Sorted(maps.Keys(fields)) }

// Resolve computes the policy of a cluster from the annotations of its StatefulSets, and from the
// defaults if an annotation is missing or invalid.
func Resolve(in Input) (*api.StatusReportHealthPolicy, []Problem) {
	r := resolution{in: in, out: Standard(in.Window, in.Members)}
	slices.SortFunc(r.in.Said, func(a, b Said) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	r.unknown()
	// The profile first: it sets the default of minQuorum, which sets the default of the clean-up.
	r.field(FieldProfile)
	r.out.MinQuorum = quorum(r.out.Profile, in.Members)
	if in.Stored != nil && !in.Settled && in.Stored.Profile == r.out.Profile && !overrides(in.Stored, FieldMinQuorum) {
		r.out.MinQuorum = in.Stored.MinQuorum
	}
	r.field(FieldMinQuorum)
	r.out.CleanUpDeadReports = r.out.MinQuorum >= cleanUpFrom
	for _, name := range []string{FieldCleanUp, FieldContact, FieldDead, FieldStabilisation, FieldTrailing,
		FieldViewLimit, FieldPeerCheck, FieldLook, FieldMissed} {
		r.field(name)
	}
	slices.Sort(r.out.Overridden)
	return r.out, r.problems
}

func overrides(p *api.StatusReportHealthPolicy, name string) bool {
	return slices.Contains(p.Overridden, name)
}

type resolution struct {
	in       Input
	out      *api.StatusReportHealthPolicy
	problems []Problem
}

// field resolves one field from the annotations of the StatefulSets.
func (r *resolution) field(name string) {
	key, f := Annotation(name), fields[name]
	var values, objects []string
	var bad []func(kept any)
	for i := range r.in.Said {
		s := &r.in.Said[i]
		text, there := s.Annotations[key]
		if !there {
			continue
		}
		if why := f.set(&api.StatusReportHealthPolicy{}, text); !why.IsZero() {
			bad = append(bad, func(kept any) { r.bad(s, key, text, why, kept) })
			continue
		}
		values, objects = append(values, text), append(objects, s.object())
	}
	disputed := slices.ContainsFunc(values, func(v string) bool { return v != values[0] })
	switch {
	case len(values) > 0 && !disputed:
		f.set(r.out, values[0])
		r.out.Overridden = append(r.out.Overridden, name)
	case (len(bad) > 0 || disputed) && r.in.Stored != nil && overrides(r.in.Stored, name):
		f.keep(r.out, r.in.Stored)
		r.out.Overridden = append(r.out.Overridden, name)
	}
	kept := f.show(r.out)
	for _, tell := range bad {
		tell(kept)
	}
	if disputed {
		r.problems = append(r.problems,
			Problem{Object: r.in.Said[0].Name, Message: words.New(words.HealthFieldDisputed, "annotation", key,
				"objects", objects, "kept", kept)})
	}
}

func (r *resolution) bad(s *Said, key, text string, why words.Message, kept any) {
	r.problems = append(r.problems, Problem{Object: s.Name, Message: words.New(words.HealthFieldInvalid,
		"object", s.object(), "annotation", key, "value", api.Clip(text, shown), "cure", why, "kept",
		kept).Do(words.Kubectl(s.Namespace, "annotate", "statefulset", s.Name, key+"-"))})
}

// unknown reports annotations that name no field.
func (r *resolution) unknown() {
	for i := range r.in.Said {
		s := &r.in.Said[i]
		for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
			name, ours := strings.CutPrefix(key, api.AnnotationHealthPrefix)
			if _, known := fields[name]; ours && !known {
				r.problems = append(r.problems, Problem{Object: s.Name, Message: words.New(words.HealthFieldUnknown,
					"object", s.object(), "annotation", key, "known",
					Fields()).Do(words.Kubectl(s.Namespace, "annotate", "statefulset", s.Name, key+"-"))})
			}
		}
	}
}
