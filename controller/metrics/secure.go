// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviews is the number of reviews per second: random tokens must not load the API server.
	reviews = 5
	// reviewTimeout limits the two reviews of a request.
	reviewTimeout = 5 * time.Second
	// allowedFor and deniedFor are how long a review counts.
	allowedFor, deniedFor = time.Minute, 10 * time.Second
	// maxReviews limits the cached reviews, maxToken the length of a token.
	maxReviews, maxToken = 100, 16 << 10
)

// reviewer answers a request for metrics only if the API server authenticates its token, and the
// account may make the request. controller-runtime's own filter links k8s.io/apiserver, which has
// 20 MB and a template engine.
type reviewer struct {
	client client.Client
	clock  clock.PassiveClock

	mu    sync.Mutex
	known map[[sha256.Size]byte]review
}

// review is the HTTP status of a request with some token.
type review struct {
	status int
	until  time.Time
}

// Secured returns the provider of the filter, for the server of the manager.
func Secured(clk clock.PassiveClock) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(cfg *rest.Config, hc *http.Client) (metricsserver.Filter, error) {
		scheme := runtime.NewScheme()
		utilruntime.Must(authenticationv1.AddToScheme(scheme))
		utilruntime.Must(authorizationv1.AddToScheme(scheme))
		cfg = rest.CopyConfig(cfg)
		cfg.QPS, cfg.Burst = reviews, 2*reviews
		c, err := client.New(cfg, client.Options{Scheme: scheme, HTTPClient: hc})
		if err != nil {
			return nil, fmt.Errorf("create the client of reviews: %w", err)
		}
		return (&reviewer{client: c, clock: clk, known: map[[sha256.Size]byte]review{}}).filter, nil
	}
}

func (r *reviewer) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status, err := r.review(req)
		if err != nil {
			log.Error(err, "review a request for metrics")
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, req)
	}), nil
}

// review returns the status of a request. Only answers of the API server are cached.
func (r *reviewer) review(req *http.Request) (status int, err error) {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" || len(token) > maxToken {
		return http.StatusUnauthorized, nil
	}
	key := sha256.Sum256([]byte(req.Method + " " + req.URL.Path + " " + token))
	now := r.clock.Now()
	r.mu.Lock()
	known := r.known[key]
	r.mu.Unlock()
	if now.Before(known.until) {
		return known.status, nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), reviewTimeout)
	defer cancel()
	if status, err = r.ask(ctx, token, strings.ToLower(req.Method), req.URL.Path); err != nil {
		return http.StatusServiceUnavailable, err
	}
	until := now.Add(deniedFor)
	if status == http.StatusOK {
		until = now.Add(allowedFor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxReviews {
		clear(r.known)
	}
	r.known[key] = review{status, until}
	return status, nil
}

// ask sends both reviews to the API server.
func (r *reviewer) ask(ctx context.Context, token, verb, path string) (status int, err error) {
	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := r.client.Create(ctx, who); err != nil {
		return 0, fmt.Errorf("review a token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}}
	for k, v := range user.Extra {
		may.Spec.Extra[k] = authorizationv1.ExtraValue(v)
	}
	if err := r.client.Create(ctx, may); err != nil {
		return 0, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
