// SPDX-License-Identifier: Apache-2.0

// Package inject adds the containers that guard joins to a StatefulSet of ScyllaDB (reporter,
// query, barrier and launcher), and removes them. Its input and output are objects. It must not use
// a client, and refuses if the result could be wrong.
package inject

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// entrypoint is the default command of ScyllaDB's image.
const entrypoint = "/docker-entrypoint.py"

// DefaultServiceAccount is the ServiceAccount of Pods without one.
const DefaultServiceAccount = "scylla-member"

const (
	containerCopy = "scylla-agent-copy"
	volumeShared  = api.VolumeShared
	agent         = api.MountShared + "/scylla-agent"
)

// Options of an injection.
type Options struct {
	// Image of scylla-agent.
	Image string
	// Cluster, Datacenter and Rack are the label values if the StatefulSet has none; a StatefulSet
	// with other values is refused.
	Cluster, Datacenter, Rack string
	// ControllerNamespace is the namespace of the controller's Lease.
	ControllerNamespace string
	// Policy is the barriers' policy; empty keeps the value of the previous injection, and on the
	// first injection the barrier's default.
	Policy api.Policy
	// FeatureGates of the barriers; empty keeps the value of the previous injection.
	FeatureGates string
	// RootCredential is off, verify or managed; empty keeps the StatefulSet's annotation. Without
	// one it is verify for a ScyllaDB that requires passwords.
	RootCredential credential.Mode
	// AnyVersion accepts a ScyllaDB whose disk cannot be queried; StartWithOne is startWithOne.
	AnyVersion, StartWithOne bool
	// Interval is the time between two polls of a reporter; zero keeps the value of the previous
	// injection.
	Interval time.Duration
	// Namespace is the namespace of objects that name none.
	Namespace string
}

// Result is an injected StatefulSet.
type Result struct {
	Object *unstructured.Unstructured
	// ServiceAccount of the Pods; it needs the role of a member.
	ServiceAccount string
	// Notes are warnings to show before the result is applied; Cost is what each Pod requests more.
	Notes []string
	Cost  string
}

// Is reports whether u is a StatefulSet that runs ScyllaDB.
func Is(u *unstructured.Unstructured) bool {
	if u.GetKind() != "StatefulSet" || u.GroupVersionKind().Group != appsv1.GroupName {
		return false
	}
	s, err := typed(u)
	return err != nil || cluster.RunsScyllaDB(s) // one that cannot be decoded is refused later
}

func typed(u *unstructured.Unstructured) (*appsv1.StatefulSet, error) {
	s := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", Name(u), err)
	}
	return s, nil
}

// Name returns an object's name for messages: "statefulset demo/db".
func Name(u *unstructured.Unstructured) string {
	name := u.GetName()
	if ns := u.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return words.Clean(strings.ToLower(u.GetKind()) + " " + name)
}

// record is the input of Undo, stored in an annotation of the StatefulSet.
type record struct {
	// Container runs ScyllaDB; HadCommand is true if it had a command before the injection.
	Container  string `json:"container"`
	HadCommand bool   `json:"hadCommand,omitempty"`
	// Labels and PodLabels are the previous values, null if there was none.
	Labels    map[string]*string `json:"labels,omitempty"`
	PodLabels map[string]*string `json:"podLabels,omitempty"`
	// ServiceAccount was set on the Pods; TokenOff is true if the token was not mounted before.
	ServiceAccount string   `json:"serviceAccount,omitempty"`
	TokenOff       bool     `json:"tokenOff,omitempty"`
	Env            []string `json:"env,omitempty"` // names added to the container
	// InitContainers and Volumes are the names added to the Pods.
	InitContainers []string `json:"initContainers,omitempty"`
	Volumes        []string `json:"volumes,omitempty"`
	// Scraped is true if Prometheus annotations for the reporter were added to the Pods.
	Scraped bool `json:"scraped,omitempty"`
	// RootCredential is true where the StatefulSet was given the annotation of that name.
	RootCredential bool `json:"rootCredential,omitempty"`
}

