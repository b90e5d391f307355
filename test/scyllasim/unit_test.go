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
	dir := t.TempDir()
	g := newGroup0(dir, "b", newClock(1), &logger{})
	if err := g.create(&topology{Voters: []string{"a", "b", "c"}}); err != nil {
		t.Fatal(err)
	}
	g.p.Acc.Term, g.p.Acc.Index, g.p.Term = 3, 7, 3
	for name, tc := range map[string]struct {
		req  g0VoteRequest
		want bool
	}{
		"older term of the value": {g0VoteRequest{Term: 9, AccTerm: 2, AccIndex: 99, Candidate: "a"}, false},
		"shorter":                 {g0VoteRequest{Term: 10, AccTerm: 3, AccIndex: 6, Candidate: "a"}, false},
		"equal":                   {g0VoteRequest{Term: 11, AccTerm: 3, AccIndex: 7, Candidate: "a"}, true},
	} {
		if got := g.handleVote(tc.req); got.Granted != tc.want {
			t.Errorf("%s: granted %v", name, got.Granted)
		}
	}
	g.p.Term, g.p.Voted = 20, "a"
	if g.handleVote(g0VoteRequest{Term: 20, AccTerm: 9, AccIndex: 9, Candidate: "c"}).Granted {
		t.Error("two votes in one term")
	}
	if rep := g.handleAppend(g0Append{Term: 19, Leader: "x"}); rep.OK {
		t.Error("a deposed leader is followed")
	}
	// What was stored survives a restart.
	again := newGroup0(dir, "b", newClock(1), &logger{})
	if ok, err := again.load(); !ok || err != nil || again.p.Term < 11 {
		t.Errorf("%v %v %+v", ok, err, again.p.Term)
	}
}

func TestShell(t *testing.T) {
	dir := t.TempDir() + "/dir"
	for _, f := range []string{"a-Data.db", "b-Data.db", "c.txt"} {
		if err := writeFileAtomic(dir+"/"+f, []byte(f+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for name, tc := range map[string]struct {
		args []string
		out  string
		code int
		err  string
	}{
		"glob":                   {[]string{"-c", "echo *-Data.db"}, "a-Data.db b-Data.db\n", 0, ""},
		"unmatched glob stays":   {[]string{"-c", "echo none/*-Data.db"}, "none/*-Data.db\n", 0, ""},
		"quoted glob stays":      {[]string{"-c", `echo '*-Data.db' "*.txt" \*`}, "*-Data.db *.txt *\n", 0, ""},
		"status":                 {[]string{"-c", "false; echo $? \"code=$?\""}, "1 code=1\n", 0, ""},
		"and or":                 {[]string{"-c", "false && echo a || echo b; true && echo c || echo d"}, "b\nc\n", 0, ""},
		"redirect":               {[]string{"-c", "echo hi > f 2>&1; cat f; test -s f && echo full"}, "hi\nfull\n", 0, ""},
		"stderr to a file":       {[]string{"-c", "nosuchprogram 2>err; echo $?"}, "127\n", 0, ""},
		"append":                 {[]string{"-c", "echo 1 >f; echo 2 >>f; cat <f"}, "1\n2\n", 0, ""},
		"both to a file":         {[]string{"-c", "nosuchprogram &>g || test -s g && echo ok"}, "ok\n", 0, ""},
		"exit":                   {[]string{"-c", "echo a; exit 7; echo b"}, "a\n", 7, ""},
		"not":                    {[]string{"-c", "! false && echo yes"}, "yes\n", 0, ""},
		"errexit":                {[]string{"-euEo", "pipefail", "-O", "inherit_errexit", "-c", "false\necho never"}, "", 1, ""},
		"errexit spares ||":      {[]string{"-ec", "false || true; echo on"}, "on\n", 0, ""},
		"comment and newlines":   {[]string{"-c", "# hello\necho a # b\n\necho c#d\n"}, "a\nc#d\n", 0, ""},
		"version":                {[]string{"-c", "exec /usr/bin/scylla --version"}, defaultVersionRelease(), 0, ""},
		"sstable query":          {[]string{"-c", "/usr/bin/scylla sstable query --system-schema --keyspace=system --table=local --output-format=json --query=\"SELECT bootstrapped FROM scylla_sstable.local\" > out 2> log; echo $? > code; cat out code"}, "[]0\n", 0, ""},
		"variables":              {[]string{"-c", `x=1; export Y=b; echo "$x$Y ${Z:-none}"`}, "1b none\n", 0, ""},
		"arguments":              {[]string{"-c", `echo "$1" $#`, "name", "one", "two"}, "one 2\n", 0, ""},
		"pipe":                   {[]string{"-c", "echo a | cat"}, "a\n", 0, ""},
		"pipefail":               {[]string{"-eo", "pipefail", "-c", "false | cat; echo never"}, "", 1, ""},
		"if and for":             {[]string{"-c", "for f in *.txt; do if test -s $f; then echo $f; fi; done"}, "c.txt\n", 0, ""},
		"background":             {[]string{"-c", "echo a & wait; echo b"}, "a\nb\n", 0, ""},
		"substitution":           {[]string{"-c", "echo \"`echo b` $(cat c.txt)\""}, "b c.txt\n", 0, ""},
		"a shell in the shell":   {[]string{"-c", "/bin/sh -c 'exit 3'; echo $?"}, "3\n", 0, ""},
		"copy of a folder":       {[]string{"-c", "cp -r ./. ../copy; cat ../copy/c.txt"}, "c.txt\n", 0, ""},
		"copy without -r":        {[]string{"-c", "cp c.txt i"}, "", 1, "only cp -r"},
		"sleep":                  {[]string{"-c", "sleep 0.001 && sleep x"}, "", 1, `invalid time interval`},
		"syntax error":           {[]string{"-c", "echo 'a"}, "", 2, "quote"},
		"unknown option of bash": {[]string{"-O", "nonsense", "-c", "true"}, "", 2, "nonsense"},
		"no script":              {nil, "", 2, "-c only"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			code := ShellCommand(t.Context(), tc.args, strings.NewReader(""), &out, &errOut)
			if out.String() != tc.out || code != tc.code || !strings.Contains(errOut.String(), tc.err) {
				t.Errorf("%q, code %d, stderr %q; want %q, code %d, stderr with %q", out.String(), code, errOut.String(), tc.out, tc.code, tc.err)
			}
		})
	}
}

func defaultVersionRelease() string {
	v, _ := rules.ParseVersion(DefaultVersion)
	return v.Release() + "\n"
}
