// SPDX-License-Identifier: Apache-2.0

// Package viewwire is how a view is handed on without the API server: the leading controller serves it, reporters relay it, and whoever asks learns how old it is as
// a duration, so that no two clocks are compared. Both ends of the wire are here. What a view allows is internal/view's. Nothing signs a view: the connection says who
// hands it on, not who made it. So whoever gets it from a relay may be held back by it, and may not start by it.
package viewwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bounded"
)

// The wire: GET Path of the leading controller, or RelayPath of a reporter, with parameters namespace and name. The ETag is epoch and seq, after the UID of the report that
// the view is of, so that who has the view asks with If-None-Match and gets no body; AgeHeader has its age then, too, in milliseconds.
const (
	Path      = "/view"
	RelayPath = "/peer/view"
	AgeHeader = "Scylla-View-Age-Millis"
)

// A view that turns closes a barrier which the API server does not show it to within CloseWithin. AskRelays is how often such a barrier asks reporters, RelayTimeout how long it
// waits for their answers, and FollowAsked how often a reporter that is asked looks for a newer view.
const (
	CloseWithin  = 5 * time.Second
	AskRelays    = 2 * time.Second
	RelayTimeout = time.Second
	FollowAsked  = time.Second
)

// View is one as it is handed on.
type View struct {
	api.StatusReportView
	// ReportUID is the UID of the cluster report that the view is of. Views of two reports have no order: one that was deleted and made anew may count from the beginning.
	ReportUID types.UID `json:"reportUID,omitempty"`
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
func Handler(of Source) http.Handler { return handler(Path, of) }

// Relay answers GET RelayPath from a source, as Handler does.
func Relay(of Source) http.Handler { return handler(RelayPath, of) }

func handler(path string, of Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		key := types.NamespacedName{Namespace: q.Get("namespace"), Name: q.Get("name")}
		if key.Namespace == "" || key.Name == "" {
			http.Error(w, "give namespace and name of a cluster: "+path+"?namespace=NAMESPACE&name=NAME", http.StatusBadRequest)
			return
		}
		v, err := of(key)
		switch {
		case errors.Is(err, ErrNone):
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, ErrUnknown):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			answer(w, r, v)
		}
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, v *View) {
	tag := tagOf(v.ReportUID, &v.StatusReportView)
	w.Header().Set("ETag", tag)
	w.Header().Set(AgeHeader, strconv.FormatInt(v.AgeMillis, 10))
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the view cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // who breaks off has asked for nothing
}

func tagOf(report types.UID, v *api.StatusReportView) string {
	if report == "" {
		return fmt.Sprintf(`"%d.%d"`, v.Epoch, v.Seq)
	}
	return fmt.Sprintf(`"%s.%d.%d"`, report, v.Epoch, v.Seq)
}

// limit of an answer. A view of 1,000 members has a quarter of a megabyte.
var limit = bounded.Limit{Bytes: 2 << 20, Cure: "it is no view"}

// maxAge is the longest age that a view may say: beyond it nobody goes by it anyway, and a duration could not hold any number.
const maxAge = 24 * time.Hour

// maxUID is how long a UID may be: the API server's have 36 characters.
const maxUID = 64

// Question is what is asked, and of whom.
type Question struct {
	// Address is host and port, Path one of Path and RelayPath, Cluster whose view it is.
	Address, Path string
	Cluster       types.NamespacedName
	// Have is what the asker has already, of the report with UID HaveOf; nil for nothing.
	Have   *api.StatusReportView
	HaveOf types.UID
}

// Fetch asks for a cluster's view. The client pins the certificate; ctx bounds the time. Where the answer is that Have is what there is, the view returned is Have, with
// its age. Errors: ErrNotLeading, ErrUnknown, ErrNone, ErrGarbled, *bounded.TooLargeError, and those of the connection. Whatever the error, what was known before stands
// and grows old.
func Fetch(ctx context.Context, c *http.Client, ask Question) (*View, error) {
	q := url.Values{"namespace": {ask.Cluster.Namespace}, "name": {ask.Cluster.Name}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+ask.Address+ask.Path+"?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if ask.Have != nil {
		req.Header.Set("If-None-Match", tagOf(ask.HaveOf, ask.Have))
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return unchanged(resp, ask)
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
	body, err := limit.Read(resp.Body, "the view of "+ask.Cluster.String())
	if err != nil {
		return nil, err
	}
	v := &View{}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("%w: %.200s", ErrGarbled, err.Error())
	}
	return v.checked()
}

// unchanged is the view that was known, by an answer without a body.
func unchanged(resp *http.Response, ask Question) (*View, error) {
	have := ask.Have
	if have == nil {
		return nil, fmt.Errorf("%w: %s, and nothing was known", ErrGarbled, resp.Status)
	}
	if resp.Header.Get("ETag") != tagOf(ask.HaveOf, have) {
		return nil, fmt.Errorf("%w: %s of another view", ErrGarbled, resp.Status)
	}
	all := resp.Header.Values(AgeHeader)
	if len(all) != 1 {
		return nil, fmt.Errorf("%w: it has %d ages", ErrGarbled, len(all))
	}
	age, err := strconv.ParseInt(all[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: its age is %.40q", ErrGarbled, all[0])
	}
	return (&View{StatusReportView: *have, ReportUID: ask.HaveOf, AgeMillis: age}).checked()
}

// checked is the view, unless it cannot be ordered or was made in the future: then it is none.
func (v *View) checked() (*View, error) {
	if len(v.ReportUID) > maxUID || v.Epoch < 1 || v.Seq < 1 || v.AgeMillis < 0 || v.AgeMillis > maxAge.Milliseconds() {
		return nil, fmt.Errorf("%w: epoch %d, seq %d, age %d ms", ErrGarbled, v.Epoch, v.Seq, v.AgeMillis)
	}
	return v, nil
}