// statefulSet returns u with the complete injection. It removes an earlier injection first, so it
// also changes the image. beside are the other objects of the same files: their ConfigMaps contain
// ScyllaDB's configuration. The error joins all refusals, each with the field and the fix.
func statefulSet(u *unstructured.Unstructured, o Options, beside []*unstructured.Unstructured) (*Result, error) {
	before, err := given(u)
	if err != nil {
		return nil, fmt.Errorf("inject %s: %w", Name(u), err)
	}
	o.keep(before)
	_, injected := u.GetAnnotations()[api.AnnotationInjected]
	u, taken, err := undo(u)
	if err != nil {
		return nil, err
	}
	s, err := typed(u)
	if err != nil {
		return nil, err
	}
	p := plan{o: o, set: s, config: configOf(s, beside), injected: injected}
	p.check()
	p.checkOperator(beside)
	if err := errors.Join(p.errs...); err != nil {
		return nil, fmt.Errorf("inject %s: %w", Name(u), err)
	}
	rec, err := p.write(u)
	if err == nil {
		err = unmounted(u, taken)
	}
	if err != nil {
		return nil, fmt.Errorf("inject %s: %w", Name(u), err)
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("encode annotation %s: %w", api.AnnotationInjected, err)
	}
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	if a[api.AnnotationInjected] = string(text); p.o.RootCredential != "" {
		a[api.AnnotationRootCredential] = string(p.o.RootCredential)
	}
	u.SetAnnotations(a)
	after, err := typed(u)
	if err != nil {
		return nil, err
	}
	return &Result{Object: u, ServiceAccount: p.account, Notes: p.notes,
		Cost: cost(&s.Spec.Template.Spec, &after.Spec.Template.Spec)}, nil
}

// plan holds the values that one injection derives from its input.
type plan struct {
	o      Options
	set    *appsv1.StatefulSet
	config config
	// injected is true if the StatefulSet was injected before.
	injected bool
	errs     []error
	notes    []string

	scylla                    *corev1.Container
	clusterName, dc, rack     string
	account                   string
	dataDir                   string               // ScyllaDB's working directory
	mounts                    []corev1.VolumeMount // mounts below dataDir
	env                       []corev1.EnvVar      // variables to which they refer
	reporterPort, barrierPort int
	heartbeatPort             int
}

func (p *plan) refuse(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *plan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// check derives the values of the plan and refuses if the result could be wrong.
func (p *plan) check() {
	spec := &p.set.Spec.Template.Spec
	p.scylla = cluster.ScyllaDBContainer(spec)
	if p.scylla == nil {
		p.refuse(
			"spec.template.spec.containers: none is named %s, has an image scylla, starts scylla or has its ports "+
				"7000, 9042 and 10000", api.ContainerScyllaDB)
		return
	}
	if cluster.OwnedByOperator(p.set) {
		p.refuse(
			"the Scylla Operator manages it and would revert every change: use its own barrier, feature gate " +
				"BootstrapSynchronisation")
		return
	}
	p.checkNames()
	p.checkVersion()
	p.checkCommand()
	p.checkData()
	p.checkMounts()
	p.checkEnv()
	p.checkPlace()
	p.checkAPI()
	p.reporterPort = freePort(spec, 8081)
	p.barrierPort = freePort(spec, p.reporterPort+1)
	p.heartbeatPort = freePort(spec, p.barrierPort+1)
	p.account = cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	if p.account == "" || p.account == "default" {
		p.account = DefaultServiceAccount
	}
	p.explain()
}

// explain notes what the change means for the Pods; it chooses the credential container, which adds
// a note.
func (p *plan) explain() {
	spec := &p.set.Spec.Template.Spec
	if spec.AutomountServiceAccountToken != nil && !*spec.AutomountServiceAccountToken {
		p.note("the token of ServiceAccount %s will be mounted in the Pods: reporter, barrier and launcher need it",
			p.account)
	}
	if spec.HostNetwork {
		p.note("the Pods use the Kubernetes node's network: ports %d, %d and %d must be free there", p.reporterPort,
			p.barrierPort, p.heartbeatPort)
	}
	p.chooseCredential()
	if on, err := api.ParseFeatureGates(p.o.FeatureGates); err == nil && !on {
		p.note("the barriers open at once and check nothing: no join is protected (%s=%s)", flagGates,
			p.o.FeatureGates)
	}
	if p.o.Interval > healthpolicy.Interval {
		p.note(
			"a status report is up to %v late and valid for up to %v: also increase the time for which all nodes "+
				"must stay UP before a join (annotation %s) (%s=%v)",
			p.o.Interval, healthpolicy.ContactOf(healthpolicy.Contact, p.o.Interval),
			healthpolicy.Annotation(healthpolicy.FieldStabilisation), flagInterval, p.o.Interval)
	}
	if p.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		p.note("its update strategy is OnDelete: delete the running Pods one by one to protect them")
	}
	if p.set.Labels["app.kubernetes.io/managed-by"] == "Helm" {
		p.note(
			"label app.kubernetes.io/managed-by becomes %s: inject the manifest that Helm renders (helm "+
				"--post-renderer), or the next upgrade reverts it", api.ManagedByUs)
	}
}

