// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

const dead = "demo-dc1-rack3-0"

// scene has a dead node, a replacement that is over, Events of note, and those that every Pod has.
func scene() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down(dead)
	c.Service("demo-dc1-rack1-0").Annotations[api.AnnotationReplaceLast] = `{"request":"r","outcome":"Replaced","hostID":"00000000-0000-4000-8000-000000000001",` +
		`"newHostID":"` + plugintest.HostID(0) + `","startedAt":"2026-11-21T10:00:00Z","finishedAt":"2026-11-21T10:01:12Z"}`
	event := func(about, typ, reason, message string, ago time.Duration) *corev1.Event {
		at := metav1.NewTime(plugintest.Now.Add(-ago))
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: about + "." + strings.ToLower(reason)}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "demo", Name: about},
			Type: typ, Reason: reason, Message: message, Count: 1, LastTimestamp: at,
		}
	}
	return c.Add(
		event(dead, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container scylla\x1b[2J", 20*time.Second),
		event(dead, corev1.EventTypeNormal, "Pulled", "routine", 30*time.Second),
		event("demo-dc1-rack2-0", corev1.EventTypeNormal, "Killing", "Stopping container scylla", 3*time.Hour),
		event("other-0", corev1.EventTypeNormal, "Killing", "not of this cluster", time.Minute),
	)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	forbidden := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*corev1.EventList); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
		}
		return c.List(ctx, list, opts...)
	}}
	for name, tc := range map[string]struct {
		args  []string
		funcs interceptor.Funcs
	}{
		"all-that-changed":    {args: []string{"-n", "demo"}},
		"routine-too":         {args: []string{"-n", "demo", "--all"}},
		"of-one-member":       {args: []string{"-n", "demo", "--for", "rack1/0"}},
		"the-last-minute":     {args: []string{"-n", "demo", "--since", "1m", "-o", "yaml"}},
		"nothing":             {args: []string{"-n", "demo", "--since", "1s"}},
		"several-clusters":    {args: []string{"-A"}},
		"events-forbidden":    {args: []string{"-n", "demo"}, funcs: forbidden},
		"an-unknown-member":   {args: []string{"-n", "demo", "--for", "rack9/0"}},
		"less-than-no-time":   {args: []string{"-n", "demo", "--since=-1m"}},
		"a-member-of-several": {args: []string{"-A", "--for", dead}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"events"}, tc.args...)
			res := plugintest.Run{Args: args, Objects: scene().Objects(), Funcs: tc.funcs}.Do(t)
			if strings.Contains(res.Stdout, "\x1b[2J") || strings.Contains(res.Stdout, "not of this cluster") {
				t.Errorf("%q", res.Stdout)
			}
			plugintest.Golden(t, name+".txt", "$ kubectl scylla "+strings.Join(args, " ")+"\n-- stdout --\n"+res.Stdout+"-- stderr --\n"+res.Stderr+fmt.Sprintf("-- exit %d --\n", res.Code))
		})
	}
}

// An archive gives what the cluster gave.
func TestFromAnArchive(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/demo.zip"
	if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", file, "--logs=0"}, Objects: scene().Objects()}).Do(t); res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	live := plugintest.Run{Args: []string{"history", "-n", "demo", "-o", "json"}, Objects: scene().Objects()}.Do(t)
	saved := plugintest.Run{Args: []string{"events", "--from", file, "-o", "json"}}.Do(t)
	items := func(res plugintest.Result) string {
		var doc struct{ Items []any }
		if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil || res.Code != 0 || len(doc.Items) < 4 {
			t.Fatalf("%v: %+v", err, res)
		}
		text, err := json.Marshal(doc.Items)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if a, b := items(live), items(saved); a != b {
		t.Errorf("live:\n%s\nof the archive:\n%s", a, b)
	}
}
