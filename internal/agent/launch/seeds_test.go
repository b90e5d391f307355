// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func id(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-00000000000%d", n, n) }

// member is Service and Pod of demo-r<n>-0: the smaller its number, the older it is, and its address is 10.0.0.<n>. joined is the annotation; sees
// are the numbers of the nodes in its row, UP, or DOWN where negative.
func member(n int, joined string, sees ...int) []client.Object {
	name, rack := fmt.Sprintf("demo-r%d-0", n), fmt.Sprintf("r%d", n)
	c := stage.Bare("scylla", "demo")
	svc, pod := c.NewService(name, "dc1", rack, 0), c.NewPod(name, "dc1", rack)
	svc.Annotations, pod.Annotations = map[string]string{}, map[string]string{}
	svc.CreationTimestamp = metav1.NewTime(began.Add(time.Duration(n) * time.Second))
	svc.Spec.ClusterIP, pod.Status.PodIP = fmt.Sprintf("10.96.0.%d", n), fmt.Sprintf("10.0.0.%d", n)
	if joined != "" {
		svc.Annotations[api.AnnotationNodeJoined], svc.Annotations[api.AnnotationHostID] = joined, id(n)
	}
	if len(sees) > 0 {
		row := &api.NodeStatusReport{HostID: hostid.ID(id(n)), OperationMode: "NORMAL"}
		for _, s := range sees {
			status := api.NodeStatusUp
			if s < 0 {
				s, status = -s, api.NodeStatusDown
			}
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(id(s)), Status: status})
		}
		text, err := api.EncodeNodeStatusReport(row)
		if err != nil {
			panic(err)
		}
		pod.Annotations[api.AnnotationNodeStatusReport] = text
	}
	return []client.Object{svc, pod}
}

func with(objects []client.Object, change func(*corev1.Service)) []client.Object {
	change(objects[0].(*corev1.Service))
	return objects
}

func clients(groups ...[]client.Object) *fake.ClientBuilder {
	b := fake.NewClientBuilder().WithScheme(kube.NewScheme())
	for _, g := range groups {
		b = b.WithObjects(g...)
	}
	return b
}

// elsewhere is a report of another datacenter, as it is copied in from another Kubernetes cluster.
func elsewhere() []client.Object {
	return []client.Object{&api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "scylla", Name: "demo-dc2", Labels: map[string]string{
			api.LabelReportSelector: "demo", api.LabelCluster: "demo", api.LabelRemoteReport: "west"}},
		DatacenterName: "dc2", Racks: []api.RackReport{{Name: "r9", Nodes: []api.NodeReport{{
			Ordinal: 0, HostID: new(id(9)), ObservedNodes: []api.ObservedNode{{HostID: id(9), Status: api.NodeStatusUp}}}}}},
	}}
}

