// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// viewed gives the cluster report of the objects a view.
func viewed(t *testing.T, v *api.StatusReportView) []client.Object {
	t.Helper()
	objects := plugintest.New(3, 1).Objects()
	for _, o := range objects {
		if r, ok := o.(*api.ScyllaDBStatusReport); ok {
			r.Status.View = v
			return objects
		}
	}
	t.Fatal("the cluster has no cluster report")
	return nil
}

// Every verb that judges says which view the controller has, and for how long it has said so; none does where there is no view.
func TestEveryVerbSaysHowOldTheViewIs(t *testing.T) {
	v := &api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-12 * time.Second)), Members: []api.StatusReportViewMember{{Name: "demo-dc1-rack1-0", State: api.NodeStatusUp}}}
	const long, short = "controller view 3.41", "controller: 1 of 1 members UP; unchanged for 12s"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"status":            {[]string{"status", "demo"}, short},
		"status -o wide":    {[]string{"status", "demo", "-o", "wide"}, long + ": 1 of 1 members UP"},
		"barrier":           {[]string{"barrier", "demo-dc1-rack1-0"}, long + "; unchanged for 12s"},
		"barrier as JSON":   {[]string{"barrier", "demo-dc1-rack1-0", "-o", "jsonpath={range .items[*]}{.view.epoch}.{.view.seq} {.view.observedAt}{end}"}, "3.41 " + v.ObservedAt.UTC().Format(time.RFC3339)},
		"who waits":         {[]string{"barrier"}, long + "; unchanged for 12s"},
		"who waits as JSON": {[]string{"barrier", "-o", "jsonpath={.views[0].namespace}/{.views[0].cluster} {.views[0].epoch}.{.views[0].seq}"}, "demo/demo 3.41"},
		"describe":          {[]string{"describe", "demo-dc1-rack1-0"}, "Based on: controller view 3.41; unchanged for 12s"},
		"describe as JSON":  {[]string{"describe", "demo-dc1-rack1-0", "-o", "jsonpath={range .items[*]}{.view.epoch}.{.view.seq} {.view.observedAt}{end}"}, "3.41 " + v.ObservedAt.UTC().Format(time.RFC3339)},
		"report":            {[]string{"report", "demo"}, short},
		"report as HTML":    {[]string{"report", "demo", "-o", "html"}, long},
		"status as JSON":    {[]string{"status", "demo", "-o", "jsonpath={range .items[*]}{.view.epoch}.{.view.seq}{end}"}, "3.41"},
	} {
		args := append(c.args, "-n", "demo")
		if got := strings.Join(strings.Fields(plugintest.Run{Args: args, Objects: viewed(t, v)}.Do(t).Stdout), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in:\n%s", name, c.want, got)
		}
		if got := (plugintest.Run{Args: args, Objects: viewed(t, nil)}).Do(t).Stdout; strings.Contains(got, "3.41") || strings.Contains(got, "controller:") {
			t.Errorf("%s: a view where there is none:\n%s", name, got)
		}
	}
}

func TestStatusSaysTheView(t *testing.T) {
	up := api.StatusReportViewMember{Name: "demo-dc1-rack1-0", State: api.NodeStatusUp}
	tests := map[string]struct {
		view *api.StatusReportView
		want string // empty: no line about a view
	}{
		"none": {},
		"all UP": {
			&api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-12 * time.Second)), Members: []api.StatusReportViewMember{up, up}},
			"controller: 2 of 2 members UP; unchanged for 12s",
		},
		"all UP in the rows, and not yet in the view": {
			&api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-3 * time.Second)), Members: []api.StatusReportViewMember{
				up, {Name: "demo-dc1-rack2-0", State: api.NodeStatusUnknown}, {Name: "demo-dc1-rack3-0", State: api.NodeStatusDown},
			}},
			"controller: 1 of 3 members UP; demo-dc1-rack2-0 and demo-dc1-rack3-0 not counted as UP yet; unchanged for 3s",
		},
		"not all UP, and held": {
			&api.StatusReportView{Epoch: 1, Seq: 2, ObservedAt: metav1.NewTime(plugintest.Now.Add(-3 * time.Minute)), Hold: "RolloutInProgress", Members: []api.StatusReportViewMember{
				up, {Name: "demo-dc1-rack2-0", State: api.NodeStatusDown}, {HostID: "0f0e0d0c-0000-4000-8000-000000000000", State: "?"},
			}},
			"controller: 1 of 3 members UP; DOWN: demo-dc1-rack2-0; UNKNOWN: 0f0e0d0c; blocks new nodes: rollout in progress; unchanged for 3m0s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects := viewed(t, tt.view)
			text := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--all"}, Objects: objects}.Do(t).Stdout
			if has := strings.Contains(text, "controller: "); has != (tt.want != "") || !strings.Contains(text, tt.want+"\n") {
				t.Errorf("want %q in:\n%s", tt.want, text)
			}
			var list struct {
				Items []struct{ View *api.StatusReportView }
			}
			if err := json.Unmarshal([]byte(plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "-o", "json"}, Objects: objects}.Do(t).Stdout), &list); err != nil || len(list.Items) != 1 {
				t.Fatal(err)
			}
			d := list.Items[0]
			if (d.View == nil) != (tt.view == nil) || d.View != nil && (d.View.Epoch != tt.view.Epoch || d.View.Seq != tt.view.Seq || len(d.View.Members) != len(tt.view.Members)) {
				t.Errorf("JSON has the view %+v, want %+v", d.View, tt.view)
			}
		})
	}
}