// checkVersion: the Scylla Operator adds its barrier only if the disk can be queried. Other
// versions are our extension, which a user must allow.
func (p *plan) checkVersion() {
	v, _, err := release.Effective("", p.scylla.Image)
	if err != nil || v.SupportsBootstrapSynchronisation() != release.No {
		return
	}
	lacks := fmt.Sprintf(
		"containers[%s].image: ScyllaDB %s is older than 2025.2.0, so its disk cannot be queried: the barrier "+
			"recognises a restart "+
			"only while the API server and the other nodes respond", p.scylla.Name, v)
	if !p.o.AnyVersion {
		p.refuse("%s; upgrade ScyllaDB, or allow it with %s", lacks, FlagVersion)
		return
	}
	p.note("%s", lacks)
}

// checkCommand: launch appends arguments to the command; a shell script would drop them without an
// error.
func (p *plan) checkCommand() {
	if len(p.scylla.Command) < 2 {
		return
	}
	switch path.Base(p.scylla.Command[0]) {
	case "sh", "bash", "dash", "ash":
	default:
		return
	}
	for i, arg := range p.scylla.Command[1:] {
		if strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") && !strings.HasPrefix(arg, "--") {
			script := ""
			if i+2 < len(p.scylla.Command) {
				script = p.scylla.Command[i+2]
			} else if len(p.scylla.Args) > 0 {
				script = p.scylla.Args[0]
			}
			p.refuse(
				"containers[%s].command is a shell script (%s), which would ignore the seeds and replace arguments "+
					"that launch appends: "+
					"set the program in command and its arguments in args, and move the preparation into an init "+
					"container",
				p.scylla.Name, shorten(script))
			return
		}
	}
}

func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "..."
	}
	return fmt.Sprintf("%q", text)
}

// checkData finds the data volume. On a volume that is deleted with the Pod, every restart loses
// the data.
func (p *plan) checkData() {
	p.dataDir = "/var/lib/scylla"
	if w := p.argument("--workdir", "-W"); w != "" {
		p.dataDir = path.Clean(w)
	}
	if !path.IsAbs(p.dataDir) || strings.Contains(p.dataDir, "$(") || strings.Contains(p.dataDir, "$$") {
		p.refuse("containers[%s].args: invalid --workdir=%s: must be an absolute path without variables",
			p.scylla.Name, shorten(p.dataDir))
	}
	if d := p.argument("--data-file-directories"); d != "" && path.Clean(d) != p.dataDir+"/data" {
		p.refuse(
			"containers[%s].args: --data-file-directories=%s is not %s/data: the barrier reads only this directory",
			p.scylla.Name, d, p.dataDir)
	}
	claims := map[string]bool{}
	for i := range p.set.Spec.VolumeClaimTemplates {
		claims[p.set.Spec.VolumeClaimTemplates[i].Name] = true
	}
	data := p.dataDir + "/data"
	holds := false
	for _, m := range p.scylla.VolumeMounts {
		at := path.Clean(m.MountPath)
		above, below := at == p.dataDir || strings.HasPrefix(p.dataDir+"/", at+"/"),
			strings.HasPrefix(at, p.dataDir+"/")
		if !above && !below {
			continue
		}
		m.ReadOnly, m.MountPropagation = true, nil // propagation can require a privileged container
		p.mounts = append(p.mounts, m)
		if above || at == data || strings.HasPrefix(data+"/", at+"/") {
			holds = true
			if !claims[m.Name] && p.losesData(m.Name) {
				p.refuse(
					"spec.volumeClaimTemplates: volume %s with %s is not among them and is empty after each "+
						"restart: use a PVC", m.Name, data)
			}
		}
	}
	if !holds {
		p.refuse("containers[%s].volumeMounts: no volume contains %s: mount a PVC at %s", p.scylla.Name, data,
			p.dataDir)
	}
}

