// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
)

// chartDir has the Helm chart. Its templates with objects and its files are generated, the other
// files are not.
const chartDir = "docs/install/chart/"

// The placeholders of values in the generated objects.
const (
	imageHere     = "IMAGE-HERE"
	argsHere      = "ARGUMENTS-HERE"
	namespaceHere = "NAMESPACE-HERE"
)

const (
	crdHead = `{{- /* Helm neither upgrades nor replaces what is in a chart's folder crds, so the CRDs are here. ` +
		`"keep": helm uninstall would delete all reports with them. */}}
{{- $have := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "%[1]s" | default dict }}
{{- $version := dig "metadata" "annotations" "` + manifests.VersionAnnotation + `" "dev" $have }}
{{- if not (or .Values.allowDowngrade (has "dev" (list $version .Chart.AppVersion))) }}
{{- if lt ((semver .Chart.AppVersion).Compare (semver $version)) 0 }}
{{- fail (printf "version %%s is installed, this chart is %%s: fields of the CRDs that it does not know would be lost; ` +
		`use a newer chart, or set allowDowngrade=true when no join, replacement or inject is in progress" ` +
		`$version .Chart.AppVersion) }}
{{- end }}
{{- end }}
`
	sharedHead = `{{- /* The Scylla Operator has this CRD too: it is left alone as soon as another manager has ` +
		`applied it, as "kubectl scylla install" does. */}}
{{- $have := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "%[1]s" | default dict }}
{{- $managers := dict }}
{{- range dig "metadata" "managedFields" list $have }}
{{- if not .subresource }}{{ $_ := set $managers .manager true }}{{ end }}
{{- end }}
{{- $ours := and (le (len $managers) 1) ` +
		`(eq .Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $have)) }}
{{- if and (not .Values.scyllaOperator) (or (not $have) $ours) }}
`
	arguments = `{{- with .Values.namespaces }}
        - --namespaces={{ join "," . }}
        {{- end }}
        {{- if .Values.monitoring.secure }}
        - --metrics-secure
        {{- end }}
        {{- if not .Values.featureGates.BootstrapSynchronisation }}
        - --feature-gates=BootstrapSynchronisation=false
        {{- end }}
        {{- with .Values.policy.stabilisation }}
        - --stabilisation={{ . }}
        {{- end }}
        {{- with .Values.policy.maxPermits }}
        - --max-permits={{ . }}
        {{- end }}`
)

// The annotations for a Prometheus without the Prometheus Operator.
const (
	port   = `        prometheus.io/port: "8080"`
	scheme = `        {{- if .Values.monitoring.secure }}
        prometheus.io/scheme: https
        {{- end }}`
)

// chart adds the generated templates and files of the chart: the objects that `kubectl scylla
// install` applies, without the namespace, which Helm creates.
func chart(root string, files []file) ([]file, error) {
	options := manifests.Options{Image: imageHere, Replicas: 2, ControllerArgs: []string{argsHere}}
	objects, err := manifests.Objects(options)
	if err != nil {
		return nil, fmt.Errorf("generate the chart: %w", err)
	}
	options.Namespaces, options.MetricsSecure = []string{namespaceHere}, true
	scoped, err := manifests.Objects(options)
	if err != nil {
		return nil, fmt.Errorf("generate the chart: %w", err)
	}
	for _, u := range scoped {
		if u.GetName() == manifests.NamespaceRole || u.GetName() == manifests.MetricsBinding {
			objects = append(objects, u)
		}
	}
	templates := map[string]string{}
	for _, u := range objects {
		if u.GetKind() == "Namespace" {
			continue
		}
		name, text, err := template(u)
		if err != nil {
			return nil, fmt.Errorf("generate the chart: %w", err)
		}
		templates[name] += text
	}
	for name, text := range templates {
		files = append(files, file{name: chartDir + "templates/" + name, mode: 0o644, data: []byte(text)})
	}
	for _, name := range []string{"podmonitors.yaml", "prometheusrule.yaml"} {
		b, err := os.ReadFile(filepath.Join(root, "docs", "monitoring", name))
		if err != nil {
			return nil, fmt.Errorf("generate the chart: %w", err)
		}
		files = append(files, file{name: chartDir + "files/" + name, mode: 0o644, data: b})
	}
	return files, nil
}

