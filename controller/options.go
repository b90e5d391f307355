// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// Options of the controller. Start from DefaultOptions; the zero value is not usable.
type Options struct {
	// Namespaces to manage; none means all.
	Namespaces []string
	// LeaderElect elects one of several controllers. Only then is the Lease renewed that proves to
	// barriers that a controller keeps the reports.
	LeaderElect    bool
	LeaseNamespace string
	// LeaseDuration, RenewDeadline and RetryPeriod have the meaning and defaults of Kubernetes' own
	// components.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// MetricsBindAddress and HealthProbeBindAddress are host:port; "0" or empty turns them off.
	MetricsBindAddress, HealthProbeBindAddress string
	// MetricsSecure serves metrics over TLS, to accounts that may get them.
	MetricsSecure bool
	// ViewBindAddress is where views are served over TLS, host:port; "0" or empty serves none.
	// PodIP is the address at which reporters reach it. It is empty outside a cluster: then the
	// Lease has no address.
	ViewBindAddress, PodIP string
	// Concurrency is how many objects of a kind are reconciled in parallel.
	Concurrency int
	// FeatureGates is "BootstrapSynchronisation=true|false".
	FeatureGates string
	// RemoteKubeconfigSelector selects the Secrets with kubeconfigs of remote Kubernetes clusters;
	// empty turns remotes off, and permission for Secrets is then not needed.
	// RemoteKubeconfigNamespace is their namespace, by default the Lease's.
	RemoteKubeconfigSelector, RemoteKubeconfigNamespace string
	// MaxPermits is how many nodes may join in parallel if their versions allow it. Stabilisation
	// is how long all conditions must hold continuously before a permit is granted.
	MaxPermits    int
	Stabilisation time.Duration
	// RemoteStaleAfter is how long a remote may be unreachable before its rows are stale.
	RemoteStaleAfter time.Duration
	// AllowUnsafeRemotes allows kubeconfigs of remotes whose server is not verified, or is
	// link-local.
	AllowUnsafeRemotes bool

	// Log and Clock default to the process's.
	Log   *slog.Logger
	Clock clock.WithTicker
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{
		LeaderElect: true, LeaseNamespace: barrier.DefaultLeaseNamespace,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081", ViewBindAddress: "0",
		Concurrency:              4,
		RemoteKubeconfigSelector: api.LabelRemoteKubeconfig,
		RemoteStaleAfter:         remote.StaleAfter,
		MaxPermits:               1,
		Stabilisation:            view.Stabilisation,
	}
}

// AddFlags adds a flag for each option, with the current value as default. The flag for namespaces
// is --namespaces, because kubectl has its own --namespace.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces,
		"namespaces to manage, comma-separated; empty means all")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect,
		"elect a leader among several controllers; without it no Lease proves that reports are up to date, and "+
			"barriers wait")
	fs.StringVar(&o.LeaseNamespace, "lease-namespace", o.LeaseNamespace, "namespace of the Lease "+api.LeaseName+
		"; must be the same for barriers")
	fs.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration,
		"how long other controllers wait before they replace a leader that is not responding")
	fs.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline,
		"how long the leader tries to renew the Lease before it stops")
	fs.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod,
		"how often the Lease is renewed or checked")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress,
		`address of /metrics; "0" for none`)
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics over TLS with a self-signed certificate, only to accounts that can get the non-resource URL "+
			"/metrics; requires ClusterRole system:auth-delegator")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", o.HealthProbeBindAddress,
		`address of /healthz and /readyz; "0" for none`)
	fs.StringVar(&o.ViewBindAddress, "view-bind-address", o.ViewBindAddress,
		`address of GET /view (TLS), which only the leader answers; "0" for none`)
	fs.StringVar(&o.PodIP, "pod-ip", os.Getenv("POD_IP"),
		"address of this Pod for other Pods (env POD_IP), published in the Lease with the certificate's fingerprint")
	fs.IntVar(&o.Concurrency, "concurrency", o.Concurrency, "number of clusters to reconcile at once")
	fs.IntVar(&o.MaxPermits, "max-permits", o.MaxPermits,
		"number of nodes that may join a cluster at once, with permits; more than 1 applies only if all nodes run "+
			"ScyllaDB 2026.2 or later")
	fs.DurationVar(&o.Stabilisation, "stabilisation", o.Stabilisation,
		"how long all nodes must stay UP before a member gets its permit; 0 grants it at once")
	fs.StringVar(&o.FeatureGates, "feature-gates", o.FeatureGates,
		api.GateBootstrapSynchronisation+
			"=true|false (default true); false removes the reports, so that none that is out of date is used")
	fs.StringVar(&o.RemoteKubeconfigSelector, "remote-kubeconfig-selector", o.RemoteKubeconfigSelector,
		"label selector of the Secrets with kubeconfigs of remote Kubernetes clusters; empty turns remotes off")
	fs.StringVar(&o.RemoteKubeconfigNamespace, "remote-kubeconfig-namespace", o.RemoteKubeconfigNamespace,
		"namespace of those Secrets (default: namespace of the Lease)")
	fs.DurationVar(&o.RemoteStaleAfter, "remote-stale-after", o.RemoteStaleAfter,
		"how long a remote may not respond before its status reports are out of date and block")
	fs.BoolVar(&o.AllowUnsafeRemotes, shared.FlagAllowUnsafe, o.AllowUnsafeRemotes,
		"accept kubeconfigs of remotes with insecure-skip-tls-verify, plain http, proxy-url, a link-local address or "+
			"redirects; such a remote may be another server, which gets the token")
}

