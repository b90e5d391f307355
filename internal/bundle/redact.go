// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Redacted replaces a removed value.
const Redacted = "[redacted]"

// Rules by which values are removed, as the manifest counts them.
const (
	RuleEnv         = "environment values"
	RuleArgument    = "arguments that look like secrets"
	RuleAnnotation  = "annotations of others"
	RuleLastApplied = "last-applied configurations"
	RuleText        = "secrets within texts"
	RuleField       = "fields that look like secrets"
	RuleVolume      = "volume settings"
	RuleHeader      = "headers of probes"
	RuleKind        = "data of unknown kinds"
)

// Tally counts the removed values, by rule.
type Tally map[string]int

// Add adds the counts of more.
func (t Tally) Add(more Tally) {
	for rule, n := range more {
		t[rule] += n
	}
}

// kept are the kinds whose contents an archive may hold. All others keep their name at most.
var kept = map[string]bool{
	"Service": true, "Pod": true, "StatefulSet": true, "PersistentVolumeClaim": true, "Event": true, "Lease": true,
	"ScyllaDBDatacenterNodesStatusReport": true, "ScyllaDBStatusReport": true, "ScyllaCluster": true, "ScyllaDBDatacenter": true, "ScyllaDBCluster": true,
}

// never are the kinds of which not even the name is kept.
var never = map[string]bool{"Secret": true, "ConfigMap": true, "SecretList": true, "ConfigMapList": true}

// Redact returns a copy of an object (as decoded from JSON, with its kind) without possible secrets, and the count of the removed values. The last result is false for Secrets
// and ConfigMaps, of which nothing is kept. Of unknown kinds only kind, name, namespace and age are kept.
func Redact(obj map[string]any) (map[string]any, Tally, bool) {
	r := redactor{}
	kind, _ := obj["kind"].(string)
	if never[kind] {
		return nil, Tally{RuleKind: 1}, false
	}
	if kind == "Node" {
		obj = machine(obj)
	} else if !kept[kind] {
		out := map[string]any{"kind": kind}
		if v, ok := obj["apiVersion"].(string); ok {
			out["apiVersion"] = v
		}
		if m, ok := obj["metadata"].(map[string]any); ok {
			out["metadata"] = only(m, "name", "namespace", "creationTimestamp")
		}
		return out, Tally{RuleKind: 1}, true
	}
	out := r.fields(obj)
	return out, r.tally(), true
}

// machine keeps the fields of a Kubernetes node that tell whether Pods can run on it; images, volumes and the cloud provider's ID go.
func machine(obj map[string]any) map[string]any {
	out := only(obj, "apiVersion", "kind", "metadata")
	if spec, ok := obj["spec"].(map[string]any); ok {
		out["spec"] = only(spec, "taints", "unschedulable")
	}
	if status, ok := obj["status"].(map[string]any); ok {
		out["status"] = only(status, "addresses", "allocatable", "capacity", "conditions", "nodeInfo")
	}
	return out
}

type redactor map[string]int

func (r redactor) tally() Tally { return Tally(r) }

func (r redactor) out(rule string) string {
	r[rule]++
	return Redacted
}

func only(m map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		if v, ok := m[k]; ok {
			out[k] = v
		}
	}
	return out
}

// fields works by field names at any depth: a Pod's spec is also in the template of a StatefulSet.
func (r redactor) fields(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = r.field(k, v)
	}
	return out
}

func (r redactor) field(k string, v any) any {
	switch t := v.(type) {
	case map[string]any:
		switch k {
		case "metadata":
			return r.metadata(t)
		case "annotations":
			return r.annotations(t)
		case "labels", "matchLabels", "selector", "nodeSelector":
			return r.labels(t)
		case "data", "stringData", "binaryData":
			return r.out(RuleKind)
		}
	case []any:
		switch k {
		case "env":
			return r.each(t, r.env)
		case "args", "command":
			return r.arguments(t)
		case "httpHeaders":
			return r.each(t, r.header)
		case "volumes":
			return r.each(t, r.volume)
		}
	case string:
		if t != "" && t != Redacted && secretName(k) && !reference(k) {
			return r.out(RuleField)
		}
	}
	return r.value(v)
}

func (r redactor) value(v any) any {
	switch t := v.(type) {
	case map[string]any:
		return r.fields(t)
	case []any:
		out := make([]any, len(t))
		for i := range t {
			out[i] = r.value(t[i])
		}
		return out
	case string:
		return r.text(t)
	}
	return v
}

func (r redactor) each(list []any, one func(map[string]any) map[string]any) []any {
	out := make([]any, len(list))
	for i := range list {
		if m, ok := list[i].(map[string]any); ok {
			out[i] = one(m)
		} else {
			out[i] = r.value(list[i])
		}
	}
	return out
}

