// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

type object = map[string]any

// write changes u, which must not be injected yet, and returns the record for Undo. It edits u in
// place, so that unknown fields remain.
func (p *plan) write(u *unstructured.Unstructured) (*record, error) {
	rec := &record{Container: p.scylla.Name, HadCommand: len(p.scylla.Command) > 0}
	place := map[string]string{api.LabelCluster: p.clusterName, api.LabelDatacenter: p.dc, api.LabelRack: p.rack}
	own := map[string]string{api.LabelManagedBy: api.ManagedByUs}
	pod := map[string]string{api.LabelPodType: api.PodTypeNode}
	for k, v := range place {
		own[k], pod[k] = v, v
	}
	own[api.LabelCluster] = api.OwnCluster(p.clusterName) // the Scylla Operator adopts StatefulSets, not Pods
	template, spec := podTemplate(u)
	rec.Labels, rec.PodLabels = setLabels(u.Object, own), setLabels(template, pod)
	rec.Scraped = scrape(template, p.reporterPort)

	if name := accountNamed(spec); name != p.account {
		rec.ServiceAccount = cmp.Or(name, none)
		setAccount(spec, p.account)
	}
	if mounted, ok := spec["automountServiceAccountToken"].(bool); ok && !mounted {
		rec.TokenOff = true
		spec["automountServiceAccountToken"] = true
	}

	before, after, err := p.initContainers()
	if err != nil {
		return nil, err
	}
	theirs, _ := spec["initContainers"].([]any)
	spec["initContainers"] = slices.Concat(before, theirs, after)
	volumes, _ := spec["volumes"].([]any)
	added := []any{object{"name": volumeShared, "emptyDir": object{}}}
	if p.credential() {
		added = append(added, p.credentialVolumes()...)
	}
	spec["volumes"] = slices.Concat(volumes, added)
	rec.InitContainers, rec.Volumes = names(slices.Concat(before, after)), names(added)
	rec.RootCredential = p.o.RootCredential != "" && u.GetAnnotations()[api.AnnotationRootCredential] == ""

	c := container(spec, p.scylla.Name)
	command, _ := c["command"].([]any)
	if len(command) == 0 {
		command = []any{entrypoint}
	}
	c["command"] = append([]any{agent, "launch", "--"}, command...)
	mounts, _ := c["volumeMounts"].([]any)
	c["volumeMounts"] = append(slices.Clone(mounts), any(object{"name": volumeShared, "mountPath": api.MountShared}))
	env, _ := c["env"].([]any)
	for _, d := range downward {
		if !slices.ContainsFunc(p.scylla.Env, func(e corev1.EnvVar) bool { return e.Name == d.name }) {
			env = append(slices.Clone(env), fromField(d.name, d.field))
			rec.Env = append(rec.Env, d.name)
		}
	}
	c["env"] = env
	return rec, nil
}

// names returns the names of the items of a list.
func names(list []any) []string {
	var out []string
	for _, v := range list {
		if name, ok := v.(object)["name"].(string); ok {
			out = append(out, name)
		}
	}
	return out
}

// p8s returns the annotations with which a Prometheus without the Prometheus Operator usually finds
// the metrics of a Pod.
func p8s(port int) map[string]string {
	return map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(port),
		"prometheus.io/path": "/metrics"}
}

// scrape adds the annotations unless the Pods have any prometheus.io annotation: a Pod has only one
// such port, possibly ScyllaDB's.
func scrape(template object, port int) bool {
	metadata := child(template, "metadata")
	there, _ := metadata["annotations"].(object)
	for name := range there {
		if strings.HasPrefix(name, "prometheus.io/") {
			return false
		}
	}
	for name, value := range p8s(port) {
		child(metadata, "annotations")[name] = value
	}
	return true
}

// none records that no ServiceAccount was named.
const none = "-"

