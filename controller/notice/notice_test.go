// SPDX-License-Identifier: Apache-2.0

package notice_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

func TestAFactThatStaysTrueIsSaidOnce(t *testing.T) {
	requests := 0
	var fail error
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			requests++
			if fail != nil {
				return fail
			}
			return c.Create(ctx, obj, opts...)
		},
	})
	var log bytes.Buffer
	clk := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	r := notice.New(c, clk, slog.New(slog.NewTextHandler(&log, nil)))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "p", UID: "u"}}
	say := func(note string) { r.Emit(t.Context(), pod, corev1.EventTypeWarning, "Reason", "Action", note) }

	say("a")
	say("a")
	if requests != 1 {
		t.Errorf("%d requests for one fact", requests)
	}
	say("b")
	if requests != 2 {
		t.Errorf("%d requests for two facts", requests)
	}
	clk.SetTime(clk.Now().Add(31 * time.Minute))
	say("a")
	if requests != 3 {
		t.Errorf("the Event has expired and was not said again: %d requests", requests)
	}
	var l eventsv1.EventList
	if err := c.List(t.Context(), &l); err != nil || len(l.Items) != 2 || l.Items[0].Regarding.Name != "p" || l.Items[0].ReportingController != "kubectl-scylla" {
		t.Errorf("%v, %+v", err, l.Items)
	}

	fail = errors.New("no leave")
	say("c")
	if !strings.Contains(log.String(), "no leave") {
		t.Errorf("log %q", log.String())
	}
	fail = nil
	before := requests
	say("c")
	if requests != before+1 {
		t.Error("what could not be said is not tried again")
	}
}
