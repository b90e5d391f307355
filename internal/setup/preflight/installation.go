// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// oldestMinor is the first Kubernetes with sidecar containers on by default and stable
	// admission policies.
	oldestMinor = 30
	// served is the version of all our CRDs.
	served = "v1alpha1"
	// mostSkew is the largest tolerated difference of two clocks: displayed ages are wrong by as
	// much. No decision uses the clock of another machine.
	mostSkew = 5 * time.Second
	// leaseOld is the age at which barriers treat a Lease as expired, if the Lease sets no
	// duration.
	leaseOld = 15 * time.Second
)

func (c *checker) kubernetes() {
	switch minor := c.in.KubernetesMinor; {
	case minor == 0:
		c.add("kubernetes", "", Unknown, words.New(words.VersionNotTold))
	case minor < oldestMinor:
		c.add("kubernetes", "", Failed, words.New(words.KubernetesTooOld, "minor", minor, "oldest", oldestMinor),
			words.New(words.StepKubernetes))
	default:
		c.add("kubernetes", "", OK, words.New(words.KubernetesFits, "minor", minor))
	}
}

func (c *checker) kinds() {
	for _, k := range c.in.Kinds {
		switch {
		case k.Err != "":
			c.add("kinds", k.Name, Unknown, words.New(words.CannotTell, "why", k.Err))
		case len(k.Served) == 0 && c.in.Pre: // install creates it
		case len(k.Served) == 0:
			c.add("kinds", k.Name, Failed, words.New(words.KindMissing, "kind", k.Name),
				words.New(words.StepInstall).Do(c.install()))
		case !slices.Contains(k.Served, served):
			c.add("kinds", k.Name, Failed, words.New(words.KindNotServed, "kind", k.Name, "served", k.Served, "wanted",
				served), words.New(words.StepUpgrade).Do(c.install("--upgrade")))
		default:
			c.add("kinds", k.Name, OK, words.New(words.KindServed, "version", served))
		}
	}
}

func (c *checker) rights() {
	fine := map[string]int{}
	var order []string
	for _, a := range c.in.Access {
		subject := a.Who
		if a.Namespace != "" {
			subject += " in " + a.Namespace
		}
		if _, seen := fine[subject]; !seen {
			order = append(order, subject)
			fine[subject] = 0
		}
		switch {
		case a.Err != "":
			c.add("rights", subject, Unknown, words.New(words.CannotTell, "why", a.Err))
		case !a.Allowed && a.Who == You:
			c.add("rights", subject, Warning, words.New(words.RightMissing, "right", a.Right, "for", a.For),
				words.New(words.StepAskRights))
		case !a.Allowed && a.Who == TheController:
			c.add("rights", subject, Failed, words.New(words.RightMissing, "right", a.Right, "for", a.For),
				words.New(words.StepInstall).Do(c.install()))
		case !a.Allowed:
			c.add("rights", subject, Failed, words.New(words.RightMissing, "right", a.Right, "for", a.For),
				words.New(words.StepBind, "account", a.Who).Do(
					words.Kubectl(a.Namespace, "create", "rolebinding", "scylla-member",
						"--clusterrole=kubectl-scylla-member", "--serviceaccount="+colon(a.Who))))
		default:
			fine[subject]++
			continue
		}
		fine[subject] = -1 << 30
	}
	for _, subject := range order {
		if n := fine[subject]; n > 0 {
			c.add("rights", subject, OK, words.New(words.RightsThere, "rights", n))
		}
	}
}

// Subjects of permissions other than ServiceAccounts.
const (
	You           = "you"
	TheController = "the controller"
)

// colon converts "namespace/name" to kubectl's "namespace:name".
func colon(account string) string {
	b := []byte(account)
	if i := slices.Index(b, '/'); i >= 0 {
		b[i] = ':'
	}
	return string(b)
}

func (c *checker) clock() {
	switch {
	case !c.in.SkewKnown:
		c.add("clock", "", Unknown, words.New(words.CannotTell, "why", "the API server returned no time"))
	case c.in.Skew.Abs() > mostSkew:
		c.add("clock", "", Warning, words.New(words.ClockDiffers, "difference", c.in.Skew.Round(time.Second)),
			words.New(words.StepClock))
	default:
		c.add("clock", "", OK, words.New(words.ClockAgrees))
	}
}

// aggregation finds the ClusterRole with which an earlier version blocked the Scylla Operator from
// binding its own role: an account can only grant permissions that it has.
func (c *checker) aggregation() {
	switch {
	case c.in.AggregatedErr != "":
		c.add("rights", "", Unknown, words.New(words.CannotTell, "why", c.in.AggregatedErr))
	case c.in.Aggregated != "":
		c.add("rights", "clusterrole "+c.in.Aggregated, Failed, words.New(words.BlocksOperator),
			words.New(words.StepUnlabel).Do(
				words.Kubectl("", "label", "clusterrole", c.in.Aggregated, api.LabelOperatorAggregation+"-")))
	}
}

// Policy is an admission policy that install applies and binds, for rules that RBAC cannot express.
type Policy struct {
	Name string
	// There and Missing are the codes for its presence and its absence.
	There, Missing words.Code
}

// Policies are all admission policies. The binding of each has the policy's name.
var Policies = []Policy{
	{"kubectl-scylla-own-pod-only", words.OwnPodOnly, words.EveryPod},
	{"kubectl-scylla-own-events-only", words.OwnEventsOnly, words.EveryEvent},
}

// Admission is the state of one policy: whether it exists, whether it is bound, and the read error.
type Admission struct {
	Policy
	There, Bound bool
	Err          string
}

// Denial is the result of a write that the API server must deny: a dry run by a ServiceAccount
// ("namespace/name") to a Pod. Err is why the result is unknown.
type Denial struct {
	Account, Pod string
	Denied       bool
	Err          string
}

