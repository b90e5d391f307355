// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// TestMetricsForAccountsOnly: each token is reviewed by the API server, again after a while, and a failed review lets nobody in.
func TestMetricsForAccountsOnly(t *testing.T) {
	asked, down := 0, false
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			asked++
			if down {
				return errors.New("the API server is down")
			}
			switch o := obj.(type) {
			case *authenticationv1.TokenReview:
				if name, ok := strings.CutPrefix(o.Spec.Token, "token-of-"); ok {
					o.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name, UID: "1", Groups: []string{"g"},
						Extra: map[string]authenticationv1.ExtraValue{"pod": {"p"}}}}
				}
			case *authorizationv1.SubjectAccessReview:
				s := o.Spec
				if s.UID != "1" || fmt.Sprint(s.Groups, s.Extra) != "[g] map[pod:[p]]" || s.ResourceAttributes != nil {
					t.Errorf("the review is of %+v", s)
				}
				o.Status.Allowed = s.User == "prometheus" && *s.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
			default:
				t.Errorf("%T is written", obj)
			}
			return nil
		},
	})
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r := &reviewer{client: c, clock: clk, known: map[[sha256.Size]byte]review{}}
	h, err := r.filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) }))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		after         time.Duration
		down          bool
		method, auth  string
		status, asked int
	}{
		{status: 401},
		{auth: "Basic x", status: 401},
		{auth: "Bearer ", status: 401},
		{auth: "Bearer " + strings.Repeat("x", maxToken+1), status: 401},
		{auth: "Bearer x", status: 401, asked: 1},
		{auth: "Bearer x", status: 401},
		{auth: "Bearer x", after: deniedFor, status: 401, asked: 1},
		{auth: "Bearer token-of-ada", status: 403, asked: 2},
		{auth: "Bearer token-of-ada", status: 403},
		{auth: "Bearer token-of-prometheus", down: true, status: 503, asked: 1},
		{auth: "Bearer token-of-prometheus", status: 200, asked: 2},
		{auth: "Bearer token-of-prometheus", after: allowedFor - time.Second, down: true, status: 200},
		{auth: "Bearer token-of-prometheus", method: http.MethodPost, status: 403, asked: 2},
		{auth: "Bearer token-of-prometheus", after: time.Second, down: true, status: 503, asked: 1},
	} {
		clk.SetTime(clk.Now().Add(step.after))
		asked, down = 0, step.down
		req := httptest.NewRequest(step.method, "/metrics", nil)
		if step.auth != "" {
			req.Header.Set("Authorization", step.auth)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != step.status || asked != step.asked || (w.Body.String() == "metrics") != (step.status == 200) {
			t.Errorf("%d, %.40q: %d %q with %d reviews, want %d with %d", i, step.auth, w.Code, w.Body, asked, step.status, step.asked)
		}
	}
	for i := range 3 * maxReviews {
		req := httptest.NewRequest("", "/metrics", nil)
		req.Header.Set("Authorization", fmt.Sprint("Bearer ", i))
		h.ServeHTTP(httptest.NewRecorder(), req)
	}
	if len(r.known) > maxReviews {
		t.Errorf("%d reviews are kept", len(r.known))
	}
}
