// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

// memory is a Database without a network: the roles of the simulated ScyllaDB.
type memory struct {
	c *cql.Cluster
	// step is called at every step with its effect; it may fail or end the round.
	step func(effect func() *cql.Error) error
}

type memorySession struct {
	m    memory
	user cql.User
}

// refusal classifies as package cql below this one does. [the client's own tests are over the network]
func refusal(err *cql.Error) error {
	if err == nil {
		return nil
	}
	f := &Failure{Reason: Refused, Server: err.Code}
	for text, reason := range map[string]Reason{"password are incorrect": Incorrect, "is not permitted": RoleCannotLogIn, "already exists": Exists, "manager not ready": ManagerNotReady} {
		if strings.Contains(err.Text, text) {
			f.Reason = reason
		}
	}
	return f
}

func (m memory) Open(_ context.Context, as Login) (Session, error) {
	if as.Socket {
		return memorySession{m, cql.User{Socket: true}}, nil
	}
	err := m.step(func() *cql.Error { return m.c.LogIn(as.Secret.Username, as.Secret.Password.Reveal()) })
	return memorySession{m, cql.User{Name: as.Secret.Username}}, err
}

func (s memorySession) run(statement string) error {
	return s.m.step(func() *cql.Error { _, err := s.m.c.Do(s.user, statement); return err })
}

func (s memorySession) Role(_ context.Context, name string) (r Role, found bool, err error) {
	err = s.m.step(func() *cql.Error {
		rows, err := s.m.c.Do(s.user, "SELECT is_superuser, can_login FROM system.roles WHERE role = ?", name)
		if len(rows) == 1 {
			found, r = true, Role{rows[0][0].(bool), rows[0][1].(bool)}
		}
		return err
	})
	return r, found, err
}

func (s memorySession) Create(_ context.Context, as Secret) error {
	return s.run("CREATE ROLE " + Quote(as.Username) + " WITH PASSWORD = " + Quote(as.Password.Reveal()) + " AND SUPERUSER = true AND LOGIN = true")
}

func (s memorySession) CloseDefault(context.Context) error {
	return s.run("ALTER ROLE 'cassandra' WITH SUPERUSER = false AND LOGIN = false")
}

func (s memorySession) Replication(_ context.Context, keyspace string) (out map[string]string, err error) {
	err = s.m.step(func() *cql.Error {
		rows, err := s.m.c.Do(s.user, "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
		if len(rows) == 1 {
			out = rows[0][0].(map[string]string)
		}
		return err
	})
	return out, err
}

func (s memorySession) Alter(_ context.Context, statement string) error { return s.run(statement) }
func (memorySession) Close()                                            {}

// crash ends a round as SIGKILL does.
type crash struct{}

// world is a cluster as somebody left it, and the container's input.
type world struct {
	c        *cql.Cluster
	in       Input
	start    map[string]cql.Role
	joined   bool
	openable bool // the default superuser logs in with its default password, as a superuser
}

const ours, theirs = "theirOwn", "somebody"

func drawWorld(t *rapid.T) *world {
	young := rapid.Bool().Draw(t, "from 2026.2")
	releaseName := map[bool]string{false: "2026.1.0", true: "2026.2.0"}[young]
	w := &world{in: Input{Mode: rapid.SampledFrom([]Mode{Verify, Managed}).Draw(t, "mode"), Config: Config{Authenticator: password, SocketRoles: young}}}
	w.in.Config.Socket = rapid.SampledFrom([]string{"", "cql.m"}).Draw(t, "socket")
	o := cql.Options{Release: releaseName}
	if rapid.IntRange(0, 4).Draw(t, "configured") == 0 {
		o.Superuser, o.Salted, w.in.Config.Superuser = "root", cql.Hash("roots"), "root"
	}
	w.in.Secret = Secret{rapid.SampledFrom([]string{ours, ours, ours, theDefault, "root"}).Draw(t, "username"), PasswordOf("from the Secret")}
	w.in.SecretReason = rapid.SampledFrom([]Reason{"", "", "", SecretAbsent}).Draw(t, "Secret")
	w.c = cql.New(o)
	if w.joined = !young || rapid.Bool().Draw(t, "joined"); w.joined {
		w.c.Join()
	}
	role := func(name string) cql.Role {
		text := rapid.SampledFrom([]string{"cassandra", "from the Secret", "another"}).Draw(t, name+"'s password")
		return cql.Role{Superuser: rapid.Bool().Draw(t, name+" is a superuser"), CanLogIn: rapid.Bool().Draw(t, name+" can log in"), Hash: cql.Hash(text)}
	}
	for _, name := range []string{ours, theDefault, theirs, "root"} {
		if w.joined && rapid.IntRange(0, 2).Draw(t, name+" is set") == 0 {
			w.c.SetRole(name, role(name))
		}
	}
	w.start = w.c.Roles()
	w.openable = w.usable(defaultSecret)
	return w
}

// usable is whether a log-in works and is that of a superuser.
func (w *world) usable(s Secret) bool {
	r := w.c.Roles()[s.Username]
	return r.Superuser && r.CanLogIn && r.Matches(s.Password.Reveal())
}

// check holds at every moment.
func (w *world) check(t *rapid.T) {
	now := w.c.Roles()
	if w.openable && !w.usable(defaultSecret) && !w.usable(w.in.Secret) {
		t.Fatalf("locked out: neither the default superuser nor the Secret's role logs in: %v", now)
	}
	may := w.in.Mode == Managed && w.in.Config.Superuser == "" && w.in.SecretReason == ""
	for name, r := range now {
		was, existed := w.start[name]
		closed := was
		closed.Superuser, closed.CanLogIn = false, false
		switch {
		case cmp.Equal(r, was):
		case may && name == theDefault && existed && cmp.Equal(r, closed):
		case may && !existed && name == w.in.Secret.Username && w.usable(w.in.Secret):
		default:
			t.Fatalf("role %s was changed from %+v to %+v", name, was, r)
		}
	}
	for name := range w.start {
		if _, ok := now[name]; !ok {
			t.Fatalf("role %s is gone", name)
		}
	}
}

// Another container acts at any moment of a round: the result is true, or pending for one round.
func TestTwoContainersAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if !w.joined {
			w.c.Join()
			w.start = merged(w.start, w.c.Roles())
		}
		steps, at := 0, rapid.IntRange(1, 8).Draw(t, "the other one acts before step")
		quiet := memory{c: w.c, step: func(effect func() *cql.Error) error { return refusal(effect()) }}
		r := Round(t.Context(), memory{c: w.c, step: func(effect func() *cql.Error) error {
			if steps++; steps > 50 {
				t.Fatal("a round without an end")
			}
			if steps == at {
				Round(t.Context(), quiet, w.in)
			}
			err := effect()
			w.check(t)
			return refusal(err)
		}}, w.in)
		if r.Code == Pending {
			r = Round(t.Context(), quiet, w.in)
		}
		w.judge(t, r)
	})
}