// initContainers returns the containers before and after the user's init containers: the barrier
// runs last before ScyllaDB.
func (p *plan) initContainers() (before, after []any, err error) {
	reporter := object{
		"name": api.ContainerReporter, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent),
		"restartPolicy": "Always",
		"args": []any{"reporter", fmt.Sprintf("--health-probe-bind-address=:%d", p.reporterPort),
			fmt.Sprintf("--heartbeat-bind-address=:%d", p.heartbeatPort),
			"--lease-namespace=" + p.o.ControllerNamespace},
		"env": agentEnv(),
		"ports": []any{
			object{"name": "reporter", "containerPort": int64(p.reporterPort)},
			object{"name": "heartbeat", "containerPort": int64(p.heartbeatPort)},
		},
		// On a busy Kubernetes node a response can take longer than 1 s, the default timeout.
		"startupProbe": object{"httpGet": object{"path": "/healthz", "port": "reporter"}, "periodSeconds": int64(1),
			"timeoutSeconds": int64(10), "failureThreshold": int64(60)},
		"readinessProbe": object{"httpGet": object{"path": "/readyz", "port": "reporter"}, "periodSeconds": int64(2),
			"timeoutSeconds": int64(5)},
		"resources": p.agentResources(), "securityContext": p.agentSecurity(),
	}
	data, err := asAny(p.mounts)
	if err != nil {
		return nil, nil, err
	}
	disk, err := asAny(p.diskMount())
	if err != nil {
		return nil, nil, err
	}
	reporter["volumeMounts"] = append(
		[]any{object{"name": volumeShared, "mountPath": api.MountShared, "readOnly": true}}, disk...)
	p.reporterFlags(reporter)
	shared := object{"name": volumeShared, "mountPath": api.MountShared}
	copies := object{
		"name": containerCopy, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent),
		"args":         []any{"copy-to", agent},
		"volumeMounts": []any{shared}, "resources": p.agentResources(), "securityContext": p.agentSecurity(),
	}
	asks := object{
		"name": api.ContainerBootstrappedQuery, "image": p.scylla.Image, "imagePullPolicy": string(p.pullPolicy()),
		"command":   []any{"/bin/sh", "-c", query(p.dataDir)},
		"resources": p.queryResources(),
		"volumeMounts": append(slices.Clone(data), shared,
			object{"name": volumeShared, "mountPath": mountTmp, "subPath": "tmp"}),
	}
	barrier := object{
		"name": api.ContainerBarrier, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent),
		"args": p.barrierArgs(),
		"env":  agentEnv(), "volumeMounts": append(slices.Clone(data), shared), "resources": p.agentResources(),
		// docs/monitoring/podmonitors.yaml refers to this name.
		"ports": []any{object{"name": "barrier", "containerPort": int64(p.barrierPort)}},
	}
	asks["securityContext"], barrier["securityContext"] = p.readerSecurity(), p.readerSecurity()
	before, after = append(p.withCredential(reporter, data), copies), []any{asks, barrier}
	for _, c := range slices.Concat(before[1:len(before)-1], after) { // those with the mounts of the data
		if err := p.withEnv(c.(object)); err != nil {
			return nil, nil, err
		}
	}
	return before, after, nil
}

// barrierArgs returns the barrier's command line, with the flags other than its defaults.
func (p *plan) barrierArgs() []any {
	args := []any{"barrier", "--lease-namespace=" + p.o.ControllerNamespace, "--scylla-image=" + p.scylla.Image,
		"--scylla-data-dir=" + p.dataDir, fmt.Sprintf("--metrics-bind-address=:%d", p.barrierPort)}
	if p.o.Policy == api.PolicyReports {
		args = append(args, flagPolicy+"="+string(p.o.Policy))
	}
	if on, err := api.ParseFeatureGates(p.o.FeatureGates); err == nil && !on {
		args = append(args, flagGates+"="+p.o.FeatureGates)
	}
	return args
}

// reporterFlags adds the flags with values other than the reporter's defaults.
func (p *plan) reporterFlags(reporter object) {
	if p.o.Interval != 0 && p.o.Interval != healthpolicy.Interval { // the reporter's default
		reporter["args"] = append(reporter["args"].([]any), flagInterval+"="+
			p.o.Interval.String()) //nolint:forcetypeassert // made above
	}
	if p.set.Spec.Template.Spec.HostNetwork { // the supervisord of another Pod may respond
		reporter["args"] = append(reporter["args"].([]any),
			"--scylla-supervisor-url=") //nolint:forcetypeassert // made above
	}
}

// withCredential returns the reporter and, if the cluster has one, the container of the root
// credential: they share a folder for the order and its result.
func (p *plan) withCredential(reporter object, data []any) []any {
	if !p.credential() {
		return []any{reporter}
	}
	reporter["args"] = append(reporter["args"].([]any), "--credential-dir="+
		api.MountCredential) //nolint:forcetypeassert // made above
	reporter["volumeMounts"] = append(
		reporter["volumeMounts"].([]any), //nolint:forcetypeassert // made above
		any(object{"name": api.VolumeCredential, "mountPath": api.MountCredential}))
	return []any{reporter, p.credentialContainer(data)}
}

// diskMount returns the reporter's mount of the volume with ScyllaDB's data; empty if no mount of
// ScyllaDB fits. It is an empty directory of the volume: with ScyllaDB's maintenance socket, which
// needs no password, the reporter would be superuser.
func (p *plan) diskMount() []corev1.VolumeMount {
	var at string
	var out []corev1.VolumeMount
	for _, m := range p.mounts {
		// The reporter does not have the environment that a subPathExpr refers to.
		if m.SubPathExpr != "" || len(m.MountPath) < len(at) ||
			!strings.HasPrefix(p.dataDir+"/data/", path.Clean(m.MountPath)+"/") {
			continue
		}
		at = m.MountPath
		out = []corev1.VolumeMount{{Name: m.Name, MountPath: api.MountDisk, SubPath: path.Join(m.SubPath, api.DirOwn),
			ReadOnly: true}}
	}
	return out
}