func (p *plan) losesData(volume string) bool {
	for i := range p.set.Spec.Template.Spec.Volumes {
		if v := &p.set.Spec.Template.Spec.Volumes[i]; v.Name == volume {
			return v.EmptyDir != nil || v.Ephemeral != nil
		}
	}
	return false
}

// checkEnv: launch identifies its Pod by two variables, which must not have other values.
func (p *plan) checkEnv() {
	for _, d := range downward {
		for i := range p.scylla.Env {
			e := &p.scylla.Env[i]
			if e.Name == d.name &&
				(e.ValueFrom == nil || e.ValueFrom.FieldRef == nil || e.ValueFrom.FieldRef.FieldPath != d.field) {
				p.refuse("containers[%s].env: %s must be the Pod's %s, because launch reads it: rename it",
					p.scylla.Name, d.name, d.field)
			}
		}
	}
}

// downward are the variables that identify the agent's Pod.
var downward = []struct{ name, field string }{{"POD_NAME", "metadata.name"}, {"POD_NAMESPACE", "metadata.namespace"}}

// checkPlace finds cluster, datacenter and rack in labels, ScyllaDB's arguments, its configuration,
// and then the options.
func (p *plan) checkPlace() {
	p.clusterName = p.label("cluster", api.LabelCluster, p.o.Cluster, "--cluster-label", p.argument("--cluster-name"),
		p.config.cluster)
	p.dc = p.label("datacenter", api.LabelDatacenter, p.o.Datacenter, "--datacenter", p.argument("--dc"), p.config.dc)
	p.rack = p.label("rack", api.LabelRack, p.o.Rack, "--rack", p.argument("--rack"), p.config.rack)
}

// label returns the value of one of the three. The sources in the files must agree with the option
// and with one another.
func (p *plan) label(what, key, option, flag string, sources ...string) string {
	value := option
	own := []string{p.set.Spec.Template.Labels[key], api.ClusterValue(p.set.Labels[key])}
	for i, said := range append(own, sources...) {
		switch {
		case said == "":
		case value == "":
			value = said
		case value != said && (i < 2 || what != "cluster"):
			// The cluster label may differ from ScyllaDB's cluster name, which may contain spaces.
			p.refuse(
				"%s is %q in one place and %q in another (labels, ScyllaDB's arguments, its configuration, %s): use "+
					"the same value", what, value, said, flag)
			return value
		}
	}
	if value == "" {
		p.refuse(
			"the %s is unknown: not in label %s, ScyllaDB's arguments or a ConfigMap in these files: specify %s "+
				"(nodetool status and describecluster show it)",
			what, key, flag)
		return ""
	}
	problems := validation.IsValidLabelValue(value)
	if what == "cluster" {
		problems = append(problems, validation.IsDNS1123Subdomain(value)...) // it names the report
		if api.OwnCluster(value) == value {
			problems = append(problems, "at most 59 characters")
		}
	}
	if len(problems) > 0 {
		p.refuse("invalid %s %q for label %s (%s): specify %s", what, value, key, problems[0], flag)
	}
	return value
}

// checkAPI finds the address of ScyllaDB's API for the reporter.
func (p *plan) checkAPI() {
	host := p.argument("--api-address")
	if host == "" {
		host = p.config.api
	}
	switch host {
	case "", "127.0.0.1", "localhost", "0.0.0.0", "::1", "::":
	default:
		p.refuse(
			"ScyllaDB's API listens only on %s, where the reporter cannot identify this Pod's ScyllaDB: set "+
				"--api-address=127.0.0.1", host)
	}
}

// argument returns the value of one of ScyllaDB's options on the container's command line; empty if
// it is absent.
func (p *plan) argument(names ...string) string { return cluster.Argument(p.scylla, names...) }

// freePort returns the first port >= n that no container of the Pod declares.
func freePort(spec *corev1.PodSpec, n int) int {
	taken := map[int]bool{}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for _, port := range list[i].Ports {
				taken[int(port.ContainerPort)] = true
			}
		}
	}
	for taken[n] {
		n++
	}
	return n
}
