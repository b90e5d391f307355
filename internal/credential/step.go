// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Config is the part of the node's configuration that concerns CQL clients.
type Config struct {
	Authenticator string
	// Superuser is auth_superuser_name, empty if it is not set.
	Superuser string
	// Socket is the path of the maintenance socket, empty if the node does not open it.
	Socket string
	// SocketRoles is true from 2026.2 on: the maintenance socket creates and reads roles.
	SocketRoles bool
	// Addresses are tried in order.
	Addresses []Address
	// ClientCertificate is true if CQL requires a certificate of the client.
	ClientCertificate bool
}

// Address is a TCP address of the node's CQL port.
type Address struct {
	HostPort string
	TLS      bool
}

// Answer is the result of one step. The zero value means that the step was not taken.
type Answer uint8

// Values of Answer.
const (
	NotAsked Answer = iota
	Yes
	// No is definite: ScyllaDB refused the log-in, has no such role, or already has it.
	No
	// NoLogin is the correct password of a role with LOGIN = false.
	NoLogin
	// Unclear is every other failure; Facts.Failure has its cause.
	Unclear
)

// Facts are the results of a round's steps, the only input of Next. A round starts without any, so
// that it finds the state after a crash.
type Facts struct {
	Mode   Mode
	Config Config
	// SecretReason is why the Secret is not usable, empty if it is.
	SecretReason Reason
	// SecretIsDefault is true if the Secret names the default superuser.
	SecretIsDefault bool

	// Own and Default are the log-ins of the Secret's role, and of the default superuser with its
	// default password.
	Own, Default Answer
	// Superuser is true if the Secret's role has logged in and is a superuser.
	Superuser bool
	// Configured: the role of the configuration was read, and is a superuser that can log in.
	// Created, Closed: the change took effect.
	Configured, Created, Closed Answer
	// Failure is the cause of the Unclear answer.
	Failure *Failure
}

// Action is the next step.
type Action uint8

// Values of Action.
const (
	Stop Action = iota
	LogIn
	LogInDefault
	ReadConfigured
	CreateAsDefault
	CreateOnSocket
	CloseDefault
)

// Verdict ends a round.
type Verdict struct {
	Code    Code
	Reason  Reason
	Failure *Failure
}

func stop(code Code, reason Reason) (Action, Verdict) {
	return Stop, Verdict{Code: code, Reason: reason}
}

func do(a Action) (Action, Verdict) { return a, Verdict{} }

var (
	// withPasswords are the authenticators whose roles have passwords in ScyllaDB. The second one
	// exists from 2026.4 on.
	withPasswords = []string{"PasswordAuthenticator", "CertificateOrPasswordAuthenticator"}
	// otherwise are those that do not use the default superuser, or accept every client.
	otherwise = []string{
		"AllowAllAuthenticator", "TransitionalAuthenticator", "CertificateAuthenticator", "SaslauthdAuthenticator",
	}
)

