// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// guardable reports whether a StatefulSet runs ScyllaDB and is not the Scylla Operator's, which has
// its own barrier.
func guardable(s *appsv1.StatefulSet) bool {
	return s.Labels[api.LabelCluster] != "" && !operators(s) && container(s) != nil
}

func operators(s *appsv1.StatefulSet) bool {
	return s.Labels[api.LabelManagedBy] == api.ManagedByOperator
}

func subject(s *appsv1.StatefulSet) string { return "statefulset " + s.Namespace + "/" + s.Name }

func container(s *appsv1.StatefulSet) *corev1.Container {
	return cluster.ScyllaDBContainer(&s.Spec.Template.Spec)
}

func initContainer(s *appsv1.StatefulSet, name string) *corev1.Container {
	all := s.Spec.Template.Spec.InitContainers
	if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func agentOf(d *appsv1.Deployment) string {
	if d == nil || len(d.Spec.Template.Spec.Containers) == 0 {
		return ""
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// gates checks the four parts that `inject` adds.
func (c *checker) gates(s *appsv1.StatefulSet) {
	if c.in.Pre {
		return // before an installation they are not missing
	}
	from, template := len(c.results), &s.Spec.Template.Spec
	missing := missingGates(template)
	inject := words.Scylla(s.Namespace, "inject", api.ClusterOf(s.Labels))
	for _, gate := range missing {
		c.add("gates", subject(s), Failed, words.New(words.GateMissing, "gate", gate),
			words.New(words.StepInject).Do(inject))
	}
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		if o := metav1.GetControllerOf(p); o == nil || o.Name != s.Name || p.Namespace != s.Namespace {
			continue
		}
		for _, gate := range missingGates(&p.Spec) {
			if !slices.Contains(missing, gate) {
				c.add("gates", "pod "+p.Namespace+"/"+p.Name, Failed, words.New(words.PodGateMissing, "gate", gate),
					words.New(words.StepRoll).Do(inject))
			}
		}
	}
	c.fine(from, "gates", subject(s), words.New(words.GatesThere))
}

// missingGates returns which of the four parts a Pod or Pod template lacks.
func missingGates(spec *corev1.PodSpec) []string {
	var out []string
	for _, name := range []string{api.ContainerReporter, api.ContainerBootstrappedQuery, api.ContainerBarrier} {
		if !slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == name }) {
			out = append(out, name)
		}
	}
	if c := cluster.ScyllaDBContainer(spec); c != nil && !slices.Contains(slices.Concat(c.Command, c.Args), "launch") {
		out = append(out, "scylla-agent launch")
	}
	return out
}

func (c *checker) probes(s *appsv1.StatefulSet) {
	from := len(c.results)
	if container(s).ReadinessProbe == nil {
		c.add("probes", subject(s), Warning, words.New(words.ReadinessMissing), words.New(words.StepReadiness))
	}
	if container(s).LivenessProbe != nil {
		c.add("probes", subject(s), Warning, words.New(words.LivenessKills), words.New(words.StepLiveness))
	}
	c.fine(from, "probes", subject(s), words.New(words.ReadinessThere))
}

// seeds warns about seeds in the user's command line that are members of the cluster: a member
// whose only seed is itself bootstraps a second cluster. launch removes them; any other start does
// not.
func (c *checker) seeds(s *appsv1.StatefulSet) {
	for _, arg := range slices.Concat(container(s).Command, container(s).Args) {
		value, ok := strings.CutPrefix(arg, "--seeds=")
		if !ok {
			continue
		}
		for _, seed := range strings.Split(value, ",") {
			name, _, _ := strings.Cut(seed, ".")
			if c.member(s.Namespace, name) {
				c.add("seeds", subject(s), Warning, words.New(words.SeedsOfOwn, "seed", seed),
					words.New(words.StepSeeds))
				return
			}
		}
	}
	c.add("seeds", subject(s), OK, words.New(words.SeedsChosen))
}

// member reports whether name is a Pod of one of the StatefulSets.
func (c *checker) member(namespace, name string) bool {
	return slices.ContainsFunc(c.in.StatefulSets, func(s appsv1.StatefulSet) bool {
		ordinal, ok := strings.CutPrefix(name, s.Name+"-")
		return ok && s.Namespace == namespace && ordinal != "" && strings.Trim(ordinal, "0123456789") == ""
	})
}

func (c *checker) update(s *appsv1.StatefulSet) {
	from := len(c.results)
	if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		c.add("statefulset", subject(s), Warning, words.New(words.OnDelete), words.New(words.StepUpdate))
	}
	if len(s.Spec.VolumeClaimTemplates) == 0 {
		c.add("statefulset", subject(s), Failed, words.New(words.NoClaim), words.New(words.StepClaim))
	}
	c.fine(from, "statefulset", subject(s), words.New(words.UpdateFits))
}

