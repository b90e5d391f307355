// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

type object = map[string]any

// write changes u, which must not be injected yet, and returns the record for Undo. It edits u in place, so that fields that this program does not
// know stay.
func (p *plan) write(u *unstructured.Unstructured) (*record, error) {
	rec := &record{Container: p.scylla.Name, HadCommand: len(p.scylla.Command) > 0}
	place := map[string]string{api.LabelCluster: p.clusterName, api.LabelDatacenter: p.dc, api.LabelRack: p.rack}
	own := map[string]string{api.LabelManagedBy: api.ManagedByUs}
	pod := map[string]string{api.LabelPodType: api.PodTypeNode}
	for k, v := range place {
		own[k], pod[k] = v, v
	}
	template, spec := podTemplate(u)
	rec.Labels, rec.PodLabels = setLabels(u.Object, own), setLabels(template, pod)
	rec.Scraped = scrape(template, p.reporterPort)

	if name, _ := spec["serviceAccountName"].(string); name != p.account {
		rec.ServiceAccount = name
		if name == "" {
			rec.ServiceAccount = none
		}
		spec["serviceAccountName"] = p.account
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
	spec["volumes"] = append(slices.Clone(volumes), any(object{"name": volumeShared, "emptyDir": object{}}))

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

// p8s are the annotations by which a Prometheus without the Prometheus Operator finds the metrics of a Pod, as most of its configurations read them.
func p8s(port int) map[string]string {
	return map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(port), "prometheus.io/path": "/metrics"}
}

// scrape adds the annotations unless the Pods have any of that kind: a Pod has one such port, and it may be ScyllaDB's.
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

// none is the record of a ServiceAccount that was not named.
const none = "-"

// initContainers returns those that run before the person's own, and those that run after them: the barrier is the last container before ScyllaDB.
func (p *plan) initContainers() (before, after []any, err error) {
	reporter := object{
		"name": api.ContainerReporter, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent), "restartPolicy": "Always",
		"args": []any{"reporter", fmt.Sprintf("--health-probe-bind-address=:%d", p.reporterPort), fmt.Sprintf("--heartbeat-bind-address=:%d", p.heartbeatPort),
			"--lease-namespace=" + p.o.ControllerNamespace},
		"env": agentEnv(),
		"ports": []any{
			object{"name": "reporter", "containerPort": int64(p.reporterPort)}, object{"name": "heartbeat", "containerPort": int64(p.heartbeatPort)},
		},
		// On a busy Kubernetes node an answer takes longer than 1 s, the default timeout.
		"startupProbe":   object{"httpGet": object{"path": "/healthz", "port": "reporter"}, "periodSeconds": int64(1), "timeoutSeconds": int64(10), "failureThreshold": int64(60)},
		"readinessProbe": object{"httpGet": object{"path": "/readyz", "port": "reporter"}, "periodSeconds": int64(2), "timeoutSeconds": int64(5)},
		"volumeMounts":   []any{object{"name": volumeShared, "mountPath": api.MountShared, "readOnly": true}},
		"resources":      agentResources(), "securityContext": p.agentSecurity(),
	}
	if p.o.Heartbeat == HeartbeatLease { // the other one is the reporter's own default
		reporter["args"] = append(reporter["args"].([]any), flagHeartbeat+"="+p.o.Heartbeat) //nolint:forcetypeassert // made above
	}
	if p.o.Interval != 0 && p.o.Interval != healthpolicy.Interval { // the reporter's own default
		reporter["args"] = append(reporter["args"].([]any), flagInterval+"="+p.o.Interval.String()) //nolint:forcetypeassert // made above
	}
	if p.set.Spec.Template.Spec.HostNetwork { // there the supervisord of another Pod may answer
		reporter["args"] = append(reporter["args"].([]any), "--scylla-supervisor-url=") //nolint:forcetypeassert // made above
	}
	shared := object{"name": volumeShared, "mountPath": api.MountShared}
	copies := object{
		"name": containerCopy, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent), "args": []any{"copy-to", agent},
		"volumeMounts": []any{shared}, "resources": agentResources(), "securityContext": p.agentSecurity(),
	}
	data, err := asAny(p.mounts)
	if err != nil {
		return nil, nil, err
	}
	asks := object{
		"name": api.ContainerBootstrappedQuery, "image": p.scylla.Image, "imagePullPolicy": string(p.pullPolicy()), "command": []any{"/bin/sh", "-c", query(p.dataDir)},
		// A query that is killed for lack of memory gives no answer: the barrier waits, and nothing is lost.
		"resources":    object{"requests": object{"cpu": "10m", "memory": "64Mi"}, "limits": object{"memory": "2Gi"}},
		"volumeMounts": append(slices.Clone(data), shared, object{"name": volumeShared, "mountPath": "/tmp", "subPath": "tmp"}),
	}
	barrier := object{
		"name": api.ContainerBarrier, "image": p.o.Image, "imagePullPolicy": string(corev1.PullIfNotPresent),
		"args": []any{"barrier", "--lease-namespace=" + p.o.ControllerNamespace, "--scylla-image=" + p.scylla.Image,
			"--scylla-data-dir=" + p.dataDir, fmt.Sprintf("--metrics-bind-address=:%d", p.barrierPort)},
		"env": agentEnv(), "volumeMounts": append(slices.Clone(data), shared), "resources": agentResources(),
		"ports": []any{object{"name": "barrier", "containerPort": int64(p.barrierPort)}}, // docs/monitoring/podmonitors.yaml finds it by its name
	}
	if p.o.Policy == api.PolicyReports { // the other one is the barrier's own default
		barrier["args"] = append(barrier["args"].([]any), flagPolicy+"="+string(p.o.Policy)) //nolint:forcetypeassert // made above
	}
	if p.o.WhenSilent != "" {
		barrier["args"] = append(barrier["args"].([]any), flagSilent+"="+string(p.o.WhenSilent)) //nolint:forcetypeassert // made above
	}
	asks["securityContext"], barrier["securityContext"] = p.readerSecurity(), p.readerSecurity()
	return []any{reporter, copies}, []any{asks, barrier}, nil
}

