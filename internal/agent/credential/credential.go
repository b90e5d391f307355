// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential/cql"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

const (
	// interval is how often the order and the Secret are read.
	interval = 2 * time.Second
	// roundLimit is the time limit of one round: log-ins and settings.
	roundLimit = time.Minute
)

// Options of Run.
type Options struct {
	Mode credential.Mode
	// Secret is the folder of the mounted Secret, Dir the folder shared with the reporter.
	Secret, Dir string
	// ScyllaDB is the REST API of the Pod's node.
	ScyllaDB *scylla.Client
	Clock    clock.WithTicker
	Log      *slog.Logger
}

// NewCommand returns `credential`. Logs go to slog's default.
func NewCommand(limitMemory func()) *cobra.Command {
	o := Options{Clock: clock.RealClock{}}
	var mode, base string
	cmd := &cobra.Command{
		Use:   "credential",
		Short: "Verify or create the root credential, and apply the first settings (native sidecar)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Mode = credential.Mode(mode)
			if o.Mode != credential.Verify && o.Mode != credential.Managed {
				return exit.Usagef("unknown mode %q: use one of %s, %s", mode, credential.Verify, credential.Managed)
			}
			limitMemory()
			o.ScyllaDB, o.Log = scylla.NewClient(base, nil), slog.Default()
			return Run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&mode, "mode", string(credential.Verify),
		"verify: log in only; managed: create the role of the Secret, and close the default superuser")
	fs.StringVar(&o.Secret, "secret-dir", "/mnt/root-credential", "folder of the mounted Secret")
	fs.StringVar(&o.Dir, "dir", "/mnt/credential", "folder shared with the reporter, for the order and the result")
	fs.StringVar(&base, "scylla-api", scylla.DefaultBaseURL, "ScyllaDB's REST API")
	return cmd
}

// Run follows orders until ctx ends. It returns nil.
func Run(ctx context.Context, o Options) error {
	r := &runner{Options: o}
	defer o.ScyllaDB.CloseIdleConnections()
	if err := credential.Load(r.file(credential.ReportFile), &r.report); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Log.Warn("the last result is not readable: the first round starts without it", "error", err.Error())
	}
	if at := r.report.Credential.At; at != nil {
		r.next = at.Add(r.report.Wait())
		r.settle = r.next
	}
	ticker := o.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		r.step(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// runner is the state between two orders. Only the report must survive a restart.
type runner struct {
	Options
	report credential.Report
	// secret and datacenters are the inputs of the last round.
	secret      [3]string
	datacenters map[string]api.StatusReportViewDatacenter
	// next is when the log-ins are due, settle when the settings are; tries counts the attempts at
	// the settings.
	next, settle time.Time
	tries        int
}

func (r *runner) file(name string) string { return filepath.Join(r.Dir, name) }

// step follows the present order if a round is due. A round reads the state of the database first,
// so it continues after a crash at any point.
func (r *runner) step(ctx context.Context) {
	var order credential.Order
	now := r.Clock.Now()
	if err := credential.Load(r.file(credential.OrderFile), &order); err != nil || !order.Stands(now) {
		return
	}
	in := credential.Input{Mode: r.Mode}
	in.Secret, in.SecretReason = credential.ReadSecret(r.Secret)
	secret := [3]string{in.Secret.Username, in.Secret.Password.Reveal(), string(in.SecretReason)}
	login := !now.Before(r.next) || r.secret != [3]string{} && secret != r.secret
	moved := order.Quiet && !maps.Equal(order.Datacenters, r.datacenters)
	ready := order.Quiet && credential.Ready(r.report.Settings, order.Settings)
	if r.secret = secret; !login && !moved && !ready && now.Before(r.settle) {
		return
	}
	if r.datacenters = nil; order.Quiet {
		r.datacenters = order.Datacenters
	}
	bounded, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	last := r.report
	config, err := cql.Detect(bounded, r.ScyllaDB)
	in.Config = config
	switch db := (cql.Database{Config: config}); {
	case err != nil:
		r.Log.Info("the configuration of ScyllaDB is not read", "error", err.Error())
		r.report.Note(credential.Unreadable(r.Mode), now)
	default:
		if login {
			r.report.Note(credential.Round(bounded, db, in), now)
		}
		r.apply(bounded, db, in, order, now)
	}
	if ctx.Err() != nil { // cut short, which is no result
		r.report = last
		return
	}
	was, is := last.Credential, r.report.Credential
	if r.next = is.At.Add(r.report.Wait()); err != nil {
		r.settle = r.next
	}
	if is.Code != was.Code || is.Reason != was.Reason {
		r.Log.Info("root credential", "code", string(is.Code), "reason", string(is.Reason), "server", is.Server)
	}
	if err := credential.Write(r.file(credential.ReportFile), r.report); err != nil {
		r.Log.Warn("the result is not written, so that the reporter does not know it", "error", err.Error())
	}
}

// apply applies the first settings. It does not log in with a password that ScyllaDB has refused.
func (r *runner) apply(ctx context.Context, db cql.Database, in credential.Input, order credential.Order,
	now time.Time) {
	if credential.Refuses(&r.report.Credential) {
		in.SecretReason = credential.Incorrect
	}
	var before api.InitialSettings
	if r.report.Settings != nil {
		before = *r.report.Settings
	}
	known := credential.Merge(before, order.Settings)
	after := credential.Apply(ctx, db, in, known, &order.StatusReportViewCredential, now)
	if r.tries++; after.Hash != before.Hash {
		r.tries = 1
	}
	r.report.Settings, r.settle = &after, now.Add(credential.WaitSettings(&after, r.tries))
}
