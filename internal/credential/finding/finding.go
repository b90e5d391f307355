// SPDX-License-Identifier: Apache-2.0

// Package finding turns the root credential and the first settings in a report into messages of
// package words. It decides nothing.
package finding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var codes = map[credential.Code]words.Code{
	credential.Verified: words.RootVerified, credential.ByConfiguration: words.RootByConfig,
	credential.NotApplicable:        words.RootNotApplicable,
	credential.DefaultSuperuserOpen: words.RootDefaultOpen, credential.Missing: words.RootMissing,
	credential.WrongPassword: words.RootWrongPassword,
	credential.Pending:       words.RootPending,
}

var reasons = map[credential.Reason]words.Code{
	credential.SecretAbsent: words.RootSecretAbsent, credential.SecretInvalid: words.RootSecretInvalid,
	credential.SecretIsDefault: words.RootSecretIsDefault, credential.RoleNotSuperuser: words.RootRoleNotSuperuser,
	credential.RoleCannotLogIn: words.RootRoleCannotLogIn, credential.RoleNotVisible: words.RootRoleNotVisible,
	credential.RoleAbsent: words.RootRoleAbsent, credential.NotYetEffective: words.RootNotYetEffective,
	credential.SocketClosed: words.RootSocketClosed, credential.ManagerNotReady: words.RootManagerNotReady,
	credential.Incorrect: words.RootIncorrect, credential.Refused: words.RootRefused,
	credential.Unreachable: words.RootUnreachable,
	credential.TimedOut:    words.RootTimedOut, credential.TLSFailed: words.RootTLSFailed,
	credential.NotLocal:          words.RootNotLocal,
	credential.ClientCertificate: words.RootClientCertificate, credential.Authenticator: words.RootAuthenticator,
	credential.ConfigUnreadable: words.RootConfigUnreadable, credential.NotQuiet: words.RootNotQuiet,
	credential.WouldLower: words.RootWouldLower, credential.DatacenterGone: words.RootDatacenterGone,
}

// Of returns the state of a cluster's root credential: False if a person must act. ok is false
// before the first result.
func Of(r *api.ScyllaDBStatusReport) (status metav1.ConditionStatus, m words.Message, ok bool) {
	c := r.Status.RootCredential
	if c == nil || c.Code == "" {
		return "", words.Message{}, false
	}
	code, known := codes[c.Code]
	if !known {
		code = words.RootUnknown
	}
	secret := api.RootCredentialSecret(r.Name)
	m = words.Message{Code: code,
		Params: words.Params{"member": c.Member, "secret": secret, "reason": reason(c.Reason, secret),
			"server": c.Server}}
	if code == words.RootDefaultOpen && c.Mode != credential.Managed {
		m = m.Do(words.Scylla(r.Namespace, "inject", r.Name, "--root-credential=managed"))
	}
	return credential.Status(c.Code), m, true
}

func reason(code credential.Reason, secret string) any {
	if code == "" {
		return ""
	}
	known, ok := reasons[code]
	if !ok {
		return string(code) // of a newer container
	}
	return words.Message{Code: known, Params: words.Params{"secret": secret}}
}

// Settings returns a message for each first setting that is not applied, and for a repair that is
// due.
func Settings(r *api.ScyllaDBStatusReport) []words.Message {
	s := r.Status.InitialSettings
	if s == nil {
		return nil
	}
	var out []words.Message
	var repair []string
	for _, i := range s.Items {
		if i.RepairDue {
			repair = append(repair, i.Name)
		}
		statement := ""
		if len(i.Wanted) > 0 {
			statement = credential.Statement(i.Name, i.Wanted)
		}
		params := words.Params{"keyspace": i.Name, "replication": i.Replication,
			"reason": reason(i.Reason, api.RootCredentialSecret(r.Name)), "statement": statement}
		code := map[api.InitialSettingState]words.Code{
			credential.ToDo: words.SettingToDo, credential.Foreign: words.SettingForeign,
			credential.Waiting: words.SettingWaits,
		}[i.State]
		if code != "" {
			out = append(out, words.Message{Code: code, Params: params})
		}
	}
	if len(repair) > 0 {
		set := "NAME"
		if o := r.OwnerReferences; len(o) > 0 {
			set = o[0].Name
		}
		done := words.Kubectl(r.Namespace, "annotate", "--overwrite", "statefulset", set, api.AnnotationRepaired+"="+
			s.Hash)
		out = append(out, words.New(words.RepairIsDue, "keyspaces", repair).Do(done))
	}
	return out
}