func (c *checker) budget(s *appsv1.StatefulSet) {
	if c.in.PDBErr != "" {
		c.add("budget", subject(s), Unknown, words.New(words.CannotTell, "why", c.in.PDBErr))
		return
	}
	i := slices.IndexFunc(c.in.PDBs, func(p policyv1.PodDisruptionBudget) bool {
		sel, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		return p.Namespace == s.Namespace && err == nil && !sel.Empty() &&
			sel.Matches(labels.Set(s.Spec.Template.Labels))
	})
	if i < 0 {
		c.add("budget", subject(s), Warning, words.New(words.BudgetMissing), words.New(words.StepBudget))
		return
	}
	p, from := &c.in.PDBs[i], len(c.results)
	if m := p.Spec.MaxUnavailable; m == nil || m.StrVal != "" || m.IntVal > 1 {
		c.add("budget", subject(s), Warning, words.New(words.BudgetTooWide, "budget", p.Name),
			words.New(words.StepBudget))
	}
	if u := p.Spec.UnhealthyPodEvictionPolicy; u == nil || *u != policyv1.AlwaysAllow {
		c.add("budget", subject(s), Warning, words.New(words.BudgetHoldsUnhealthy, "budget", p.Name),
			words.New(words.StepUnhealthy).Do(
				words.Kubectl(p.Namespace, "patch", "poddisruptionbudget", p.Name, "--type=merge", "-p",
					`{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`)))
	}
	c.fine(from, "budget", subject(s), words.New(words.BudgetThere, "budget", p.Name))
}

// images with one name and different content: the tag was pushed again.
func (c *checker) images() {
	ids := map[string][]string{}
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if s.ImageID != "" && !slices.Contains(ids[s.Image], s.ImageID) {
				ids[s.Image] = append(ids[s.Image], s.ImageID)
			}
		}
	}
	from := len(c.results)
	for _, image := range slices.Sorted(maps.Keys(ids)) {
		if n := len(ids[image]); n > 1 {
			c.add("images", "", Warning, words.New(words.ImagesDiffer, "image", image, "digests", n),
				words.New(words.StepImages))
		}
	}
	if len(ids) > 0 {
		c.fine(from, "images", "", words.New(words.ImagesAgree, "images", len(ids)))
	}
}

// services: a member's DNS name needs a Service with its name that selects its Pod.
func (c *checker) services() {
	from, seen := len(c.results), 0
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		if p.Labels[api.LabelCluster] == "" || c.in.Pre || p.Labels[api.LabelManagedBy] == api.ManagedByOperator {
			continue
		}
		seen++
		svc, pod := c.service(p.Namespace, p.Name), "pod "+p.Namespace+"/"+p.Name
		switch {
		case svc == nil:
			c.add("services", pod, Failed, words.New(words.ServiceMissing, "service", p.Name),
				words.New(words.StepService))
		case !labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(p.Labels)):
			c.add("services", pod, Failed, words.New(words.ServiceSelectsOther, "service", p.Name),
				words.New(words.StepService))
		}
	}
	if seen > 0 {
		c.fine(from, "services", "", words.New(words.ServicesThere, "services", seen))
	}
}

// forced lists members and StatefulSets with the force annotation, whose next start skips the
// barrier.
func (c *checker) forced() {
	for i := range c.in.StatefulSets {
		if s := &c.in.StatefulSets[i]; cluster.Forces(s) {
			c.add("force", subject(s), Warning, words.New(words.ForcedNext, "annotation", api.AnnotationForceProceed),
				words.New(words.StepUndoForce).Do(
					words.Scylla(s.Namespace, "force-proceed", "--cluster", api.ClusterOf(s.Labels), "--undo")))
		}
	}
	for i := range c.in.Services {
		if s := &c.in.Services[i]; cluster.Forces(s) && s.Annotations[api.AnnotationForcePropagatedFrom] == "" {
			c.add("force", "service "+s.Namespace+"/"+s.Name, Warning,
				words.New(words.ForcedNext, "annotation", api.AnnotationForceProceed),
				words.New(words.StepUndoForce).Do(
					words.Scylla(s.Namespace, "force-proceed", s.Name, "--undo")))
		}
	}
}

func (c *checker) reporters() {
	from := len(c.results)
	for _, name := range slices.Sorted(maps.Keys(c.in.Reach)) {
		if why := c.in.Reach[name]; why != "" {
			ns, pod, _ := strings.Cut(name, "/")
			look := words.Kubectl(ns, "logs", pod, "-c", api.ContainerReporter)
			for i := range c.in.Pods {
				if p := &c.in.Pods[i]; p.Namespace == ns && p.Name == pod &&
					cluster.LogOfContainer(p, api.ContainerReporter).None {
					look = words.Kubectl(ns, "describe", "pod", pod)
				}
			}
			c.add("reporters", "pod "+name, Failed, words.New(words.ReporterDoesNotAnswer, "why", why),
				words.New(words.StepReporterLog).Do(look))
		}
	}
	if len(c.in.Reach) > 0 {
		c.fine(from, "reporters", "", words.New(words.ReportersAnswer, "reporters", len(c.in.Reach)))
	}
}