// pullPolicy returns the pull policy of ScyllaDB's container or its Kubernetes default: query and
// ScyllaDB must run the same image.
func (p *plan) pullPolicy() corev1.PullPolicy {
	if p.scylla.ImagePullPolicy == "" && release.Floating(p.scylla.Image) {
		return corev1.PullAlways
	}
	return cmp.Or(p.scylla.ImagePullPolicy, corev1.PullIfNotPresent)
}

// query returns the shell command of the query container. It queries the data directory for whether
// the node has bootstrapped, and for its group 0. It always succeeds: the barrier judges the first
// result, the reporter reports the second.
func query(dataDir string) string {
	dataDir = words.Shell(words.Command{dataDir})
	ask := "/usr/bin/scylla sstable query --system-schema --scylla-data-dir=" + dataDir +
		"/data --output-format=json --keyspace=system "
	return ask + "--table=local --query=\"SELECT bootstrapped, host_id FROM scylla_sstable.local\" " +
		dataDir + "/data/system/local-*/*-Data.db > " + api.FileBootstrappedQuery + "; echo $? > " +
		api.FileBootstrappedQuery + ".code; " +
		ask +
		"--table=scylla_local --query=\"SELECT value FROM scylla_sstable.scylla_local WHERE key = 'raft_group0_id'\" " +
		dataDir + "/data/system/scylla_local-*/*-Data.db > " + api.FileGroup0Query + " || true"
}

func agentEnv() []any {
	var env []any
	for _, d := range downward {
		env = append(env, fromField(d.name, d.field))
	}
	return env
}

func fromField(name, field string) any {
	return object{"name": name, "valueFrom": object{"fieldRef": object{"fieldPath": field}}}
}

// restricted returns the security context of every added container.
func restricted() object {
	return object{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}},
		"seccompProfile": object{"type": "RuntimeDefault"},
	}
}

// agentSecurity returns restricted() plus a user if the Pod's user is root.
func (p *plan) agentSecurity() object {
	s := restricted()
	s["runAsNonRoot"] = true
	if pod := p.set.Spec.Template.Spec.SecurityContext; pod != nil && pod.RunAsUser != nil && *pod.RunAsUser == 0 {
		s["runAsUser"] = int64(65532)
	}
	return s
}

// readerSecurity lets a container only read the volume: it runs as ScyllaDB's user, which is root
// in its image.
func (p *plan) readerSecurity() object {
	var user, group *int64
	if pod := p.set.Spec.Template.Spec.SecurityContext; pod != nil {
		user, group = pod.RunAsUser, pod.RunAsGroup
	}
	if own := p.scylla.SecurityContext; own != nil {
		if own.RunAsUser != nil {
			user = own.RunAsUser
		}
		if own.RunAsGroup != nil {
			group = own.RunAsGroup
		}
	}
	s := restricted()
	s["runAsUser"] = int64(0)
	if user != nil {
		s["runAsUser"] = *user
	}
	if group != nil {
		s["runAsGroup"] = *group
	}
	if s["runAsUser"] == int64(0) {
		// Without it, root cannot read the files of another user.
		s["capabilities"] = object{"drop": []any{"ALL"}, "add": []any{"DAC_OVERRIDE"}}
	} else {
		s["runAsNonRoot"] = true
	}
	return s
}

// asAny converts a list of typed values to the untyped form of an object's fields.
func asAny[T any](list []T) ([]any, error) {
	b, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var out []any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return out, nil
}

// podTemplate returns the Pod template of a StatefulSet, and its spec.
func podTemplate(u *unstructured.Unstructured) (template, spec object) {
	template = child(child(u.Object, "spec"), "template")
	return template, child(template, "spec")
}

// child returns the object in a field, and creates it if missing.
func child(o object, field string) object {
	c, ok := o[field].(object)
	if !ok {
		c = object{}
		o[field] = c
	}
	return c
}

func container(spec object, name string) object {
	list, _ := spec["containers"].([]any)
	for _, v := range list {
		if c, ok := v.(object); ok && c["name"] == name {
			return c
		}
	}
	return object{}
}

// setLabels sets labels in the metadata of o, and returns the previous values of changed labels.
func setLabels(o object, labels map[string]string) map[string]*string {
	there := child(child(o, "metadata"), "labels")
	before := map[string]*string{}
	for k, v := range labels {
		old, ok := there[k].(string)
		if ok && old == v {
			continue
		}
		before[k] = nil
		if ok {
			before[k] = &old
		}
		there[k] = v
	}
	return before
}

const fieldAccount, fieldAccountAlias = "serviceAccountName", "serviceAccount"

func accountNamed(spec object) string {
	name, _ := spec[fieldAccount].(string)
	alias, _ := spec[fieldAccountAlias].(string)
	return cmp.Or(name, alias)
}

// setAccount changes the deprecated alias too: the API server writes it with the name, and takes
// the name from it where only the name was removed.
func setAccount(spec object, name string) {
	for _, field := range []string{fieldAccount, fieldAccountAlias} {
		switch _, has := spec[field]; {
		case name == "":
			delete(spec, field)
		case has, field == fieldAccount:
			spec[field] = name
		}
	}
}
