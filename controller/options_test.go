// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, args ...string) (validated, error) {
	t.Helper()
	o := DefaultOptions()
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	o.AddFlags(fs)
	must(t, fs.Parse(args))
	return o.validate()
}

func TestDefaultsAreUsable(t *testing.T) {
	v, err := parse(t)
	must(t, err)
	if !v.synchronise || !v.LeaderElect || v.LeaseNamespace != "kubectl-scylla" || v.RemoteKubeconfigNamespace != "kubectl-scylla" || v.remoteSelector == nil ||
		!v.remoteSelector.Matches(labelSet{api.LabelRemoteKubeconfig: "eu"}) || v.remoteSelector.Matches(labelSet{}) || len(v.Namespaces) != 0 {
		t.Errorf("got %+v", v)
	}
	// Another controller leads 2 s after an orderly end, and 17 s after a crash.
	if orderly, crash := v.RetryPeriod, v.LeaseDuration+v.RetryPeriod; orderly != 2*time.Second || crash != 17*time.Second {
		t.Errorf("another controller leads %v after an orderly end and %v after a crash", orderly, crash)
	}
}

type labelSet map[string]string

func (l labelSet) Has(k string) bool              { _, ok := l[k]; return ok }
func (l labelSet) Get(k string) string            { return l[k] }
func (l labelSet) Lookup(k string) (string, bool) { v, ok := l[k]; return v, ok }

func TestFlagsDoWhatTheySay(t *testing.T) {
	v, err := parse(t, "--namespaces=b,a,a", "--feature-gates=BootstrapSynchronisation=false", "--metrics-bind-address=", "--concurrency=7",
		"--remote-kubeconfig-selector=", "--leader-elect-lease-duration=30s")
	must(t, err)
	if strings.Join(v.Namespaces, " ") != "a b" || v.synchronise || v.MetricsBindAddress != "0" || v.Concurrency != 7 || v.remoteSelector != nil || v.LeaseDuration != 30*time.Second {
		t.Errorf("got %+v", v)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--feature-gates=Nonsense=true":                  "--feature-gates",
		"--feature-gates=BootstrapSynchronisation=maybe": "--feature-gates",
		"--namespaces=Not_A_Namespace":                   "--namespaces",
		"--concurrency=0":                                "--concurrency",
		"--lease-namespace=":                             "--lease-namespace",
		"--leader-elect-renew-deadline=20s":              "--leader-elect-lease-duration",
		"--remote-kubeconfig-selector=a b":               "--remote-kubeconfig-selector",
		"--remote-stale-after=1s":                        "--remote-stale-after",
		"--leader-elect=false --lease-namespace= --remote-kubeconfig-namespace=": "--remote-kubeconfig-namespace",
	} {
		fields := strings.Split(args, " --")
		for i := range fields[1:] {
			fields[i+1] = "--" + fields[i+1]
		}
		_, err := parse(t, fields...)
		if err == nil || !strings.Contains(err.Error(), want) || exit.Code(err) != exit.CodeUsage {
			t.Errorf("%s: error %v (code %d)", args, err, exit.Code(err))
		}
	}
}

// No view opens for longer than it takes to notice, by the Lease of the standard options, that no controller leads: twice its duration.
func TestNoViewOpensLongerThanTheLeaseStands(t *testing.T) {
	if silent := 2 * DefaultOptions().LeaseDuration; healthpolicy.MostViewLimit > silent {
		t.Errorf("a view opens for up to %v, and no controller is missed after %v", healthpolicy.MostViewLimit, silent)
	}
}
