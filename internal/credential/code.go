// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Mode is what the container does with the root credential.
type Mode = api.RootCredentialMode

// Values of Mode.
const (
	Off     Mode = api.CredentialOff
	Verify  Mode = "verify"
	Managed Mode = "managed"
)

// Code is the state of the root credential.
type Code = api.RootCredentialCode

// Values of Code. The condition RootCredential is True for the first three, False for the next
// three, Unknown for the rest.
const (
	Verified             Code = "Verified"
	ByConfiguration      Code = "ByConfiguration"
	NotApplicable        Code = "NotApplicable"
	DefaultSuperuserOpen Code = "DefaultSuperuserOpen"
	Missing              Code = "Missing"
	WrongPassword        Code = "WrongPassword"
	Pending              Code = "Pending"
	Unknown              Code = "Unknown"
)

// Status is the status of the condition.
func Status(c Code) metav1.ConditionStatus {
	switch c {
	case Verified, ByConfiguration, NotApplicable:
		return metav1.ConditionTrue
	case DefaultSuperuserOpen, Missing, WrongPassword:
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

// Reason is why a code is not a better one.
type Reason = api.RootCredentialReason

// Values of Reason.
const (
	SecretAbsent Reason = "SecretAbsent"
	// a key is empty, longer than 4 KiB, or has a control character
	SecretInvalid Reason = "SecretInvalid"
	// the default superuser cannot close its own log-in
	SecretIsDefault Reason = "SecretIsDefault"
	// the Secret's role logs in, and is not a superuser
	RoleNotSuperuser Reason = "RoleNotSuperuser"
	RoleCannotLogIn  Reason = "RoleCannotLogIn" // right password, LOGIN = false
	RoleNotVisible   Reason = "RoleNotVisible"  // created a moment ago, not yet in effect
	// auth_superuser_name is set, and no such superuser can log in
	RoleAbsent Reason = "RoleAbsent"
	// the default superuser was altered, and still logs in
	NotYetEffective Reason = "NotYetEffective"
	// needs the maintenance socket, which the node does not open
	SocketClosed    Reason = "SocketClosed"
	ManagerNotReady Reason = "ManagerNotReady" // the node has not joined yet
	Incorrect       Reason = "Incorrect"       // no such role, or another password
	Exists          Reason = "Exists"
	// ScyllaDB answered with an error; its number is with the reason
	Refused     Reason = "Refused"
	Unreachable Reason = "Unreachable"
	TimedOut    Reason = "TimedOut"
	TLSFailed   Reason = "TLSFailed"
	NotLocal    Reason = "NotLocal" // the CQL address leads out of the Pod
	// require_client_auth: the container has no certificate
	ClientCertificate Reason = "ClientCertificate"
	Authenticator     Reason = "Authenticator" // of unknown class
	ConfigUnreadable  Reason = "ConfigUnreadable"
)

// Failure is the error of every step: a reason, and the number of ScyllaDB's error. It has no text
// of ScyllaDB.
type Failure struct {
	Reason Reason
	// Server is the number of ScyllaDB's error, -1 if ScyllaDB did not answer.
	Server int
}

// Error is "Refused 0x2100", or only the reason.
func (f *Failure) Error() string {
	if f.Server < 0 {
		return string(f.Reason)
	}
	return fmt.Sprintf("%s 0x%04x", f.Reason, f.Server)
}

// Default is whether the default superuser logs in with its default password.
type Default = api.RootCredentialDefault

// Values of Default.
const (
	DefaultUnknown Default = "unknown"
	DefaultOpen    Default = "open"
	DefaultClosed  Default = "closed"
)

// Worst returns a result whose code names an open default superuser before a Secret that opens
// nothing. Containers of an earlier version reported the Secret.
func Worst(r api.RootCredential) api.RootCredential {
	if r.Default != DefaultOpen || r.Code != Missing && r.Code != WrongPassword {
		return r
	}
	if r.Code == WrongPassword && r.Reason == "" {
		r.Reason = Incorrect
	}
	r.Code = DefaultSuperuserOpen
	return r
}

// Refuses reports whether ScyllaDB has refused the log-in of the Secret's role.
func Refuses(r *api.RootCredential) bool {
	return r.Code == WrongPassword || r.Reason == Incorrect || r.Reason == RoleCannotLogIn
}

// Unreadable is the result if the configuration of the node is not readable.
func Unreadable(mode Mode) api.RootCredential {
	return api.RootCredential{Mode: mode, Code: Unknown, Reason: ConfigUnreadable, Default: DefaultUnknown}
}

const (
	daily   = 24 * time.Hour
	quick   = time.Minute
	slowed  = time.Hour
	longest = 10 * time.Minute
	first   = 10 * time.Second
	// mostWrong is how many rounds with a refused log-in run in quick succession. Each log-in is in
	// the audit log.
	mostWrong = 3
)

// Wait returns the time until the next round. The first good result is confirmed after a minute:
// 2025.1 opens CQL before the default superuser has its password, so one round can find its log-in
// closed (main.cc:2453 waits only for the role, auth/service.cc:272; from 2025.2 on also for the
// password). A new Secret starts a round at once.
func (r *Report) Wait() time.Duration {
	code := r.Credential.Code
	good, refuses := Status(code) == metav1.ConditionTrue, Refuses(&r.Credential) || code == Missing
	switch {
	case good && r.Rounds > 1, code == NotApplicable:
		return daily
	case refuses && r.Rounds >= mostWrong:
		return slowed
	case good, refuses:
		return quick
	}
	return backOff(r.Rounds)
}

// backOff returns the time until the next try; tries >= 0.
func backOff(tries int) time.Duration { return min(longest, first<<min(max(tries-1, 0), 10)) }
