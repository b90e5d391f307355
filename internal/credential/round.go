// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Login is how a session is opened: as a role over CQL, or through the maintenance socket, which
// requires no role.
type Login struct {
	Secret Secret
	Socket bool
}

// Role is a role without its password.
type Role struct{ Superuser, CanLogIn bool }

// Database opens sessions with one node. Its errors, and the errors of a Session, are *Failure.
type Database interface {
	Open(ctx context.Context, as Login) (Session, error)
}

// Session is a logged-in connection.
type Session interface {
	// Role reads a role; found is false if it does not exist.
	Role(ctx context.Context, name string) (r Role, found bool, err error)
	// Create creates a superuser that can log in. An existing role stays unchanged, with failure
	// Exists.
	Create(ctx context.Context, s Secret) error
	// CloseDefault removes SUPERUSER and LOGIN from the default superuser.
	CloseDefault(ctx context.Context) error
	// Replication reads the replication of a keyspace as ScyllaDB stores it.
	Replication(ctx context.Context, keyspace string) (map[string]string, error)
	// Alter runs an ALTER KEYSPACE.
	Alter(ctx context.Context, statement string) error
	Close()
}

// Input is the input of a round.
type Input struct {
	Mode         Mode
	Config       Config
	Secret       Secret
	SecretReason Reason
}

// Round takes the steps of Next until it stops. Report.Note dates the result.
func Round(ctx context.Context, db Database, in Input) api.RootCredential {
	f := Facts{Mode: in.Mode, Config: in.Config, SecretReason: in.SecretReason}
	f.SecretIsDefault = in.Secret.Username == theDefault
	for {
		a, v := Next(f)
		if a == Stop {
			return f.result(v)
		}
		f = f.After(a, perform(ctx, db, in, a))
	}
}

// perform takes one step in a session of its own.
func perform(ctx context.Context, db Database, in Input, a Action) (o Outcome) {
	as := Login{Secret: in.Secret}
	switch a {
	case LogInDefault, CreateAsDefault:
		as = Login{Secret: defaultSecret}
	case CreateOnSocket:
		as = Login{Socket: true}
	case ReadConfigured: // as the role of the Secret, which is then a superuser
		as.Socket = in.SecretReason != ""
	}
	s, err := db.Open(ctx, as)
	if err != nil {
		return outcome(err)
	}
	defer s.Close()
	switch a {
	case LogIn:
		r, found, err := s.Role(ctx, in.Secret.Username)
		if o = outcome(err); o.Failure != nil && o.Failure.Server == unauthorized {
			return Outcome{Answer: Yes} // it logs in, and cannot read roles: a superuser can
		}
		o.Superuser = found && r.Superuser
		return o
	case ReadConfigured:
		r, found, err := s.Role(ctx, in.Config.Superuser)
		if o = outcome(err); err == nil && (!found || !r.Superuser || !r.CanLogIn) {
			o.Answer = No
		}
		return o
	case CreateAsDefault, CreateOnSocket:
		return outcome(s.Create(ctx, in.Secret))
	case CloseDefault:
		return outcome(s.CloseDefault(ctx))
	}
	return Outcome{Answer: Yes}
}

// unauthorized is CQL's error for a role without the permission (exceptions/exceptions.hh:43).
const unauthorized = 0x2100

func outcome(err error) Outcome {
	if err == nil {
		return Outcome{Answer: Yes}
	}
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = &Failure{Reason: Unreachable, Server: -1}
	}
	switch f.Reason {
	case Incorrect, Exists:
		return Outcome{Answer: No}
	case RoleCannotLogIn:
		return Outcome{Answer: NoLogin}
	}
	return Outcome{Answer: Unclear, Failure: f}
}
