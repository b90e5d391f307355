// SPDX-License-Identifier: Apache-2.0

package raftlog

import (
	"testing"

	"pgregory.net/rapid"
)

const schema = "59adb24e-f3cd-3e02-97f0-5b395827453f"

func TestMetrics(t *testing.T) {
	const follower = "# HELP scylla_raft_apply_index applied index\n# TYPE scylla_raft_apply_index gauge\n" +
		`scylla_raft_apply_index{server_id="a",shard="0"} 120.000000` + "\n" +
		`scylla_raft_commit_index{server_id="a",shard="0"} 123.000000` + "\n" +
		`scylla_raft_log_last_index{server_id="a",shard="0"} 900.000000` + "\n" +
		`scylla_raft_state{server_id="a",shard="0"} 0.000000` + "\n"
	for name, c := range map[string]struct {
		text string
		want State
	}{
		"a follower":               {follower, State{Known: true, Commit: 123, Apply: 120}},
		"a leader":                 {"scylla_raft_apply_index 7\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{Known: true, Leader: true, Commit: 7, Apply: 7}},
		"a candidate is no leader": {"scylla_raft_apply_index 7\nscylla_raft_commit_index 7\nscylla_raft_state 1\n", State{Known: true, Commit: 7, Apply: 7}},
		"with times":               {"scylla_raft_apply_index 7 1700000000000\nscylla_raft_commit_index 7 1\nscylla_raft_state 0 1", State{Known: true, Commit: 7, Apply: 7}},
		"another shard's group":    {follower + `scylla_raft_commit_index{shard="1"} 9000` + "\n", State{Known: true, Commit: 123, Apply: 120}},
		"two groups of shard 0":    {follower + `scylla_raft_commit_index{server_id="b",shard="0"} 9000` + "\n", State{}},
		"before 6.1":               {"# nothing\nscylla_reactor_utilization 1\n", State{}},
		"no state":                 {"scylla_raft_apply_index 7\nscylla_raft_commit_index 7\n", State{}},
		"no apply index":           {"scylla_raft_state 2\nscylla_raft_commit_index 7\n", State{}},
		"not a number":             {"scylla_raft_apply_index NaN\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{}},
		"below zero":               {"scylla_raft_apply_index -1\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{}},
		"half an entry":            {"scylla_raft_apply_index 1.5\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{}},
		"infinite":                 {"scylla_raft_apply_index +Inf\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{}},
		"a label with a brace":     {`scylla_raft_apply_index{x="}\"",shard="0"} 7` + "\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{Known: true, Leader: true, Commit: 7, Apply: 7}},
		"a label that never ends":  {`scylla_raft_apply_index{shard="0} 7` + "\nscylla_raft_commit_index 7\nscylla_raft_state 2\n", State{}},
		"empty":                    {"", State{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Metrics(c.text); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]State{
		"":                                 {},
		"leader=true commit=123 apply=120": {Known: true, Leader: true, Commit: 123, Apply: 120},
		"leader=false commit=0 apply=0 schema=" + schema: {Known: true, Schema: schema},
		"schema=" + schema: {Schema: schema},
	} {
		if got, ok := Parse(text); !ok || got != want || got.String() != text {
			t.Errorf("%q: got %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"leader=yes commit=1 apply=1", "leader=true commit=1", "leader=true commit=+1 apply=1", "leader=true commit=-1 apply=1", "leader=true commit=01 apply=1",
		"leader=true apply=1 commit=1", "leader=true commit=1 apply=1 ", "leader=true commit=1 apply=9007199254740993", "schema=x", "schema=", "x", " ",
		"leader=true commit=1 apply=1 x=1", "leader=true commit=1 apply=1 schema=" + schema + schema + schema + schema + schema,
	} {
		if got, ok := Parse(text); ok || got != (State{}) {
			t.Errorf("%q: got %+v, %t", text, got, ok)
		}
	}
}

// Whatever is said comes back from its text as it was.
func TestTheTextSaysWhatWasSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		if rapid.Bool().Draw(t, "known") {
			s = State{Known: true, Leader: rapid.Bool().Draw(t, "leader"),
				Commit: rapid.Int64Range(0, maxIndex).Draw(t, "commit"), Apply: rapid.Int64Range(0, maxIndex).Draw(t, "apply")}
		}
		s.Schema = rapid.SampledFrom([]string{"", schema}).Draw(t, "schema")
		if got, ok := Parse(s.String()); !ok || got != s || len(s.String()) > maxText {
			t.Fatalf("%q: got %+v", s.String(), got)
		}
	})
}

// FuzzMetrics: whatever the metrics are, the indexes are known and within bounds, or not known; and their text can be read.
func FuzzMetrics(f *testing.F) {
	f.Add("scylla_raft_apply_index{shard=\"0\"} 7\nscylla_raft_commit_index 7\nscylla_raft_state 2\n")
	f.Add("scylla_raft_apply_index{a=\"\\\"}\n{")
	f.Fuzz(func(t *testing.T, text string) {
		s := Metrics(text)
		if s.Commit < 0 || s.Apply < 0 || !s.Known && s != (State{}) {
			t.Fatalf("%+v", s)
		}
		if got, ok := Parse(s.String()); !ok || got != s {
			t.Fatalf("%q: got %+v", s.String(), got)
		}
	})
}

// FuzzParse: a text has one spelling.
func FuzzParse(f *testing.F) {
	f.Add("leader=true commit=123 apply=120 schema=" + schema)
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := Parse(text); ok != (s.String() == text) {
			t.Fatalf("%q: %+v, %t", text, s, ok)
		}
	})
}
