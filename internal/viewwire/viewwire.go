// SPDX-License-Identifier: Apache-2.0

// Package viewwire is how a view is handed on without the API server: the leading controller serves it, and whoever asks learns how old it is as a duration, so
// that no two clocks are compared. Both ends of the wire are here. What a view allows is internal/view's.
package viewwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bounded"
)

// Path of the view of one cluster, with parameters namespace and name.
const Path = "/view"

// View is one as it is handed on.
type View struct {
	api.StatusReportView
	// AgeMillis is how long ago the view was made, by the monotonic clock of whoever hands it on. Whoever gets it counts from there, from the moment of asking.
	AgeMillis int64 `json:"ageMillis"`
	// HeartbeatAgeMillis is by member how long ago its heartbeat was last heard to advance; members without one are left out.
	HeartbeatAgeMillis map[string]int64 `json:"heartbeatAgeMillis,omitempty"`
}

// Age of the view when it was answered.
func (v *View) Age() time.Duration { return time.Duration(v.AgeMillis) * time.Millisecond }

// Why there is no view.
var (
	ErrNotLeading = errors.New("this controller does not lead")  // 503: ask another
	ErrUnknown    = errors.New("the cluster is not known there") // 404
	ErrNone       = errors.New("there is no view yet")           // 204
	ErrGarbled    = errors.New("the answer is no view")
)

// Source of views. Errors: ErrNotLeading, ErrUnknown, ErrNone. It must not wait.
type Source func(key types.NamespacedName) (*View, error)

// Handler answers GET Path from a source. What it writes, it has copied before: who reads slowly keeps nobody else waiting.
func Handler(of Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		key := types.NamespacedName{Namespace: q.Get("namespace"), Name: q.Get("name")}
		if key.Namespace == "" || key.Name == "" {
			http.Error(w, "give namespace and name of a cluster: "+Path+"?namespace=NAMESPACE&name=NAME", http.StatusBadRequest)
			return
		}
		v, err := of(key)
		switch {
		case errors.Is(err, ErrNone):
			w.WriteHeader(http.StatusNoContent)
			return
		case errors.Is(err, ErrUnknown):
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		body, err := json.Marshal(v)
		if err != nil {
			http.Error(w, "the view cannot be written", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // who breaks off has asked for nothing
	})
	return mux
}

// limit of an answer. A view of 1,000 members has a quarter of a megabyte.
var limit = bounded.Limit{Bytes: 2 << 20, Cure: "it is not what a controller answers"}

// maxAge is the longest age that a view may say: beyond it nobody goes by it anyway, and a duration could not hold any number.
const maxAge = 24 * time.Hour

// Fetch asks at address, host and port, for a cluster's view. The client pins the certificate; ctx bounds the time. Errors: ErrNotLeading, ErrUnknown, ErrNone,
// ErrGarbled, *bounded.TooLargeError, and those of the connection. Whatever the error, what was known before stands and grows old.
func Fetch(ctx context.Context, c *http.Client, address string, key types.NamespacedName) (*View, error) {
	q := url.Values{"namespace": {key.Namespace}, "name": {key.Name}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+Path+"?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return nil, ErrNone
	case http.StatusNotFound:
		return nil, ErrUnknown
	case http.StatusServiceUnavailable:
		return nil, ErrNotLeading
	default:
		const enough = 200
		said, _ := bounded.Head(resp.Body, enough) // its status is the answer, its words are for people
		return nil, fmt.Errorf("%w: %s: %q", ErrGarbled, resp.Status, strings.TrimSpace(string(said)))
	}
	body, err := limit.Read(resp.Body, "the view of "+key.String())
	if err != nil {
		return nil, err
	}
	v := &View{}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("%w: %.200s", ErrGarbled, err.Error())
	}
	// A view that cannot be ordered, or that was made in the future, is none.
	if v.Epoch < 1 || v.Seq < 1 || v.AgeMillis < 0 || v.AgeMillis > maxAge.Milliseconds() {
		return nil, fmt.Errorf("%w: epoch %d, seq %d, age %d ms", ErrGarbled, v.Epoch, v.Seq, v.AgeMillis)
	}
	return v, nil
}
