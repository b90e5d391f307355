// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// AddFlags adds the flags of the barrier with their defaults. parse sets the options from them;
// usage errors name the flag. The launcher reads the flags of its Pod's barrier in the same way.
func AddFlags(fs *pflag.FlagSet, o *Options) (parse func() error) {
	var gates, address, policy string
	var stabilisation time.Duration
	fs.StringVar(&o.Service, "service-name", "", "name of the member Service (default: the Pod's name)")
	fs.StringVar(&o.Cluster, "selector-label-value", "",
		"value of the label that selects the reports (default: the Service's label "+api.LabelCluster+")")
	fs.StringVar(&o.QueryFile, "query-file", api.FileBootstrappedQuery,
		"output file of the query container; its exit code is in the file with the suffix .code")
	fs.StringVar(&o.DataDir, "scylla-data-dir", disk.DefaultDir,
		"working directory or data directory of ScyllaDB, read if it is mounted")
	fs.StringVar(&o.PVC, "pvc-name", "", "name of the member's PVC, for messages")
	fs.StringVar(&o.Image, "scylla-image", "", "image of the query container; its tag contains the version")
	fs.StringVar(&o.Version, "scylla-version", "", "version of ScyllaDB in the query container; overrides the image")
	fs.StringVar(&o.LeaseNamespace, "lease-namespace", DefaultLeaseNamespace, "namespace of the controller's Lease")
	fs.StringVar(&o.TerminationLog, "termination-log", "/dev/termination-log",
		"file for the reason of a refusal, written only if it exists")
	fs.BoolVar(&o.AllowNonReporting, "single-report-allow-non-reporting-host-ids", false,
		"with one report only: accept host IDs without a status report if all reporters see them UP (external seeds)")
	fs.DurationVar(&stabilisation, "stabilisation", view.Stabilisation,
		"policy reports: how long all nodes must stay UP before the barrier opens; 0 opens at once "+
			"(if unset: stabilisation in status.healthPolicy of the cluster's report)")
	fs.StringVar(&policy, "policy", "",
		"permits: also require a permit of the controller, one new node at a time; "+
			"reports: require only status reports (default: permits; with the Scylla Operator: reports)")
	fs.StringVar(&gates, "feature-gates", "", api.GateBootstrapSynchronisation+"=true|false (default true)")
	fs.StringVar(&address, "metrics-bind-address", ":8082",
		"address of /metrics and /healthz while waiting; 0 disables it")
	return func() error {
		if fs.Changed("stabilisation") {
			o.Stabilisation = &stabilisation
		}
		if address != "" && address != "0" {
			o.Listen = func() (net.Listener, error) { return net.Listen("tcp", address) }
		}
		enabled, err := api.ParseFeatureGates(gates)
		if err != nil {
			return exit.Usagef("--feature-gates: %w", err)
		}
		o.Disabled = !enabled
		if _, err := release.Parse(o.Version); err != nil && o.Version != "" {
			return exit.Usagef("--scylla-version: %w", err)
		}
		if stabilisation < 0 {
			return exit.Usagef("invalid --stabilisation=%v: must be a duration such as %v, or 0", stabilisation,
				view.Stabilisation)
		}
		switch o.Policy = api.Policy(policy); o.Policy {
		case "", api.PolicyPermits, api.PolicyReports:
			return nil
		}
		return exit.Usagef("--policy: unknown policy %q: use one of %s, %s", policy, api.PolicyPermits,
			api.PolicyReports)
	}
}
