// SPDX-License-Identifier: Apache-2.0

package barrier_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const newcomer = "demo-dc1-rack2-1"

// waits is a cluster where a newcomer waits because a node is down.
func waits() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	return c
}

func healthy() *plugintest.Cluster {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack2", 1)
	return c
}

func with(c *plugintest.Cluster, f func(*plugintest.Cluster)) []client.Object {
	f(c)
	return c.Objects()
}

func TestBarrier(t *testing.T) {
	narrow := cli.Terminal{Out: true, Width: 80, Height: 24}
	other := plugintest.NewNamed("prod", "analytics", "eu", 1, 1)
	other.Newcomer("eu", "rack1", 1)
	cases := map[string]plugintest.Run{
		"must wait": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: waits().Objects()},
		"all must stay UP": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(healthy(), func(c *plugintest.Cluster) {
			since := metav1.NewTime(plugintest.Now.Add(-3 * time.Second))
			text, err := api.EncodeBarrierWait(&api.BarrierWait{StableSince: &since, StableFor: metav1.Duration{Duration: 10 * time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			c.Pod(newcomer).Annotations = map[string]string{api.AnnotationBarrier: text}
		})},
		"may start": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: healthy().Objects()},
		"json":      {Args: []string{"barrier", newcomer, "-n", "demo", "-o", "json"}, Objects: waits().Objects()},
		"yaml":      {Args: []string{"barrier", newcomer, "-n", "demo", "-o", "yaml"}, Objects: healthy().Objects()},
		"a field":   {Args: []string{"barrier", newcomer, "-n", "demo", "-o", "jsonpath={.items[*].verdict.blockers[*].reason}"}, Objects: waits().Objects()},
		"many blockers on a terminal": {Args: []string{"barrier", newcomer, "-n", "demo"}, Terminal: narrow, Objects: with(plugintest.New(3, 8).Down("demo-dc1-rack3-0"), func(c *plugintest.Cluster) {
			// rack2-1 exists in a cluster of this size: another newcomer, under the next ordinal, then answers to the name.
			c.Newcomer("dc1", "rack2", 8)
			c.Service(newcomer).Annotations = nil
		})},
		"forced": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) {
			c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceReason: "drill"}
		})},
		"a force that is no force": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(healthy(), func(c *plugintest.Cluster) {
			c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "yes"}
		})},
		"replacing": {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) {
			c.Service(newcomer).Labels[api.LabelReplacingNodeHostID] = plugintest.HostID(2)
		})},
		"a member that runs":            {Args: []string{"barrier", "demo-dc1-rack1-0", "-n", "demo"}, Objects: waits().Objects()},
		"a member that crashes":         {Args: []string{"barrier", "demo-dc1-rack3-0", "-n", "demo"}, Objects: waits().Objects()},
		"a lost report":                 {Args: []string{"barrier", newcomer, "-n", "demo", "--source", "report"}, Objects: with(healthy(), func(c *plugintest.Cluster) { c.NoReports() })},
		"the first of a cluster":        {Args: []string{"barrier", "demo-dc1-rack1-0", "-n", "demo"}, Objects: with(plugintest.New(0, 0), func(c *plugintest.Cluster) { c.Newcomer("dc1", "rack1", 0) })},
		"a Pod without a barrier":       {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) { unguard(c.Pod(newcomer)) })},
		"a Pod that is not there":       {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) { c.Ghost(newcomer) })},
		"a barrier that refused":        {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) { refused(c.Pod(newcomer)) })},
		"a barrier that is not open":    {Args: []string{"barrier", newcomer, "-n", "demo"}, Objects: with(waits(), func(c *plugintest.Cluster) { pending(c.Pod(newcomer)) })},
		"who waits":                     {Args: []string{"barrier", "-n", "demo"}, Objects: waits().Objects()},
		"who waits anywhere":            {Args: []string{"barrier", "-A"}, Objects: append(waits().Objects(), other.Objects()...)},
		"nobody waits":                  {Args: []string{"barrier", "-n", "demo"}, Objects: plugintest.New(3, 1).Objects()},
		"who waits, by name":            {Args: []string{"barrier", "-n", "demo", "-o", "name"}, Objects: waits().Objects()},
		"who waits, as a document":      {Args: []string{"barrier", "-n", "demo", "-o", "jsonpath={.kind}: {.items[*].metadata.name}"}, Objects: waits().Objects()},
		"a member without a Service":    {Args: []string{"barrier", "-n", "demo"}, Objects: with(plugintest.New(3, 1), func(c *plugintest.Cluster) { *c.Set("dc1", "rack2").Spec.Replicas = 2 })},
		"an unknown member":             {Args: []string{"barrier", "demo-dc1-rack2-7", "-n", "demo"}, Objects: waits().Objects()},
		"a member of another namespace": {Args: []string{"barrier", "analytics-eu-rack1-1", "-n", "demo"}, Objects: append(waits().Objects(), other.Objects()...)},
		"a member found anywhere":       {Args: []string{"barrier", "analytics-eu-rack1-1", "-A"}, Objects: append(waits().Objects(), other.Objects()...)},
		"wait for nobody":               {Args: []string{"barrier", "-n", "demo", "--wait", "--timeout=0"}, Objects: waits().Objects()},
		"wait without time":             {Args: []string{"barrier", newcomer, "-n", "demo", "--wait", "--timeout=0"}, Objects: waits().Objects()},
		"wait for what is so":           {Args: []string{"barrier", newcomer, "-n", "demo", "--wait"}, Objects: healthy().Objects()},
		"an unknown format":             {Args: []string{"barrier", newcomer, "-o", "table"}, Objects: waits().Objects()},
		"two members":                   {Args: []string{"barrier", "a", "b"}, Objects: waits().Objects()},
	}
	plugintest.Screens(t, cases, plugintest.Run.Transcript)
}