// denials checks the dry runs, unless a missing policy, which would be their cause, was reported.
func (c *checker) denials() {
	if slices.ContainsFunc(c.in.Admission, func(a Admission) bool { return !a.There || !a.Bound }) {
		return
	}
	for _, d := range c.in.Denials {
		switch subject := "serviceaccount " + d.Account; {
		case d.Err != "":
			c.add("admission", subject, Unknown, words.New(words.CannotTell, "why", d.Err))
		case !d.Denied:
			c.add("admission", subject, Failed, words.New(words.WriteNotDenied, "pod", d.Pod),
				words.New(words.StepInstallPolicy).Do(c.install("--upgrade")))
		default:
			c.add("admission", subject, OK, words.New(words.WriteDenied))
		}
	}
}

func (c *checker) policy() {
	for _, a := range c.in.Admission {
		install := words.New(words.StepInstallPolicy).Do(c.install())
		switch {
		case a.Err != "":
			c.add("admission", a.Name, Unknown, words.New(words.CannotTell, "why", a.Err))
		case !a.There:
			c.add("admission", a.Name, Failed,
				words.New(words.PolicyMissing, "policy", a.Name, "means", words.New(a.Missing)), install)
		case !a.Bound:
			c.add("admission", a.Name, Failed,
				words.New(words.PolicyNotBound, "policy", a.Name, "means", words.New(a.Missing)), install)
		default:
			c.add("admission", a.Name, OK, words.New(a.Policy.There))
		}
	}
}

func (c *checker) controller() {
	d := c.in.Controller
	logs := words.New(words.StepControllerLog).Do(words.Kubectl("kubectl-scylla", "logs", "deployment/"+api.LeaseName))
	switch {
	case c.in.ControllerErr != "":
		c.add("controller", "", Unknown, words.New(words.CannotTell, "why", c.in.ControllerErr))
	case d == nil:
		c.add("controller", "", Failed, words.New(words.ControllerMissing),
			words.New(words.StepInstall).Do(c.install()))
	case d.Status.AvailableReplicas == 0:
		c.add("controller", "", Failed, words.New(words.ControllerNotReady, "replicas", d.Status.Replicas), logs)
	default:
		c.add("controller", "", OK, words.New(words.ControllerRuns, "replicas", d.Status.AvailableReplicas))
	}
}

// install returns the command that installs for the namespaces of the controller.
func (c *checker) install(flags ...string) words.Command {
	if len(c.in.Namespaces) > 0 {
		flags = append(flags, "--namespaces="+strings.Join(c.in.Namespaces, ","))
	}
	return words.Scylla("", append([]string{"install"}, flags...)...)
}

// ManagedIn returns the namespaces in which the controller needs its permissions, of this one or,
// if it is empty, of all.
func (in *Input) ManagedIn(namespace string) []string {
	switch {
	case len(in.Namespaces) == 0:
		return []string{namespace}
	case namespace == "":
		return in.Namespaces
	case slices.Contains(in.Namespaces, namespace):
		return []string{namespace}
	}
	return nil
}

// unmanaged finds StatefulSets of ours in namespaces that the controller does not manage.
func (c *checker) unmanaged() {
	var missing []string
	for i := range c.in.StatefulSets {
		if s := &c.in.StatefulSets[i]; cluster.Managed(s) && len(c.in.ManagedIn(s.Namespace)) == 0 &&
			!slices.Contains(missing, s.Namespace) {
			missing = append(missing, s.Namespace)
		}
	}
	for _, namespace := range missing {
		all := slices.Sorted(slices.Values(slices.Concat(c.in.Namespaces, missing)))
		c.add("controller", "namespace "+namespace, Failed,
			words.New(words.NamespaceNotManaged, "namespaces", c.in.Namespaces), words.New(words.StepManage).Do(
				words.Scylla("", "install", "--namespaces="+strings.Join(all, ","))))
	}
}

func (c *checker) lease() {
	if c.in.Controller == nil {
		return // already reported
	}
	logs := words.New(words.StepControllerLog).Do(words.Kubectl("kubectl-scylla", "logs", "deployment/"+api.LeaseName))
	l := c.in.Lease
	if l == nil || l.Spec.RenewTime == nil {
		c.add("lease", "", Failed, words.New(words.LeaseMissing), logs)
		return
	}
	// Skew corrects the local clock to the API server's, if known.
	age := c.in.Now.Add(-c.in.Skew).Sub(l.Spec.RenewTime.Time)
	most := leaseOld
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		most = time.Duration(*s) * time.Second
	}
	if age > most {
		c.add("lease", "", Failed, words.New(words.LeaseOld, "age", age.Round(time.Second)), logs)
		return
	}
	c.add("lease", "", OK, words.New(words.LeaseRenewed))
}

func (c *checker) versions() {
	from := len(c.results)
	if c.in.Installed != "" && c.in.Installed != c.in.Version {
		c.add("versions", "", Warning, words.New(words.VersionsDiffer, "plugin", c.in.Version, "installed",
			c.in.Installed),
			words.New(words.StepUpgrade).Do(c.install("--upgrade")))
	}
	image := agentOf(c.in.Controller)
	for i := range c.in.StatefulSets {
		s := &c.in.StatefulSets[i]
		if b := initContainer(s, api.ContainerBarrier); b != nil && image != "" && !operators(s) && b.Image != image {
			c.add("versions", subject(s), Warning, words.New(words.AgentImageDiffers, "image", b.Image, "controller",
				image),
				words.New(words.StepInject).Do(words.Scylla(s.Namespace, "inject", api.ClusterOf(s.Labels),
					"--image", image)))
		}
	}
	c.fine(from, "versions", "", words.New(words.VersionsAgree))
}
