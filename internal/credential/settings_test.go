// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

func simple(n string) map[string]string {
	return map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": n}
}

func network(pairs ...string) map[string]string {
	out := map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy"}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// counts are the racks and the nodes of each datacenter.
type counts = map[string][2]int32

func order(dcs counts, quiet bool) *api.StatusReportViewCredential {
	out := &api.StatusReportViewCredential{Datacenters: map[string]api.StatusReportViewDatacenter{}, Quiet: quiet}
	for dc, n := range dcs {
		out.Datacenters[dc] = api.StatusReportViewDatacenter{Racks: n[0], Nodes: n[1]}
	}
	return out
}

func statementOf(i api.InitialSetting) string {
	if i.Wanted == nil {
		return ""
	}
	return Statement(i.Name, i.Wanted)
}

func TestPlan(t *testing.T) {
	one := counts{"dc1": {1, 1}}
	three := counts{"dc1": {3, 3}}
	two := counts{"dc1": {3, 6}, "dc2": {2, 2}}
	ours := []string{"NetworkTopologyStrategy dc1=1"}
	tests := map[string]struct {
		now  map[string]string // of system_traces
		dcs  counts
		busy bool
		mode Mode
		ours []string
		want string // state, reason, statement
	}{
		"first node":                      {simple("2"), one, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '1'}"},
		"three racks":                     {simple("2"), three, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
		"two datacenters":                 {simple("2"), two, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': '2'}"},
		"printed only":                    {simple("2"), three, false, Verify, nil, "ToDo  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
		"a node is DOWN":                  {simple("2"), three, true, Managed, nil, "Waiting NotQuiet "},
		"raised":                          {network("dc1", "1"), three, false, Managed, ours, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
		"new datacenter":                  {network("dc1", "1"), two, false, Managed, ours, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': '2'}"},
		"reached":                         {network("dc1", "3"), three, false, Managed, ours, "Applied  "},
		"reached, a node is DOWN":         {network("dc1", "3"), three, true, Managed, nil, "Applied  "},
		"never lowered":                   {network("dc1", "3"), one, false, Managed, nil, "Applied  "},
		"altered by somebody":             {network("dc1", "2"), three, false, Managed, ours, "Foreign  "},
		"SimpleStrategy of somebody":      {simple("1"), three, false, Managed, nil, "Foreign  "},
		"local strategy of somebody":      {map[string]string{"class": "LocalStrategy"}, three, false, Managed, ours, "Foreign  "},
		"one rack with many nodes":        {simple("2"), counts{"dc1": {1, 6}}, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
		"datacenter without token owners": {simple("2"), counts{"dc1": {1, 1}, "arbiter": {0, 0}}, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '1'}"},
		"datacenter is gone":              {network("dc1", "1", "old", "1"), three, false, Managed, []string{"NetworkTopologyStrategy dc1=1 old=1"}, "Waiting DatacenterGone "},
		"name with a quote":               {simple("2"), counts{"d'c": {1, 1}}, false, Managed, nil, "Due  ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'd''c': '1'}"},
		"nothing known of the nodes":      {simple("2"), nil, false, Managed, nil, "Waiting NotQuiet "},
		"no token owner":                  {simple("2"), counts{"dc1": {0, 0}}, false, Managed, nil, "Waiting NotQuiet "},
		"not readable":                    {nil, three, false, Managed, nil, "Waiting Unreachable ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := map[string]map[string]string{}
			if tc.now != nil {
				now["system_traces"] = tc.now
			}
			items := Plan(now, order(tc.dcs, !tc.busy), []api.InitialSetting{{Name: "system_traces", Ours: tc.ours}}, tc.mode)
			i := items[1]
			if got := strings.Join([]string{string(i.State), string(i.Reason), statementOf(i)}, " "); got != tc.want || i.Name != "system_traces" {
				t.Errorf("%s: %q\nwant %q", i.Name, got, tc.want)
			}
		})
	}
	// Six nodes on two racks: SimpleStrategy's three replicas would become two.
	if i := Plan(map[string]map[string]string{"system_distributed": simple("3")}, order(counts{"dc1": {2, 6}}, true), nil, Managed)[0]; i.State != Waiting || i.Reason != WouldLower {
		t.Errorf("fewer replicas than before: %+v", i)
	}
}

func managedInput(c *cql.Cluster) (Database, Input) {
	c.Join()
	m := memory{c: c, step: func(effect func() *cql.Error) error { return refusal(effect()) }}
	return m, Input{Mode: Managed, Config: Config{Authenticator: password}, Secret: defaultSecret}
}

// A datacenter grows rack by rack, and a second one joins: the factors follow, and the repair is due once there was a second node.
func TestSettingsFollowGrowth(t *testing.T) {
	c := cql.New(cql.Options{Release: "2026.1.0", Datacenters: []string{"dc1", "dc2"}})
	db, in := managedInput(c)
	var s api.InitialSettings
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	step := func(want string, repair bool, t1 *api.StatusReportViewCredential) {
		t.Helper()
		at = at.Add(time.Hour)
		before := s
		for range 2 { // the first result is what the status has before the second
			stored := s
			t1.Settings = &stored
			s = Apply(t.Context(), db, in, s, t1, at)
		}
		for _, k := range Keyspaces() {
			if got := replication(c.Replication(k)); got != want {
				t.Errorf("%s has %q, want %q", k, got, want)
			}
		}
		due := s.Items[0].RepairDue
		if due != s.Items[1].RepairDue || due != repair || (s.AppliedAt.Time.Equal(at)) != (s.Hash != before.Hash) {
			t.Errorf("repair due: %v, applied at %s: %+v", due, s.AppliedAt, s)
		}
	}
	grown := func(quiet bool, racks, racks2 int32) *api.StatusReportViewCredential {
		dcs := counts{"dc1": {racks, racks}}
		if racks2 > 0 {
			dcs["dc2"] = [2]int32{racks2, racks2}
		}
		return order(dcs, quiet)
	}
	step("NetworkTopologyStrategy dc1=1", false, grown(true, 1, 0))
	step("NetworkTopologyStrategy dc1=1", false, grown(true, 1, 0))
	step("NetworkTopologyStrategy dc1=2", true, grown(true, 2, 0))
	step("NetworkTopologyStrategy dc1=3", true, grown(true, 3, 0))
	step("NetworkTopologyStrategy dc1=3", true, grown(true, 5, 0))
	step("NetworkTopologyStrategy dc1=3 dc2=1", true, grown(true, 5, 1))
	step("NetworkTopologyStrategy dc1=3 dc2=3", true, grown(true, 5, 3))
	step("NetworkTopologyStrategy dc1=3 dc2=3", true, grown(true, 1, 1))
	if n := len(c.Statements()); n != 10 {
		t.Errorf("%d statements: %v", n, c.Statements())
	}
}

// What a crash after storing and altering leaves is ours; what the status does not have is not altered.
func TestSettingsSurviveACrash(t *testing.T) {
	c := cql.New(cql.Options{Release: "2026.1.0", Datacenters: []string{"dc1"}})
	db, in := managedInput(c)
	first, second := order(counts{"dc1": {1, 1}}, true), order(counts{"dc1": {2, 2}}, true)
	status := Apply(t.Context(), db, in, api.InitialSettings{}, first, time.Time{})
	if again := Apply(t.Context(), db, in, status, first, time.Time{}); len(c.Statements()) != 0 || again.Items[0].State != Due || Ready(&again, nil) || !Ready(&again, &status) {
		t.Errorf("altered before it is stored: %v, %+v", c.Statements(), again)
	}
	first.Settings = &status
	Apply(t.Context(), db, in, status, first, time.Time{}) // its result is lost
	if len(c.Statements()) != 2 {
		t.Errorf("stored, and not altered: %v", c.Statements())
	}
	second.Settings = &status
	next := Apply(t.Context(), db, in, status, second, time.Time{})
	if len(c.Statements()) != 2 || next.Items[0].State != Due {
		t.Errorf("altered before it is stored: %v, %+v", c.Statements(), next)
	}
	second.Settings = &next
	for _, i := range Apply(t.Context(), db, in, next, second, time.Time{}).Items {
		if i.State != Applied || i.Replication != "NetworkTopologyStrategy dc1=2" {
			t.Errorf("%+v", i)
		}
	}
}

func TestSettingsWithoutSecret(t *testing.T) {
	for release, want := range map[string]api.InitialSettingState{"2026.1.0": ToDo, "2026.2.0": ToDo} {
		c := cql.New(cql.Options{Release: release, Datacenters: []string{"dc1"}})
		db, in := managedInput(c)
		in.SecretReason, in.Secret = SecretAbsent, Secret{}
		s := Apply(t.Context(), db, in, api.InitialSettings{}, order(counts{"dc1": {1, 1}}, true), time.Time{})
		if len(c.Statements()) != 0 || s.Items[0].State != want || s.Items[0].Wanted == nil {
			t.Errorf("%s: %v, %+v", release, c.Statements(), s)
		}
	}
	c := cql.New(cql.Options{Release: "2026.1.0"})
	db, in := managedInput(c)
	in.Secret.Password = PasswordOf("another")
	if s := Apply(t.Context(), db, in, api.InitialSettings{}, order(nil, false), time.Time{}); s.Items[0].State != Waiting || len(c.Statements()) != 0 {
		t.Errorf("%+v", s)
	}
}

// Whatever happens to the topology, a factor is never lowered, nothing runs while a node is DOWN, and what somebody else set stays.
func TestSettingsNeverLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dcs := []string{"dc1", "dc2"}
		c := cql.New(cql.Options{Release: "2026.2.0", Datacenters: dcs})
		c.Join()
		c.SetRole("cassandra", cql.Role{Superuser: true, CanLogIn: true, Hash: cql.Hash("cassandra")})
		foreign := map[string]bool{}
		m := memory{c: c, step: func(effect func() *cql.Error) error {
			switch rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0:
				return &Failure{Reason: TimedOut, Server: -1}
			case 1:
				effect()
				return &Failure{Reason: TimedOut, Server: -1}
			}
			return refusal(effect())
		}}
		in := Input{Mode: Managed, Config: Config{Authenticator: password}, Secret: defaultSecret}
		var status, local api.InitialSettings // what the controller has stored, and the container's file
		nodes := map[string]int32{}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			topo := order(counts{}, rapid.Bool().Draw(t, "quiet"))
			for _, dc := range dcs {
				racks := rapid.Int32Range(0, 4).Draw(t, dc)
				nodes[dc] = racks * rapid.Int32Range(1, 2).Draw(t, dc+"'s nodes in a rack")
				topo.Datacenters[dc] = api.StatusReportViewDatacenter{Racks: racks, Nodes: nodes[dc]}
			}
			if rapid.IntRange(0, 5).Draw(t, "somebody") == 0 {
				k := rapid.SampledFrom(Keyspaces()).Draw(t, "keyspace")
				c.SetReplication(k, network("dc1", "7"))
				foreign[k] = true
			}
			was := map[string]map[string]string{}
			for _, k := range Keyspaces() {
				was[k] = c.Replication(k)
			}
			statements := len(c.Statements())
			for _, i := range Plan(was, topo, Merge(local, &status).Items, Managed) {
				if i.State == Foreign && !foreign[i.Name] {
					t.Fatalf("what this container set counts as somebody else's: %+v", i)
				}
			}
			topo.Settings = &status
			s := Apply(t.Context(), m, in, Merge(local, &status), topo, time.Time{})
			if local = s; rapid.Bool().Draw(t, "stored") {
				status = Merge(local, &status)
			}
			if rapid.Bool().Draw(t, "recreated") {
				local = api.InitialSettings{}
			}
			if !topo.Quiet && len(c.Statements()) > statements {
				t.Fatalf("altered while a node is DOWN: %v", c.Statements())
			}
			for _, k := range Keyspaces() {
				compare(t, k, was[k], c.Replication(k), topo, foreign[k])
			}
		}
	})
}

func compare(t *rapid.T, keyspace string, was, now map[string]string, topo *api.StatusReportViewCredential, foreign bool) {
	if cmp.Equal(was, now) {
		return
	}
	if foreign {
		t.Fatalf("%s was set by somebody else, and altered: %v, then %v", keyspace, was, now)
	}
	total, nodes := 0, 0
	for dc := range topo.Datacenters {
		a, _ := strconv.Atoi(was[dc])
		b, _ := strconv.Atoi(now[dc])
		if b < a || b > 3 {
			t.Fatalf("%s in %s: from %d to %d", keyspace, dc, a, b)
		}
		total, nodes = total+b, nodes+int(topo.Datacenters[dc].Nodes)
	}
	if n, _ := strconv.Atoi(was["replication_factor"]); total < min(n, nodes) {
		t.Fatalf("%s had %d replicas, and has %d: %v", keyspace, min(n, nodes), total, now)
	}
	if class(now["class"]) != "NetworkTopologyStrategy" || len(now) == 1 {
		t.Fatalf("%s: %v", keyspace, now)
	}
}