// reference is a field that names a secret and holds none.
func reference(k string) bool {
	return strings.HasSuffix(k, "Name") || strings.HasSuffix(k, "Ref") || strings.HasSuffix(k, "KeyRef") || strings.HasSuffix(k, "Path")
}

// writtenFields are the fields whose time of writing is the age of a row.
var writtenFields = []string{"f:" + api.AnnotationNodeStatusReport, "f:racks", "f:datacenters"}

func (r redactor) metadata(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range only(m, "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers",
		"labels", "annotations", "ownerReferences") {
		out[k] = r.field(k, v)
	}
	entries, _ := m["managedFields"].([]any)
	var short []any
	for _, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok {
			continue
		}
		raw, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			continue
		}
		about := map[string]any{}
		for _, f := range writtenFields {
			if strings.Contains(string(raw), f) {
				about[f] = map[string]any{}
			}
		}
		if len(about) > 0 {
			e := only(entry, "manager", "operation", "time", "apiVersion", "fieldsType")
			e["fieldsV1"] = about
			short = append(short, e)
		}
	}
	if short != nil {
		out["managedFields"] = short
	}
	return out
}

// trusted are the domains whose labels and annotations are documented and hold no secrets.
func trusted(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	for _, d := range []string{"scylla", "scylladb.com", "kubernetes.io", "k8s.io"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return false
}

func (r redactor) annotations(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		text, ok := v.(string)
		switch {
		case !ok || text == Redacted:
			out[k] = Redacted
		case strings.Contains(k, "last-applied"):
			out[k] = r.out(RuleLastApplied)
		case k == api.AnnotationNodeStatusReport:
			out[k] = r.jsonText(text)
		case !trusted(k):
			out[k] = r.out(RuleAnnotation)
		default:
			out[k] = r.text(text)
		}
	}
	return out
}

// jsonText redacts the texts within JSON so that it stays JSON; a text without secrets stays byte for byte.
func (r redactor) jsonText(s string) string {
	if Text(s) == s {
		return s
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return r.text(s)
	}
	data, err := json.Marshal(r.value(v))
	if err != nil {
		return r.out(RuleAnnotation)
	}
	return string(data)
}

func (r redactor) labels(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		text, ok := v.(string)
		switch {
		case !ok:
			out[k] = r.value(v) // a selector with matchLabels
		case text != "" && text != Redacted && !trusted(k) && secretName(k):
			out[k] = r.out(RuleField)
		default:
			out[k] = r.text(text)
		}
	}
	return out
}

func (r redactor) env(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		switch k {
		case "name":
			out[k] = v
		case "value":
			if v == "" || v == Redacted {
				out[k] = v
				continue
			}
			out[k] = r.out(RuleEnv)
		case "valueFrom":
			out[k] = r.value(v)
		}
	}
	return out
}

func (r redactor) header(m map[string]any) map[string]any {
	out := only(m, "name")
	if v, ok := m["value"]; ok {
		out["value"] = v
		if v != "" && v != Redacted {
			out["value"] = r.out(RuleHeader)
		}
	}
	return out
}

// volume keeps what kind of volume it is and what it refers to.
func (r redactor) volume(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		switch k {
		case "name":
			out[k] = v
		case "persistentVolumeClaim", "emptyDir", "hostPath", "downwardAPI":
			out[k] = r.value(v)
		case "secret", "configMap":
			inner, _ := v.(map[string]any)
			out[k] = only(inner, "secretName", "name", "optional")
		default:
			if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
				r.out(RuleVolume)
			}
			out[k] = map[string]any{}
		}
	}
	return out
}

// arguments of a command line: the value of a flag may stand in the next one.
func (r redactor) arguments(list []any) []any {
	out := make([]any, len(list))
	hide := false // the next argument is the value of a secret flag
	for i, v := range list {
		arg, ok := v.(string)
		if !ok {
			out[i], hide = r.value(v), false
			continue
		}
		name, value, set := strings.Cut(arg, "=")
		flag := strings.HasPrefix(arg, "-") && !strings.ContainsAny(name, " \t\n")
		switch {
		case hide && arg != "" && arg != Redacted:
			out[i] = r.out(RuleArgument)
		case flag && set && value != "" && value != Redacted && (secretName(name) || random(value)):
			out[i] = name + "=" + r.out(RuleArgument)
		case random(arg):
			out[i] = r.out(RuleArgument)
		default:
			out[i] = r.text(arg)
		}
		hide = flag && !set && !hide && (secretName(name) || name == "-u" || name == "--user")
		if hide && i+1 < len(list) {
			next, _ := list[i+1].(string)
			// "--user name" is no secret, "--user name:password" is; a flag is no value.
			hide = !strings.HasPrefix(next, "-") && (secretName(name) || strings.Contains(next, ":"))
		}
	}
	return out
}
