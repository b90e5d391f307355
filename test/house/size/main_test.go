// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestASlowMachineIsNoSlowProgram(t *testing.T) {
	b := budget{start: 20 * time.Millisecond, ratio: 10}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		rounds []startUp
		want   startUp
		within bool
	}{
		"within its time":                         {rounds: []startUp{{19 * ms, 12}}, want: startUp{19 * ms, 12}, within: true},
		"a slow machine":                          {rounds: []startUp{{60 * ms, 8}}, want: startUp{60 * ms, 8}, within: true},
		"one busy round":                          {rounds: []startUp{{60 * ms, 30}, {18 * ms, 9}}, want: startUp{18 * ms, 9}, within: true},
		"a slow program, best of all rounds":      {rounds: []startUp{{31 * ms, 15}, {30 * ms, 15}, {33 * ms, 14}, {32 * ms, 15}, {35 * ms, 16}}, want: startUp{30 * ms, 15}},
		"a slow program and slower in each round": {rounds: []startUp{{30 * ms, 15}, {31 * ms, 15}, {32 * ms, 15}, {33 * ms, 15}, {34 * ms, 15}}, want: startUp{30 * ms, 15}},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			got, err := b.quickest(func() (startUp, error) { n++; return tc.rounds[n-1], nil })
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want || b.within(got) != tc.within || n != len(tc.rounds) {
				t.Errorf("%v after %d rounds, within the budget: %v; want %v after %d, %v", got, n, b.within(got), tc.want, len(tc.rounds), tc.within)
			}
		})
	}
}