// class is the name of a class without its package.
func class(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Applies reports whether the authenticator has roles with passwords in ScyllaDB. The default mode
// is then verify.
func (c Config) Applies() bool { return slices.Contains(withPasswords, class(c.Authenticator)) }

// Next returns the next step, or Stop with the verdict. Both log-ins are known before any change.
// The role is created only if its log-in was refused and no such role exists. The default superuser
// is closed only after the Secret's role has logged in as a superuser in the same round, so that
// one of the two can log in at every moment. The log-in of the Secret's role is the later one:
// another container may have created the role and closed the default superuser in between.
func Next(f Facts) (Action, Verdict) {
	switch {
	case slices.Contains(otherwise, class(f.Config.Authenticator)):
		return stop(NotApplicable, "")
	case !f.Config.Applies():
		return stop(Unknown, Authenticator)
	case f.Config.ClientCertificate:
		return stop(Unknown, ClientCertificate)
	case f.Failure != nil && (f.Created == Unclear || f.Closed == Unclear):
		return Stop, Verdict{Pending, f.Failure.Reason, f.Failure}
	case f.Failure != nil:
		return Stop, Verdict{Unknown, f.Failure.Reason, f.Failure}
	case f.Default == NotAsked:
		return do(LogInDefault)
	case f.SecretReason == "" && f.Own == NotAsked:
		return do(LogIn)
	case f.Own == Yes:
		return f.loggedIn()
	case f.SecretReason == "":
		return f.refused()
	}
	return f.withoutSecret()
}

// changes reports whether this round may change roles.
func (f Facts) changes() bool { return f.Mode == Managed && f.Config.Superuser == "" }

func (f Facts) loggedIn() (Action, Verdict) {
	switch {
	case f.Default != Yes && !f.Superuser:
		return stop(Missing, RoleNotSuperuser)
	case f.Default != Yes && f.Config.Superuser != "" && f.Configured == NotAsked:
		return do(ReadConfigured)
	case f.Default != Yes && f.Configured == Yes:
		return stop(ByConfiguration, "")
	case f.Default != Yes:
		return stop(Verified, "")
	case !f.changes():
		return stop(DefaultSuperuserOpen, "")
	case f.SecretIsDefault:
		return stop(DefaultSuperuserOpen, SecretIsDefault)
	case !f.Superuser:
		return stop(DefaultSuperuserOpen, RoleNotSuperuser)
	case f.Closed != NotAsked:
		return stop(DefaultSuperuserOpen, NotYetEffective)
	}
	return do(CloseDefault)
}

// refused returns the step after ScyllaDB has refused the Secret's role. An existing role is never
// altered.
func (f Facts) refused() (Action, Verdict) {
	switch {
	case f.Own == NoLogin:
		return stop(WrongPassword, RoleCannotLogIn)
	case f.Created == Yes:
		return stop(Pending, RoleNotVisible)
	case f.Created != NotAsked, !f.changes():
		return stop(WrongPassword, "")
	case f.Default == Yes:
		return do(CreateAsDefault)
	case !f.Config.SocketRoles:
		return stop(WrongPassword, "")
	case f.Config.Socket == "":
		return stop(Pending, SocketClosed)
	}
	return do(CreateOnSocket)
}

func (f Facts) withoutSecret() (Action, Verdict) {
	switch {
	case f.changes(), f.SecretReason == SecretInvalid:
		return stop(Missing, f.SecretReason)
	case f.Default == Yes:
		return stop(DefaultSuperuserOpen, "")
	case f.Config.Superuser == "":
		return stop(Verified, "")
	case f.Config.Socket == "":
		return stop(Unknown, SocketClosed)
	case f.Configured == NotAsked:
		return do(ReadConfigured)
	case f.Configured != Yes:
		return stop(Pending, RoleAbsent)
	}
	return stop(ByConfiguration, "")
}

// Outcome is the result of a step, with its details.
type Outcome struct {
	Answer    Answer
	Superuser bool
	Failure   *Failure
}

// After adds the outcome of a step. After a change, the log-in that shows its effect is due; after
// a refused one, both are, because another container may have acted.
func (f Facts) After(a Action, o Outcome) Facts {
	if f.Failure = nil; o.Answer == Unclear {
		f.Failure = o.Failure
	}
	switch a {
	case LogIn:
		f.Own, f.Superuser = o.Answer, o.Superuser
	case LogInDefault:
		f.Default = o.Answer
	case ReadConfigured:
		f.Configured = o.Answer
	case CreateAsDefault, CreateOnSocket:
		if f.Created = o.Answer; o.Answer != Unclear {
			f.Own = NotAsked
		}
	case CloseDefault:
		if f.Closed = o.Answer; o.Answer == Yes {
			f.Default = NotAsked
		}
	}
	if refused := o.Answer == No || o.Answer == NoLogin; refused && (a == CreateAsDefault || a == CloseDefault) {
		f.Own, f.Default = NotAsked, NotAsked
	}
	return f
}

// result returns the verdict and the log-in of the default superuser.
func (f Facts) result(v Verdict) api.RootCredential {
	r := api.RootCredential{Mode: f.Mode, Code: v.Code, Reason: v.Reason, Default: DefaultUnknown}
	if v.Failure != nil && v.Failure.Server >= 0 {
		r.Server = fmt.Sprintf("0x%04x", v.Failure.Server)
	}
	switch f.Default {
	case Yes:
		r.Default = DefaultOpen
	case No, NoLogin:
		r.Default = DefaultClosed
	}
	return Worst(r)
}
