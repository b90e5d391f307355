// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func TestVotersChangeOneAtATime(t *testing.T) {
	t.Parallel()
	s := &topology{Voters: []string{"a"}, Nodes: map[string]*topoNode{}}
	for _, id := range []string{"a", "b", "c", "d"} {
		s.Nodes[id] = &topoNode{HostID: id, State: rules.Normal}
	}
	steps := 0
	for {
		next, changed := s.nextVoters()
		if !changed {
			break
		}
		if d := len(next) - len(s.Voters); d != 1 && d != -1 {
			t.Fatalf("%v -> %v", s.Voters, next)
		}
		s.Voters = next
		if steps++; steps == 3 {
			s.IgnoredNodes = []string{"b"}
			s.Nodes["c"].State = rules.Left
		}
	}
	if got := strings.Join(s.Voters, ""); got != "ad" {
		t.Errorf("voters %v", s.Voters)
	}
	s.Nodes["a"].State, s.Nodes["d"].State = rules.Left, rules.Left
	for range 5 {
		s.Voters, _ = s.nextVoters()
	}
	if len(s.Voters) == 0 {
		t.Error("the last voter was removed")
	}
}

func TestVoteIsRefusedToACandidateThatLags(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), &Node{hostID: "b", clock: newClock(1), log: &logger{}}
	g := newGroup0(dir, n)
	g.create(&topology{Voters: []string{"a", "b", "c"}})
	g.p.Acc.Term, g.p.Acc.Index, g.p.Term = 3, 7, 3
	for name, tc := range map[string]struct {
		req  g0VoteRequest
		want bool
	}{
		"older term of the value": {g0VoteRequest{Term: 9, Acc: g0ID{2, 99}, Candidate: "a"}, false},
		"shorter":                 {g0VoteRequest{Term: 10, Acc: g0ID{3, 6}, Candidate: "a"}, false},
		"equal":                   {g0VoteRequest{Term: 11, Acc: g0ID{3, 7}, Candidate: "a"}, true},
	} {
		if got := g.handleVote(tc.req); got.Granted != tc.want {
			t.Errorf("%s: granted %v", name, got.Granted)
		}
	}
	g.p.Term, g.p.Voted = 20, "a"
	if g.handleVote(g0VoteRequest{Term: 20, Acc: g0ID{9, 9}, Candidate: "c"}).Granted {
		t.Error("two votes in one term")
	}
	if rep := g.handleAppend(g0Append{Term: 19, Leader: "x"}); rep.OK {
		t.Error("a deposed leader is followed")
	}
	// What was stored survives a restart.
	again := newGroup0(dir, n)
	if ok, err := again.load(); !ok || err != nil || again.p.Term < 11 {
		t.Errorf("%v %v %+v", ok, err, again.p.Term)
	}
}

func TestShell(t *testing.T) {
	dir := t.TempDir() + "/dir"
	if err := writeFileAtomic(dir+"/c.txt", []byte("c.txt\n")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	release, _ := rules.ParseVersion(DefaultVersion)
	for name, tc := range map[string]struct {
		args []string
		out  string
		code int
		err  string
	}{
		"version":          {[]string{"-c", "exec /usr/bin/scylla --version"}, release.Release() + "\n", 0, ""},
		"sstable query":    {[]string{"-c", "/usr/bin/scylla sstable query --system-schema --keyspace=system --table=local --output-format=json --query=\"SELECT bootstrapped FROM scylla_sstable.local\" none/*-Data.db > out 2> log; echo $? > code; cat out code"}, "1\n", 0, ""},
		"standard input":   {[]string{"-c", "cat; exit 7"}, "in", 7, ""},
		"copy of a folder": {[]string{"-c", "cp -r ./. ../copy && cp -r ./. ../copy; cat ../copy/c.txt"}, "c.txt\n", 0, ""},
		"copy without -r":  {[]string{"-c", "cp c.txt i"}, "", 1, "only cp -r"},
		"another program":  {[]string{"-c", "nosuchprogram"}, "", 127, "nosuchprogram"},
		"sleep":            {[]string{"-c", "sleep 0.001 && sleep x"}, "", 1, `invalid time interval`},
		"syntax error":     {[]string{"-c", "echo 'a"}, "", 2, "quote"},
		"no script":        {nil, "", 2, "this shell runs -c only"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			code := ShellCommand(t.Context(), tc.args, strings.NewReader("in"), &out, &errOut)
			if out.String() != tc.out || code != tc.code || !strings.Contains(errOut.String(), tc.err) {
				t.Errorf("%q, code %d, stderr %q; want %q, code %d, stderr with %q", out.String(), code, errOut.String(), tc.out, tc.code, tc.err)
			}
		})
	}
}
