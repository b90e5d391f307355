// SPDX-License-Identifier: Apache-2.0

package support

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Redacted replaces a removed value, redactedLabel a label's value, which cannot have brackets.
const (
	Redacted      = mask.Redacted
	redactedLabel = "redacted"
)

// Rules of removal, as counted in the manifest. Fields outside allowed are not counted.
const (
	RuleText  = "secrets within texts"
	RuleLabel = "labels that look like secrets"
	RuleKind  = "data of unknown kinds"
)

// Tally counts the removed values, by rule.
type Tally map[string]int

// Add adds the counts of more.
func (t Tally) Add(more Tally) {
	for rule, n := range more {
		t[rule] += n
	}
}

// never lists kinds that are removed completely, including their names.
var never = map[string]bool{"Secret": true, "ConfigMap": true, "SecretList": true, "ConfigMapList": true}

// Redact returns the allowed fields of an object (decoded from JSON, with its kind) without
// possible secrets in texts, and counts the removed values. The last result is false for Secrets
// and ConfigMaps, which are removed completely. Unknown kinds keep kind, name, namespace and
// creation time.
func Redact(obj map[string]any) (map[string]any, Tally, bool) {
	r := redactor{}
	kind, _ := obj["kind"].(string)
	if never[kind] {
		return nil, Tally{RuleKind: 1}, false
	}
	fields, known := allowed()[kind]
	if !known {
		out := only(obj, "apiVersion", "kind")
		if m, ok := obj["metadata"].(map[string]any); ok {
			out["metadata"] = only(m, "name", "namespace", "creationTimestamp")
		}
		return out, Tally{RuleKind: 1}, true
	}
	return r.object(obj, fields), r.tally(), true
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

// object keeps the allowed fields of m; all of them if f is nil.
func (r redactor) object(m map[string]any, f fields) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if inner, kept := f[k]; kept || f == nil {
			out[k] = r.field(k, v, inner)
		}
	}
	return out
}

// field handles maps with user-defined names, and command lines, by field name at any depth: a
// StatefulSet's template has the same fields as a Pod.
func (r redactor) field(k string, v any, f fields) any {
	switch t := v.(type) {
	case map[string]any:
		switch k {
		case "metadata":
			return r.metadata(t)
		case "annotations":
			return r.annotations(t)
		case "labels", "matchLabels", "selector", "nodeSelector":
			return r.labels(t)
		}
	case []any:
		if k == "args" || k == "command" {
			return r.arguments(t)
		}
	}
	return r.value(v, f)
}

func (r redactor) value(v any, f fields) any {
	switch t := v.(type) {
	case map[string]any:
		return r.object(t, f)
	case []any:
		out := make([]any, len(t))
		for i := range t {
			out[i] = r.value(t[i], f)
		}
		return out
	case string:
		return r.text(t)
	}
	return v
}

// writtenFields are the fields whose time of writing is the age of a row.
var writtenFields = []string{"f:" + api.AnnotationNodeStatusReport, "f:racks", "f:datacenters"}

// ownedFields are the labels and annotations whose writer and time are facts.
var ownedFields = map[string][]string{
	"annotations": {api.AnnotationCopyRenewed},
	"labels":      {api.LabelDecommissioned, api.LabelNodeMaintenance, api.LabelReplace},
}

// owned returns the part of an entry of managedFields about ownedFields, nil if there is none.
func owned(entry map[string]any) map[string]any {
	set, _ := entry["fieldsV1"].(map[string]any)
	all, _ := set["f:metadata"].(map[string]any)
	var out map[string]any
	for in, keys := range ownedFields {
		have, _ := all["f:"+in].(map[string]any)
		about := map[string]any{}
		for _, key := range keys {
			if _, has := have["f:"+key]; has {
				about["f:"+key] = map[string]any{}
			}
		}
		if len(about) > 0 {
			if out == nil {
				out = map[string]any{}
			}
			out["f:"+in] = about
		}
	}
	return out
}

func (r redactor) metadata(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range only(m, "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
		"creationTimestamp", "deletionTimestamp", "finalizers",
		"labels", "annotations", "ownerReferences") {
		out[k] = r.field(k, v, nil)
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
		if metadata := owned(entry); metadata != nil {
			about["f:metadata"] = metadata
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

// documented reports whether an annotation is kept: ours, the Scylla Operator's, and the node
// selected for a PVC's volume. Their documented values have no secrets except in texts.
func documented(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && (domain == "scylladb.com" || strings.HasSuffix(domain, ".scylladb.com")) ||
		key == cluster.SelectedNode
}

func (r redactor) annotations(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch text, _ := v.(string); {
		case k == api.AnnotationNodeStatusReport:
			out[k] = r.jsonText(text)
		case documented(k):
			out[k] = r.text(text)
		}
	}
	return out
}

// jsonText redacts texts within JSON and keeps valid JSON; without secrets it changes no byte.
func (r redactor) jsonText(s string) string {
	if mask.Text(s) == s {
		return s
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return r.text(s)
	}
	data, err := json.Marshal(r.value(v, nil))
	if err != nil {
		return r.out(RuleText)
	}
	return string(data)
}

// labels keeps all names, because selectors of Services and StatefulSets refer to them.
func (r redactor) labels(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		text, ok := v.(string)
		switch {
		case !ok:
			out[k] = r.field(k, v, nil) // a selector with matchLabels
		case text != "" && text != redactedLabel && mask.SecretName(k) || Text(text) != text:
			r.out(RuleLabel)
			out[k] = redactedLabel
		default:
			out[k] = text
		}
	}
	return out
}

// arguments keeps the known programs and flags of a command line, at their positions.
func (r redactor) arguments(list []any) []any {
	out := make([]any, len(list))
	value := false // the next argument is the value of a kept flag
	for i, v := range list {
		arg, _ := v.(string)
		name, _, set := strings.Cut(arg, "=")
		switch {
		case value && !strings.HasPrefix(arg, "-") || flags[name]:
			out[i] = r.text(arg)
		default:
			out[i] = r.script(arg)
		}
		value = flags[name] && !set
	}
	return out
}

// script keeps the same words of a command in a single argument, as of a shell.
func (r redactor) script(arg string) string {
	var out []string
	value := false
	for word := range strings.FieldsSeq(arg) {
		name, _, set := strings.Cut(word, "=")
		switch {
		case value && !strings.HasPrefix(word, "-"), flags[name], programs[path.Base(word)]:
			out = append(out, r.text(word))
		case len(out) == 0 || out[len(out)-1] != Redacted:
			out = append(out, Redacted)
		}
		value = flags[name] && !set
	}
	return strings.Join(out, " ")
}
