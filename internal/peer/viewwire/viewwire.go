// SPDX-License-Identifier: Apache-2.0

// Package viewwire transports a view without the API server: the leading controller serves it,
// reporters relay it, and the client gets its age as a duration, so that no two clocks are
// compared. Both ends of the wire are here; package view decides what a view allows. Views are not
// signed: the connection identifies the relay, not the creator. So a relayed view may keep a
// barrier closed, and must not open it.
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
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// The wire: GET Path of the leading controller, or RelayPath of a reporter, with parameters
// namespace and name. The ETag is the UID of the view's report, epoch and seq. A client that has
// the view sends If-None-Match and gets no body. Then AgeHeader also has the age, in milliseconds.
const (
	Path      = "/view"
	RelayPath = "/peer/view"
	AgeHeader = "Scylla-View-Age-Millis"
)

// View is a view in transit.
type View struct {
	api.StatusReportView
	// ReportUID is the UID of the view's cluster report. Views of two reports have no order: a
	// recreated report may start from the beginning.
	ReportUID types.UID `json:"reportUID,omitempty"`
	// AgeMillis is the view's age by the monotonic clock of the sender. The client adds the time
	// since its request.
	AgeMillis int64 `json:"ageMillis"`
}

// Age returns the age of the view when it was sent.
func (v *View) Age() time.Duration { return time.Duration(v.AgeMillis) * time.Millisecond }

// Reasons for the absence of a view.
var (
	ErrNotLeading = errors.New("this controller does not lead") // 503: query another
	ErrUnknown    = errors.New("unknown cluster")               // 404
	ErrNone       = errors.New("no controller view yet")        // 204
	ErrGarbled    = errors.New("the response is not a controller view")
)

// Source returns the view of a cluster. Errors: ErrNotLeading, ErrUnknown, ErrNone. It must not
// block.
type Source func(key types.NamespacedName) (*View, error)

// Handler answers GET Path from a source. It copies the answer before writing, so that a slow
// client blocks no other.
func Handler(of Source) http.Handler { return handler(Path, of) }

// Relay answers GET RelayPath from a source, as Handler does.
func Relay(of Source) http.Handler { return handler(RelayPath, of) }

func handler(path string, of Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		key := types.NamespacedName{Namespace: q.Get("namespace"), Name: q.Get("name")}
		if key.Namespace == "" || key.Name == "" {
			http.Error(w, "specify namespace and name of a cluster: "+path+"?namespace=NAMESPACE&name=NAME",
				http.StatusBadRequest)
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
		http.Error(w, "cannot encode the controller view", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // an error means that the client has disconnected
}

func tagOf(report types.UID, v *api.StatusReportView) string {
	if report == "" {
		return fmt.Sprintf(`"%d.%d"`, v.Epoch, v.Seq)
	}
	return fmt.Sprintf(`"%s.%d.%d"`, report, v.Epoch, v.Seq)
}

// limit of an answer. A view of 1,000 members has a quarter of a megabyte.
var limit = bounded.Limit{Bytes: 2 << 20, Cure: "it is not a controller view"}

// maxAge is the maximum accepted age: an older view has no effect, and a larger number could
// overflow a duration.
const maxAge = 24 * time.Hour

// maxUID is the maximum length of a UID: the API server's have 36 characters.
const maxUID = 64

// maxText is the maximum length of a text that a client prints: a name has 253 characters.
const maxText = 253

// Question is one request for a view, with its server.
type Question struct {
	// Address is host:port, Path is Path or RelayPath, Cluster the cluster of the view.
	Address, Path string
	Cluster       types.NamespacedName
	// Have is the view that the client already has, of the report with UID HaveOf; nil for none.
	Have   *api.StatusReportView
	HaveOf types.UID
}

// Fetch requests a cluster's view. The client pins the certificate; ctx bounds the time. If the
// server has no newer view than Have, the result is Have with its age. Errors: ErrNotLeading,
// ErrUnknown, ErrNone, ErrGarbled, *bounded.TooLargeError, and connection errors. After any error
// the caller keeps Have, which ages.
func Fetch(ctx context.Context, c *http.Client, ask Question) (*View, error) {
	q := url.Values{"namespace": {ask.Cluster.Namespace}, "name": {ask.Cluster.Name}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+ask.Address+ask.Path+"?"+q.Encode(),
		http.NoBody)
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
		// the status is the answer, the body is for display
		said, _ := bounded.Head(resp.Body, enough)
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

// unchanged returns ask.Have with its new age, from an answer without a body.
func unchanged(resp *http.Response, ask Question) (*View, error) {
	have := ask.Have
	if have == nil {
		return nil, fmt.Errorf("%w: %s, but no earlier view exists", ErrGarbled, resp.Status)
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

// checked returns the view, or an error if its UID, stamp, age or a text is out of bounds.
func (v *View) checked() (*View, error) {
	if n := v.longest(); n > maxText {
		return nil, fmt.Errorf("%w: a text of %d bytes", ErrGarbled, n)
	}
	if len(v.ReportUID) > maxUID || v.Epoch < 1 || v.Seq < 1 || v.AgeMillis < 0 || v.AgeMillis > maxAge.Milliseconds() {
		return nil, fmt.Errorf("%w: epoch %d, seq %d, age %d ms", ErrGarbled, v.Epoch, v.Seq, v.AgeMillis)
	}
	return v, nil
}

// longest returns the length of the longest text that a client prints.
func (v *View) longest() int {
	n := len(v.Hold)
	for i := range v.Members {
		n = max(n, len(v.Members[i].Name))
	}
	for i := range v.Permits {
		n = max(n, len(v.Permits[i].Kind), len(v.Permits[i].PVCUID), len(v.Permits[i].PodUID))
	}
	for i := range v.Queue {
		n = max(n, len(v.Queue[i].Reason))
		for _, node := range v.Queue[i].Nodes {
			n = max(n, len(node))
		}
	}
	return n
}
