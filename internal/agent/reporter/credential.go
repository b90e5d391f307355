// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

// credential writes the order of a fresh view for the container of the credential, and returns the
// container's result; nil before the first one. The result has no password.
func (r *reporter) credential() *api.CredentialReport {
	if r.CredentialDir == "" {
		return nil
	}
	name := filepath.Join(r.CredentialDir, credential.OrderFile)
	told := r.relay.named(r.Pod)
	var err error
	if told == nil {
		err = os.Remove(name)
	} else {
		err = credential.Write(name, credential.Order{At: r.Clock.Now(), StatusReportViewCredential: *told})
	}
	r.noteOrder(err)
	out := &api.CredentialReport{}
	if err := credential.Load(filepath.Join(r.CredentialDir, credential.ReportFile), out); err != nil {
		return nil
	}
	return out
}

// noteOrder logs the first failure of a series.
func (r *reporter) noteOrder(err error) {
	failed := err != nil && !errors.Is(err, fs.ErrNotExist)
	if failed && !r.orderFailed {
		r.Log.Warn("the order to the container of the credential is not written", "error", err.Error())
	}
	r.orderFailed = failed
}

// named returns the order of a fresh view for a member; nil if the view names another one. The
// caller must not change it.
func (r *relay) named(member string) *api.StatusReportViewCredential {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.fresh(); !known {
		return nil
	}
	if c := r.views.Latest().Credential; c != nil && c.Member == member {
		return c
	}
	return nil
}