// pullPolicy returns the policy of ScyllaDB's container, which is Kubernetes' default where it names none: query and ScyllaDB are to be one image.
func (p *plan) pullPolicy() corev1.PullPolicy {
	if p.scylla.ImagePullPolicy == "" && release.Floating(p.scylla.Image) {
		return corev1.PullAlways
	}
	return cmp.Or(p.scylla.ImagePullPolicy, corev1.PullIfNotPresent)
}

// query is the shell command of the query container: it asks the data directory whether the node has bootstrapped, and which group 0 it is in. It always
// succeeds: the barrier judges the first answer, the reporter passes the second one on.
func query(dataDir string) string {
	ask := "/usr/bin/scylla sstable query --system-schema --scylla-data-dir=" + dataDir + "/data --output-format=json --keyspace=system "
	return ask + "--table=local --query=\"SELECT bootstrapped, host_id FROM scylla_sstable.local\" " +
		dataDir + "/data/system/local-*/*-Data.db > " + api.FileBootstrappedQuery + "; echo $? > " + api.FileBootstrappedQuery + ".code; " +
		ask + "--table=scylla_local --query=\"SELECT value FROM scylla_sstable.scylla_local WHERE key = 'raft_group0_id'\" " +
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

func agentResources() object {
	return object{"requests": object{"cpu": "10m", "memory": "32Mi"}, "limits": object{"memory": "128Mi"}}
}

// restricted returns the security context of every added container.
func restricted() object {
	return object{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}}, "seccompProfile": object{"type": "RuntimeDefault"},
	}
}

// agentSecurity is the restricted one; a user is named where the Pod's would be root.
func (p *plan) agentSecurity() object {
	s := restricted()
	s["runAsNonRoot"] = true
	if pod := p.set.Spec.Template.Spec.SecurityContext; pod != nil && pod.RunAsUser != nil && *pod.RunAsUser == 0 {
		s["runAsUser"] = int64(65532)
	}
	return s
}

// readerSecurity lets a container read the volume and nothing else: it runs as ScyllaDB's user, which is root in its image.
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
		// Root without it cannot read the files of another user.
		s["capabilities"] = object{"drop": []any{"ALL"}, "add": []any{"DAC_OVERRIDE"}}
	} else {
		s["runAsNonRoot"] = true
	}
	return s
}

// asAny is a list of typed values as an object's fields have it.
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

// podTemplate is the template of a StatefulSet's Pods, and their spec.
func podTemplate(u *unstructured.Unstructured) (template, spec object) {
	template = child(child(u.Object, "spec"), "template")
	return template, child(template, "spec")
}

// child is the object in a field, made where it is missing.
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

// setLabels sets labels of what has metadata, and returns what they were before where that differs.
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
