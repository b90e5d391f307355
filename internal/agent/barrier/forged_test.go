// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
)

// wire is the answer of a hostile relay, as bytes: what it is asked is in the request.
type wire func(*http.Request) *http.Response

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return f(r), nil
}

// overTheWire has every relay give this answer to the client of the product.
func (w *world) overTheWire(answer wire) {
	w.o.AskView = func(ctx context.Context, _ string, q viewwire.Question) (*viewwire.View, error) {
		w.mu.Lock()
		w.asked["views"]++
		w.mu.Unlock()
		return viewwire.Fetch(ctx, &http.Client{Transport: answer}, q)
	}
}

// answers is an answer with this code, body and pairs of headers.
func answers(code int, body string, headers ...string) wire {
	return func(r *http.Request) *http.Response { return answered(r, code, strings.NewReader(body), headers...) }
}

func answered(r *http.Request, code int, body io.Reader, headers ...string) *http.Response {
	resp := &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: http.Header{}, Body: io.NopCloser(body), Request: r}
	for i := 0; i < len(headers); i += 2 {
		resp.Header.Add(headers[i], headers[i+1])
	}
	return resp
}

// forgedView is a view that permits this member, of the report that the barrier reads, after a change.
func forgedView(change func(*viewwire.View)) string {
	v := &viewwire.View{StatusReportView: *changedView(func(v statusView) { v.Epoch, v.Seq = math.MaxInt64, math.MaxInt64 }), ReportUID: "report-1"}
	change(v)
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// endless is a body of these bytes without an end.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// A member's reporter, or a server in its place, answers with a view that permits. No bytes of it open a barrier or a launcher: not while the view of
// the API server stands still, nor while that has no permit, nor without one.
func TestAttack1NoForgedViewOpens(t *testing.T) {
	t.Parallel()
	as := func(change func(*viewwire.View)) wire { return answers(http.StatusOK, forgedView(change)) }
	kept := func(*viewwire.View) {}
	tag := func(r *http.Request) string { return r.Header.Get("If-None-Match") }
	for name, answer := range map[string]wire{
		"of the latest stamp":                        as(kept),
		"of a cluster in another Kubernetes cluster": as(func(v *viewwire.View) { v.ReportUID = "of-another-cluster" }),
		"of another namespace":                       as(func(v *viewwire.View) { v.ReportUID, v.Members[0].Name = "other-1", "other-rack1-0" }),
		"of no report":                               as(func(v *viewwire.View) { v.ReportUID = "" }),
		"of an endless report":                       as(func(v *viewwire.View) { v.ReportUID = types.UID(strings.Repeat("x", 1<<20)) }),
		"of the future":                              as(func(v *viewwire.View) { v.AgeMillis = math.MinInt64 }),
		"of an age that overflows":                   as(func(v *viewwire.View) { v.AgeMillis = math.MaxInt64 }),
		"of an earlier term":                         as(func(v *viewwire.View) { v.Epoch, v.Seq = 1, 1 }),
		"of a negative term":                         as(func(v *viewwire.View) { v.Epoch, v.Seq = -7, -7 }),
		"of numbers that are none":                   answers(http.StatusOK, `{"epoch":1e400,"seq":99999999999999999999,"policy":"permits"}`),
		"two in one body":                            answers(http.StatusOK, forgedView(kept)+forgedView(kept)),
		"with two ages":                              answers(http.StatusOK, strings.Replace(forgedView(kept), "{", `{"ageMillis":-1,`, 1)),
		"as another type":                            answers(http.StatusOK, forgedView(kept), "Content-Type", "text/html; charset=utf-16"),
		"in a coding that nobody asked for":          answers(http.StatusOK, "\x1f\x8b\x08\x00", "Content-Encoding", "gzip"),
		"of a length that is none":                   answers(http.StatusOK, forgedView(kept), "Content-Length", "-1"),
		"with another code":                          answers(http.StatusPartialContent, forgedView(kept)),
		"with a redirect to a controller":            answers(http.StatusFound, forgedView(kept), "Location", "https://10.0.0.9:8443/view"),
		"unchanged, of what the barrier has": func(r *http.Request) *http.Response {
			return answered(r, http.StatusNotModified, strings.NewReader(forgedView(kept)), "ETag", tag(r), viewwire.AgeHeader, "0")
		},
		"unchanged, of a later stamp": func(r *http.Request) *http.Response {
			return answered(r, http.StatusNotModified, strings.NewReader(forgedView(kept)), "ETag", `"report-1.9.9"`, viewwire.AgeHeader, "0")
		},
		"unchanged, without headers": answers(http.StatusNotModified, forgedView(kept)),
		"without an end": func(r *http.Request) *http.Response {
			return answered(r, http.StatusOK, io.MultiReader(strings.NewReader(forgedView(kept)), endless(" ")))
		},
		"of members without an end": func(r *http.Request) *http.Response {
			return answered(r, http.StatusOK, io.MultiReader(strings.NewReader(`{"epoch":9,"seq":9,"members":[`), endless(`{"name":"x","state":"UP"},`)))
		},
		"that is cut off": func(r *http.Request) *http.Response {
			text := forgedView(kept)
			return answered(r, http.StatusOK, io.MultiReader(strings.NewReader(text[:len(text)-1]), failing{}))
		},
	} {
		for shown, change := range map[string]func(statusView){"stands still": unchanged, "has no permit": withoutPermit, "does not exist": nil} {
			inBubble(t, name+", and the view "+shown, func(t *testing.T) {
				w := withView(t, nil)
				w.anew("report-1", changedView(change))
				w.o.Launcher = shown == "has no permit"
				w.overTheWire(answer)
				if w.runs(alone).waits(view5); w.o.Launcher {
					w.renewTimes(4)
				}
				w.setFailure(errors.New("connection refused")) // a barrier then asks the relays all the time
				w.waits(time.Minute)
				if w.askedOf("views") == 0 {
					t.Error("nobody was asked")
				}
				w.setFailure(nil)
				w.waits(time.Minute)
			})
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A relayed view that closes is text from another member: it stays small and visible in the log and in Events.
func TestAttack1ARelayedViewFloodsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*viewwire.View)
		closes bool // else it is no view
	}{
		"a hold of two megabytes": {func(v *viewwire.View) { v.Hold = strings.Repeat("x", 1_900_000) }, false},
		"a hold that hides":       {func(v *viewwire.View) { v.Hold = "\x1b[2K\u202e\u200b\u2028\x00" }, true},
		"a member of two megabytes": {func(v *viewwire.View) {
			v.Members[0].State, v.Members[0].Name = api.NodeStatusDown, strings.Repeat("x", 1_900_000)
		}, false},
		"a member that hides": {func(v *viewwire.View) {
			v.Members[0].State, v.Members[0].Name = api.NodeStatusDown, "\x1b[2K\u202e\u200b\u2028\x00"
		}, true},
		"a PVC of two megabytes":      {func(v *viewwire.View) { v.Permits[0].PVCUID = types.UID(strings.Repeat("x", 1_900_000)) }, false},
		"a kind of permit that hides": {func(v *viewwire.View) { v.Permits[0].Kind = "\x1b[2K\u202e\u200b\u2028\x00" }, true},
		"a queue reason of a megabyte": {func(v *viewwire.View) {
			v.Permits = nil
			v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: strings.Repeat("x", 1_000_000), Nodes: []string{strings.Repeat("y", 500_000)}}}
		}, false},
		"10,000 nodes of a queue": {func(v *viewwire.View) {
			v.Permits = nil
			v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: "PermitWaitsForMembers", Nodes: strings.Fields(strings.Repeat("yyyyyyyyyyy ", 10_000))}}
		}, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, nil)
			w.anew("report-1", permittedView())
			w.overTheWire(answers(http.StatusOK, forgedView(tc.change)))
			w.runs(alone).renewTimes(4).opensOr(!tc.closes, 5*time.Minute)
			if w.askedOf("views") == 0 {
				t.Fatal("nobody was asked")
			}
			log := w.logged()
			if len(log) > 20_000 {
				t.Errorf("%d bytes of log", len(log))
			}
			for _, e := range w.events() {
				if len(e.Note) > 1024 || strings.ContainsAny(e.Note, "\x1b\u202e\u200b\u2028\x00") {
					t.Errorf("Event of %d bytes: %.200q", len(e.Note), e.Note)
				}
			}
			if strings.ContainsAny(log, "\x1b\u202e\u200b\u2028\x00") {
				t.Error("the log hides something")
			}
		})
	}
}