// template returns an object as a part of a template, and the template's name.
func template(u *unstructured.Unstructured) (name, text string, err error) {
	var head, end string
	var values []string // placeholder, template
	name = "access.yaml"
	switch u.GetKind() {
	case "CustomResourceDefinition":
		name, head = "crds.yaml", fmt.Sprintf(crdHead, u.GetName())
		kept := map[string]string{"helm.sh/resource-policy": "keep", manifests.VersionAnnotation: imageHere}
		values = []string{imageHere, "{{ .Chart.AppVersion | quote }}"}
		if u.GetName() == manifests.SharedKind {
			head, end = fmt.Sprintf(sharedHead, u.GetName()), "{{- end }}\n"
			delete(kept, manifests.VersionAnnotation)
			values = nil
		}
		for k, v := range u.GetAnnotations() {
			kept[k] = v
		}
		u.SetAnnotations(kept)
	case "ClusterRole", "ClusterRoleBinding":
		switch u.GetName() {
		case manifests.ControllerRole:
			head, end = "{{- if not .Values.namespaces }}\n", "{{- end }}\n"
		case manifests.MetricsBinding:
			head, end = "{{- if .Values.monitoring.secure }}\n", "{{- end }}\n"
		}
	case "Role", "RoleBinding":
		if u.GetName() == manifests.NamespaceRole {
			head, end = "{{- range .Values.namespaces }}\n", "{{- end }}\n"
			values = []string{"  namespace: " + namespaceHere, "  namespace: {{ . }}"}
		}
	case "Deployment", "PriorityClass":
		name = "controller.yaml"
		if u.GetKind() == "Deployment" {
			values = []string{"image: " + imageHere, "image: {{ .Values.image | quote }}",
				"replicas: 2", "replicas: {{ .Values.replicas }}", "- " + argsHere, arguments,
				port, port + "\n" + scheme}
		}
	case "PodDisruptionBudget":
		name, head, end = "controller.yaml", "{{- if gt (int .Values.replicas) 1 }}\n", "{{- end }}\n"
	}
	b, err := install.Documents([]*unstructured.Unstructured{u})
	if err != nil {
		return "", "", err
	}
	if bytes.Contains(b, []byte("{{")) {
		return "", "", fmt.Errorf("%s has {{, which Helm would expand", install.Name(u))
	}
	text = string(b)
	for i := 0; i < len(values); i += 2 {
		if strings.Count(text, values[i]) != 1 {
			return "", "", fmt.Errorf("%s has %q %d times, want once", install.Name(u), values[i],
				strings.Count(text, values[i]))
		}
		text = strings.Replace(text, values[i], values[i+1], 1)
	}
	return name, head + text + end, nil
}

// packed returns the chart of a release below dist: with its version, and with its image as the
// default if the repository is known.
func packed(root, version, repository string) (files []file, err error) {
	base := filepath.Join(root, filepath.FromSlash(chartDir)) + string(filepath.Separator)
	replace := map[string][2]string{"Chart.yaml": {"\nversion: 0.0.0\nappVersion: dev\n",
		"\nversion: " + version + "\nappVersion: " + version + "\n"}}
	if repository != "" {
		replace["values.yaml"] = [2]string{"\nimage: \"\"\n", "\nimage: " + repository + ":" + version + "\n"}
	}
	err = filepath.WalkDir(base, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(name, base))
		if r, ok := replace[rel]; ok {
			if bytes.Count(data, []byte(r[0])) != 1 {
				return fmt.Errorf("%s has no %q", rel, r[0])
			}
			data = bytes.Replace(data, []byte(r[0]), []byte(r[1]), 1)
			delete(replace, rel)
		}
		files = append(files, file{name: "dist/chart/" + rel, mode: 0o644, data: data})
		return nil
	})
	if err == nil && len(replace) > 0 {
		err = fmt.Errorf("%d files are missing", len(replace))
	}
	if err != nil {
		return nil, fmt.Errorf("make the chart of a release: %w", err)
	}
	return files, nil
}
