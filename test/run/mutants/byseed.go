// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// simulated is the package whose seeds and schedules find the bugs of gate.txt.
const simulated = "test/simulation"

// byNone begins the reason why no seed finds a bug.
const byNone = "none: "

// unseen is the verdict of a mutant with that reason; nothing runs for it.
const unseen = "unseen"

// sought returns the flags of go test that run what finds the mutant: one schedule of TestSchedules
// by name, or a rule and its seed of TestSeeds.
func (m *mutant) sought() ([]string, error) {
	kind, rest, _ := strings.Cut(m.seeds, " ")
	switch {
	case rest == "":
	case kind == "schedule":
		name := strings.ReplaceAll(regexp.QuoteMeta(rest), "/", ".")
		return []string{"-run=^TestSchedules$/^" + name + "$"}, nil
	default:
		return []string{"-run=^TestSeeds$", "-rule=" + kind, "-seed=" + rest}, nil
	}
	return nil, fmt.Errorf("line %d, %s: %q is neither \"schedule NAME\" nor \"RULE SEED\"", m.line, m, m.seeds)
}

// bySeed runs what finds the mutant, and nothing else.
func (w *worker) bySeed(ctx context.Context, m *mutant, overlay string) (verdict, text string) {
	if why, none := strings.CutPrefix(m.seeds, byNone); none {
		return unseen, why
	}
	flags, err := m.sought()
	if err != nil {
		return broken, err.Error()
	}
	names, err := w.test(ctx, overlay, simulated, flags...)
	switch {
	case err != nil:
		return broken, err.Error()
	case len(names) == 0:
		return missed, m.seeds
	}
	return found, m.seeds
}

// seedsUnchanged runs each seed and schedule once without a mutant.
func (w *worker) seedsUnchanged(ctx context.Context, chosen []*mutant) error {
	var all [][]string
	for _, m := range chosen {
		if m.seeds == "" || strings.HasPrefix(m.seeds, byNone) {
			continue
		}
		flags, err := m.sought()
		if err != nil {
			return err
		}
		if strings.HasPrefix(m.seeds, "schedule ") {
			flags = []string{"-run=^TestSchedules$"}
		}
		if !slices.ContainsFunc(all, func(is []string) bool { return slices.Equal(is, flags) }) {
			all = append(all, flags)
		}
	}
	var errs []error
	for _, flags := range all {
		args := append([]string{"test", "-vet=off", "./" + simulated}, flags...)
		if text, err := w.command(ctx, args...).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("run %s without a mutant: %w\n%s", strings.Join(flags, " "), err, text))
		}
	}
	return errors.Join(errs...)
}
