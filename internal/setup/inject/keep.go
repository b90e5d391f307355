// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// flagInterval is the reporter's flag for the time between two polls.
const flagInterval = "--status-report-interval"

// flagPolicy is the barrier's flag for its policy.
const flagPolicy = "--policy"

// FlagVersion is the plugin's flag for Options.AnyVersion.
const FlagVersion = "--allow-version"

// flagGates is the barrier's flag for its feature gates.
const flagGates = "--feature-gates"

// settings are the values that a second injection keeps, so that a user who only changes the image
// need not repeat them.
type settings struct {
	policy   api.Policy
	interval time.Duration
	root     credential.Mode
	gates    string
}

// given returns the settings of the previous injection. Error: a flag in the manifest has a value
// that no barrier accepts.
func given(u *unstructured.Unstructured) (settings, error) {
	s := settings{root: credential.Mode(u.GetAnnotations()[api.AnnotationRootCredential])}
	if err := checkMode(s.root); err != nil {
		return s, err
	}
	if _, injected := u.GetAnnotations()[api.AnnotationInjected]; !injected {
		return s, nil
	}
	if text, there := argOf(u, api.ContainerReporter, flagInterval); there {
		var err error
		if s.interval, err = time.ParseDuration(text); err != nil || !IsInterval(s.interval) {
			return s,
				fmt.Errorf(
					"spec.template.spec.initContainers[%s].args: invalid %s=%s: must be a duration from %v to %v",
					api.ContainerReporter, flagInterval, shorten(text), healthpolicy.LeastInterval,
					healthpolicy.MostInterval)
		}
	}
	s.gates, _ = argOf(u, api.ContainerBarrier, flagGates)
	if _, err := api.ParseFeatureGates(s.gates); err != nil {
		return s, fmt.Errorf("spec.template.spec.initContainers[%s].args: %s: %w", api.ContainerBarrier, flagGates, err)
	}
	policy, there := argOf(u, api.ContainerBarrier, flagPolicy)
	switch s.policy = api.Policy(policy); {
	case !there, s.policy == api.PolicyPermits, s.policy == api.PolicyReports:
	default:
		return s, fmt.Errorf("spec.template.spec.initContainers[%s].args: unknown %s=%s: use one of %s, %s",
			api.ContainerBarrier, flagPolicy, shorten(policy), api.PolicyPermits, api.PolicyReports)
	}
	return s, nil
}

// keep fills unset options with the previous settings.
func (o *Options) keep(before settings) {
	o.Interval = cmp.Or(o.Interval, before.interval)
	o.Policy = cmp.Or(o.Policy, before.policy)
	o.FeatureGates = cmp.Or(o.FeatureGates, before.gates)
	o.RootCredential = cmp.Or(o.RootCredential, before.root)
}

// IsInterval reports whether a reporter with a heartbeat accepts d as the time between two polls.
func IsInterval(d time.Duration) bool {
	return d >= healthpolicy.LeastInterval && d <= healthpolicy.MostInterval
}

// argOf returns the value of a flag of an init container, and whether the flag is set.
func argOf(u *unstructured.Unstructured, container, flag string) (string, bool) {
	_, spec := podTemplate(u.DeepCopy())
	list, _ := spec["initContainers"].([]any)
	for _, v := range list {
		c, _ := v.(object)
		if c["name"] != container {
			continue
		}
		args, _ := c["args"].([]any)
		for _, a := range args {
			if text, ok := a.(string); ok {
				if value, ok := strings.CutPrefix(text, flag+"="); ok {
					return value, true
				}
			}
		}
	}
	return "", false
}