// validated are Options that passed Validate.
type validated struct {
	Options
	synchronise    bool
	remoteSelector labels.Selector // nil if remotes are off
	holder         string          // this process's identity in the Lease
}

// maxPermits is the largest number of permits in a view.
const maxPermits = 64

// minStaleAfter is twice the interval of reads of remotes.
const minStaleAfter = 20 * time.Second

//nolint:funlen // one option after the other
func (o Options) validate() (validated, error) {
	v := validated{Options: o, holder: holder()}
	var err error
	if v.synchronise, err = api.ParseFeatureGates(o.FeatureGates); err != nil {
		return v, exit.Usagef("--feature-gates: %w", err)
	}
	for _, ns := range o.Namespaces {
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			return v, exit.Usagef("--namespaces: %q is not a namespace: %s", ns, problems[0])
		}
	}
	v.Namespaces = slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	if o.Concurrency < 1 {
		return v, exit.Usagef("invalid --concurrency=%d: must be 1 or more", o.Concurrency)
	}
	if o.MaxPermits < 1 || o.MaxPermits > maxPermits {
		return v, exit.Usagef("invalid --max-permits=%d: must be 1 to %d", o.MaxPermits, maxPermits)
	}
	if o.Stabilisation < 0 {
		return v, exit.Usagef("invalid --stabilisation=%v: must be a duration such as %v, or 0", o.Stabilisation,
			view.Stabilisation)
	}
	if o.LeaderElect {
		if o.LeaseNamespace == "" {
			return v, exit.Usagef("--lease-namespace is empty: specify the namespace in which barriers read Lease %s",
				api.LeaseName)
		}
		if o.LeaseDuration <= o.RenewDeadline || o.RenewDeadline <= o.RetryPeriod || o.RetryPeriod <= 0 {
			return v,
				exit.Usagef(
					"--leader-elect-lease-duration (%s) must be longer than --leader-elect-renew-deadline (%s), "+
						"which must be longer than --leader-elect-retry-period (%s)",
					o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
		}
	}
	if strings.TrimSpace(o.RemoteKubeconfigSelector) != "" {
		s, err := metav1.ParseToLabelSelector(o.RemoteKubeconfigSelector)
		if err == nil {
			v.remoteSelector, err = metav1.LabelSelectorAsSelector(s)
		}
		if err != nil {
			return v, exit.Usagef("--remote-kubeconfig-selector: %w", err)
		}
		if v.RemoteKubeconfigNamespace == "" {
			v.RemoteKubeconfigNamespace = o.LeaseNamespace
		}
		if v.RemoteKubeconfigNamespace == "" {
			return v,
				exit.Usagef(
					"--remote-kubeconfig-namespace is empty: specify the namespace of the Secrets, or turn remotes " +
						"off with --remote-kubeconfig-selector=")
		}
		if o.RemoteStaleAfter < minStaleAfter {
			return v, exit.Usagef("invalid --remote-stale-after=%s: must be %s or more", o.RemoteStaleAfter,
				minStaleAfter)
		}
	}
	if v.MetricsBindAddress == "" {
		v.MetricsBindAddress = "0"
	}
	if v.Log == nil {
		v.Log = slog.Default()
	}
	if v.Clock == nil {
		v.Clock = clock.RealClock{}
	}
	return v, nil
}