// round runs until Next stops or a crash; ended is false then.
func (w *world) round(t *rapid.T, faults bool) (r api.RootCredential, ended bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
		}
	}()
	steps := 0
	m := memory{c: w.c, step: func(effect func() *cql.Error) error {
		if steps++; steps > 50 {
			t.Fatal("a round without an end")
		}
		fate := "none"
		if faults {
			fate = rapid.SampledFrom([]string{"none", "none", "none", "lost before", "lost after", "crash before", "crash after"}).Draw(t, "fate")
		}
		var err *cql.Error
		if !strings.HasSuffix(fate, "before") {
			err = effect()
			w.check(t)
		}
		switch {
		case strings.HasPrefix(fate, "crash"):
			panic(crash{})
		case fate != "none":
			return &Failure{Reason: TimedOut, Server: -1}
		}
		return refusal(err)
	}}
	return Round(t.Context(), m, w.in), true
}

// From any state, with failures and crashes at any step, the rounds end in a state that is true of the cluster, lock nobody out and alter no role of somebody else.
func TestRoundsEndWell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(0, 4).Draw(t, "disturbed rounds") {
			w.round(t, true)
		}
		if !w.joined {
			w.c.Join()
			w.start = merged(w.start, w.c.Roles())
		}
		r, _ := w.round(t, false)
		if again, _ := w.round(t, false); !cmp.Equal(r, again) {
			t.Fatalf("a second round differs: %+v, then %+v", r, again)
		}
		w.judge(t, r)
	})
}

// merged adds the roles that ScyllaDB created meanwhile.
func merged(start, now map[string]cql.Role) map[string]cql.Role {
	for name, r := range now {
		if _, ok := start[name]; !ok && name == "root" {
			start[name] = r
		}
	}
	return start
}

// judge compares a result with the cluster.
func (w *world) judge(t *rapid.T, r api.RootCredential) {
	roles := w.c.Roles()
	opens := roles[theDefault].CanLogIn && roles[theDefault].Matches(theDefault)
	own := w.in.SecretReason == "" && roles[w.in.Secret.Username].CanLogIn && roles[w.in.Secret.Username].Matches(w.in.Secret.Password.Reveal())
	truth := map[Code]bool{
		Verified:             !opens && (w.in.SecretReason != "" || w.usable(w.in.Secret)),
		ByConfiguration:      !opens && roles[w.in.Config.Superuser].Superuser && roles[w.in.Config.Superuser].CanLogIn,
		DefaultSuperuserOpen: opens,
		WrongPassword:        w.in.SecretReason == "" && !own,
		Missing:              w.in.SecretReason != "" || own && !w.usable(w.in.Secret),
		Pending:              r.Reason == SocketClosed || r.Reason == RoleAbsent || r.Reason == Refused && opens && !w.openable,
		Unknown:              r.Reason == SocketClosed,
	}
	if !truth[r.Code] {
		t.Fatalf("%+v is not true of %v", r, roles)
	}
	if (r.Default == DefaultOpen) != opens && r.Default != DefaultUnknown {
		t.Fatalf("the default superuser is %s, and logs in: %t", r.Default, opens)
	}
	if opens && (r.Code == Missing || r.Code == WrongPassword) {
		t.Fatalf("%+v, although the default superuser is open", r)
	}
	_, existed := w.start[w.in.Secret.Username]
	manages := w.in.Mode == Managed && w.in.Config.Superuser == "" && w.in.SecretReason == ""
	way := w.openable || !opens && w.in.Config.SocketRoles && w.in.Config.Socket != ""
	if manages && !existed && way && r.Code != Verified {
		t.Fatalf("%+v, although nothing was in the way: %v", r, roles)
	}
}