// The first member has lost its disk, or is created again: it starts with the others as seeds, whatever its command line has.
func TestA1SeedsOfTheLauncher(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		objects *fake.ClientBuilder
		self    int
		command string
		want    string // the seeds; empty when it must not start
		code    words.Code
	}{
		"the first of all":             {clients(member(1, ""), member(2, "")), 1, "", "10.0.0.1", words.SeedsFirstNode},
		"the others wait for it":       {clients(member(1, ""), member(2, "")), 2, "--seeds=demo-r1-0", "", words.SeedsFirstNodePending},
		"the first has joined":         {clients(member(1, "true", 1), member(2, "")), 2, "--seeds=demo-r2-0", "10.0.0.1", words.SeedsFound},
		"its joining is not recorded":  {clients(member(1, "false", 1), member(2, "")), 2, "", "", words.SeedsFirstNodePending},
		"the first after its disk":     {clients(member(1, "false"), member(2, "true", 2, 3), member(3, "true", 2, 3)), 1, "--seeds demo-r1-0", "10.0.0.2,10.0.0.3", words.SeedsFound},
		"it is recorded as joined":     {clients(member(1, "true"), member(2, "true", -1, 2, 3), member(3, "true", -1, 2, 3)), 1, "", "10.0.0.2,10.0.0.3", words.SeedsFound},
		"one of the others is DOWN":    {clients(member(1, ""), member(2, "true", 2, -3), member(3, "true")), 1, "", "10.0.0.2", words.SeedsFound},
		"its Services were made again": {clients(member(1, ""), member(2, "", 2, 3), member(3, "", 2, 3)), 1, "", "10.0.0.2,10.0.0.3", words.SeedsFound},
		"nobody is UP": {clients(with(member(1, "true"), func(s *corev1.Service) { s.Labels[api.LabelReplacingNodeHostID] = id(1) }), member(2, "true"), member(3, "true")),
			1, "", "", words.SeedsNotUp},
		"all come back at once":         {clients(member(1, "true"), member(2, "true"), member(3, "true")), 1, "", "10.0.0.2,10.0.0.3", words.SeedsFound},
		"another datacenter":            {clients(member(1, "")), 1, "--seeds=x.example,demo-r1-0.scylla", "x.example", words.SeedsFound},
		"another datacenter is known":   {clients(member(1, ""), elsewhere()), 1, "", "", words.SeedsElsewhere},
		"it is known, and has a seed":   {clients(member(1, ""), elsewhere()), 1, "--seeds=192.0.2.9", "192.0.2.9", words.SeedsFound},
		"the cluster's own Service":     {clients(member(1, ""), member(2, "")), 2, "--seeds=everybody", "", words.SeedsFirstNodePending},
		"addresses of Services":         {clients(member(1, "true", 1), member(2, "")), 2, "--broadcast-address=10.96.0.2", "10.96.0.1", words.SeedsFound},
		"an address of neither":         {clients(member(1, "true", 1), member(2, "")), 2, "--broadcast-address=192.0.2.2", "10.0.0.1", words.SeedsFound},
		"the first has another address": {clients(member(1, "")), 1, "--broadcast-address=192.0.2.2", "192.0.2.2", words.SeedsFirstNode},
		"its own disk, and no other":    {clients(member(1, "true"), member(2, "")), 1, "", "", words.SeedsOnlySelfJoined},
		"that, and forced": {clients(with(member(1, "true"), func(s *corev1.Service) { s.Annotations[api.AnnotationForceProceed] = "true" })), 1, "",
			"10.0.0.1", words.SeedsFirstNode},
		"its own disk, and its files are on it": {clients(member(1, "true"), member(2, "")), 1, "--volume", "10.0.0.1", words.SeedsOwnVolume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "commitlog"), 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.command == "--volume" { // a container that was started again in its Pod
				tc.command = ""
				if err := os.WriteFile(filepath.Join(dir, "commitlog", "CommitLog-4-1.log"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := tc.objects.Build()
			o := options(c, fmt.Sprintf("demo-r%d-0", tc.self), append([]string{"sh"}, strings.Fields(tc.command)...)...)
			o.DataDir, o.Clock = dir, clocktesting.NewFakeClock(began)
			o.Resolve = func(_ context.Context, host string) ([]string, error) {
				if host == "everybody" {
					return []string{"10.0.0.1", "10.0.0.2"}, nil
				}
				return nowhere(t.Context(), host)
			}
			svc, err := o.service(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.seeds(t.Context(), c, svc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got.Seeds, ",")); diff != "" || got.Code != tc.code {
				t.Errorf("%s %v (-want +got):\n%s", got.Code, got.Names, diff)
			}
			_, err = o.askOnce(t.Context())
			if w, waits := errors.AsType[waiting](err); waits != (tc.want == "") || waits && !strings.Contains(w.Error(), got.Names[0]) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A bootstrapped node gets its peers' present addresses, and starts with its own command line when the API server does not answer.
func TestA1Restart(t *testing.T) {
	t.Parallel()
	away := errors.New("etcd is away")
	members := func() *fake.ClientBuilder { return clients(member(1, "true"), member(2, "true")) }
	noGet := func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return away
	}
	for name, tc := range map[string]struct {
		objects *fake.ClientBuilder
		want    string
	}{
		"peers":                      {members(), "sh --seeds=10.0.0.2,x"},
		"alone":                      {clients(member(1, "true")), "sh --seeds=x"},
		"no answer of the members":   {members().WithInterceptorFuncs(unlisted(away)), "sh --seeds x"},
		"no answer at all":           {clients().WithInterceptorFuncs(interceptor.Funcs{Get: noGet}), "sh --seeds x"},
		"services may not be listed": {members().WithInterceptorFuncs(unlisted(forbidden)), "sh --seeds x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(tc.objects.Build(), "demo-r1-0", "sh", "--seeds", "x")
			o.Clock = clocktesting.NewFakeClock(began)
			if got := strings.Join(o.again(t.Context()), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "demo-d-0", errors.New("no"))

// unlisted fails each list of Services.
func unlisted(err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if _, services := l.(*corev1.ServiceList); services {
			return err
		}
		return c.List(ctx, l, o...)
	}}
}

// A newcomer that may not list the members does not found a cluster.
func TestA1NewcomerNeedsTheMembers(t *testing.T) {
	t.Parallel()
	o := options(clients(member(1, "")).WithInterceptorFuncs(unlisted(forbidden)).Build(), "demo-r1-0", "sh")
	got, err := o.askOnce(t.Context())
	if err == nil || len(got.choice.Seeds) > 0 {
		t.Errorf("%v %v", got, err)
	}
	if _, waits := errors.AsType[waiting](err); waits {
		t.Errorf("%v counts as an answer of the API server", err)
	}
}

func TestWithSeeds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ command, want []string }{
		"none":       {[]string{"sh", "--a"}, []string{"sh", "--a", "--seeds=1,2"}},
		"one word":   {[]string{"sh", "--seeds=x", "--a"}, []string{"sh", "--a", "--seeds=1,2"}},
		"two words":  {[]string{"sh", "--seeds", "x", "--a"}, []string{"sh", "--a", "--seeds=1,2"}},
		"no value":   {[]string{"sh", "--seeds"}, []string{"sh", "--seeds=1,2"}},
		"other flag": {[]string{"sh", "--seeds-x=1"}, []string{"sh", "--seeds-x=1", "--seeds=1,2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, withSeeds(tc.command, []string{"1", "2"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
