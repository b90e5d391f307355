// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// justOpened is how long after the barrier's opening its stabilisation time still counts.
const justOpened = 30 * time.Second

// judge repeats the judgement of the Pod's barrier and returns when ScyllaDB may start. False for a
// Pod without a barrier: nothing blocks it. The error is a refusal, or ctx's.
func (o *Options) judge(ctx context.Context, pod *corev1.Pod) (judged bool, err error) {
	i := slices.IndexFunc(pod.Spec.InitContainers,
		func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
	if i < 0 {
		return false, nil
	}
	b, err := o.barrierOptions(&pod.Spec.InitContainers[i])
	if err != nil {
		return false, refuse(*o, malformed{fmt.Sprintf("container %s: %v", api.ContainerBarrier, err)})
	}
	b.Pod, b.PodUID = pod.Name, pod.UID
	b.Launcher, b.Annotation = true, pod.Annotations[api.AnnotationBarrier]
	if s := (&cluster.Member{Pod: pod}).Barrier(); s.Phase == cluster.BarrierPassed && s.Since != nil {
		b.Just = o.Clock.Since(s.Since.Time).Abs() < justOpened
	}
	run := o.Judge
	if run == nil {
		run = barrier.Run
	}
	return true, run(ctx, b)
}

// barrierOptions returns the options of the Pod's barrier, from its command line. Flags of other
// versions and of the process are ignored.
func (o *Options) barrierOptions(c *corev1.Container) (barrier.Options, error) {
	b := barrier.Options{}
	fs := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	parse := barrier.AddFlags(fs, &b)
	var words []string
	for _, w := range slices.Concat(c.Command, c.Args) {
		words = append(words, o.expand(w, c.Env))
	}
	if err := fs.Parse(words); err != nil {
		return b, err
	}
	if err := parse(); err != nil {
		return b, err
	}
	b.NewClient, b.Clock, b.Log = o.Client, o.Clock, o.Log
	b.Namespace, b.Service, b.QueryFile = o.Namespace, cmp.Or(b.Service, o.Service), o.QueryFile
	return b, nil
}

// expand replaces references to variables, as Kubernetes does in a container's arguments. Variables
// from a field, such as the Pod's name, have the same value in this container.
func (o *Options) expand(word string, env []corev1.EnvVar) string {
	for _, e := range env {
		value := e.Value
		if e.ValueFrom != nil {
			i := slices.IndexFunc(o.Environ, func(v string) bool { return strings.HasPrefix(v, e.Name+"=") })
			if i < 0 {
				continue
			}
			value = o.Environ[i][len(e.Name)+1:]
		}
		word = strings.ReplaceAll(word, "$("+e.Name+")", value)
	}
	return word
}