func unguard(p *corev1.Pod) {
	p.Spec.InitContainers = p.Spec.InitContainers[:2]
	p.Status.InitContainerStatuses = p.Status.InitContainerStatuses[:2]
}

func refused(p *corev1.Pod) {
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{
		Name: api.ContainerBarrier, RestartCount: 1,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 2, FinishedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute)), Message: "the data directory was decommissioned: delete PVC data-" + newcomer,
		}},
	}
}

func pending(p *corev1.Pod) {
	p.Status.InitContainerStatuses[1] = corev1.ContainerStatus{Name: api.ContainerBootstrappedQuery, State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-5 * time.Second))},
	}}
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
}

// The answer about saved objects is the answer about the cluster that they were saved from, with the same exit code.
func TestSavedObjectsGiveTheSameVerdict(t *testing.T) {
	for name, c := range map[string]*plugintest.Cluster{"must wait": waits(), "may start": healthy(), "operator's": waits().Operator()} {
		t.Run(name, func(t *testing.T) {
			fields := `jsonpath={range .items[*]}{.verdict.satisfied} {.verdict.decision} {.verdict.summary} {.verdict.blockers[*].reason} {.verdict.blockers[*].observed.hostID} {.barrier.phase} {.pod}{end}`
			live := plugintest.Run{Args: []string{"barrier", newcomer, "-n", "demo", "-o", fields}, Objects: c.Objects()}.Do(t)
			file := plugintest.Run{Args: []string{"barrier", newcomer, "--from", plugintest.Save(t, c.Objects()), "-o", fields}}.Do(t)
			stdin := plugintest.Run{Args: []string{"barrier", newcomer, "--from", "-", "-o", fields}, Stdin: string(plugintest.SavedYAML(t, c.Objects()))}.Do(t)
			if file != stdin {
				t.Errorf("file: %+v\nstandard input: %+v", file, stdin)
			}
			if live != file {
				t.Errorf("live:  %+v\nsaved: %+v", live, file)
			}
		})
	}
}

func TestWaitUntilItMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plugintest.NewClient(waits().Objects(), interceptor.Funcs{})
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{Args: []string{"barrier", newcomer, "-n", "demo", "--wait", "--timeout", "1h"}, Client: c, Clock: plugintest.BubbleClock()}.Do(t)
		}()
		synctest.Wait()
		var svc corev1.Service
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: newcomer}, &svc); err != nil {
			t.Fatal(err)
		}
		svc.Annotations = map[string]string{api.AnnotationForceProceed: "true"}
		if err := c.Update(t.Context(), &svc); err != nil {
			t.Fatal(err)
		}
		res := <-done
		if res.Code != 0 || !strings.Contains(res.Stdout, "OPEN demo/"+newcomer) {
			t.Errorf("exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		if !strings.Contains(res.Stderr, "waiting for member demo/"+newcomer+" to be allowed to start: demo-dc1-rack3-0 DOWN for ") {
			t.Errorf("stderr does not say what is waited for:\n%s", res.Stderr)
		}
	})
}
