// SPDX-License-Identifier: Apache-2.0

package viewwire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

var key = types.NamespacedName{Namespace: "db", Name: "demo"}

func question(address string) viewwire.Question {
	return viewwire.Question{Address: address, Path: viewwire.Path, Cluster: key}
}

func serve(t *testing.T, h http.Handler) (string, *http.Client) {
	t.Helper()
	s := pinnedserver.Start(t, "controller", h)
	return s.Address, s.Client(t)
}

func TestAViewIsHandedOnAsItIs(t *testing.T) {
	want := &viewwire.View{
		StatusReportView: api.StatusReportView{Epoch: 3, Seq: 44, Members: []api.StatusReportViewMember{{Name: "demo-rack1-0", State: api.NodeStatusDown, Contact: api.ContactHeartbeat}}},
		AgeMillis:        1500,
	}
	address, c := serve(t, viewwire.Handler(func(k types.NamespacedName) (*viewwire.View, error) {
		if k != key {
			t.Errorf("asked for %s", k)
		}
		return want, nil
	}))
	got, err := viewwire.Fetch(t.Context(), c, question(address))
	if diff := cmp.Diff(want, got); err != nil || diff != "" || got.Age() != 1500*time.Millisecond {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestWhatTheServerAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		url  string
		err  error
		want int
	}{
		"the view":              {"/view?namespace=db&name=demo", nil, http.StatusOK},
		"who does not lead":     {"/view?namespace=db&name=demo", viewwire.ErrNotLeading, http.StatusServiceUnavailable},
		"an unknown cluster":    {"/view?namespace=db&name=demo", viewwire.ErrUnknown, http.StatusNotFound},
		"no view yet":           {"/view?namespace=db&name=demo", viewwire.ErrNone, http.StatusNoContent},
		"a failure":             {"/view?namespace=db&name=demo", errors.New("x"), http.StatusServiceUnavailable},
		"no name":               {"/view?namespace=db", nil, http.StatusBadRequest},
		"no namespace":          {"/view?name=demo", nil, http.StatusBadRequest},
		"another path":          {"/views?namespace=db&name=demo", nil, http.StatusNotFound},
		"nothing can be posted": {"POST /view?namespace=db&name=demo", nil, http.StatusMethodNotAllowed},
	} {
		method, url, ok := strings.Cut(c.url, " ")
		if !ok {
			method, url = http.MethodGet, c.url
		}
		w := httptest.NewRecorder()
		viewwire.Handler(func(types.NamespacedName) (*viewwire.View, error) { return &viewwire.View{}, c.err }).ServeHTTP(w, httptest.NewRequest(method, url, http.NoBody))
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
}

// The client accepts nothing but valid views: 404, 204 and garbage are errors, and reading is bounded.
func TestWhatTheClientTakes(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = w.Write([]byte(body)) }
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want error
	}{
		"503":                      {answer(503, "not me"), viewwire.ErrNotLeading},
		"404":                      {answer(404, ""), viewwire.ErrUnknown},
		"204":                      {answer(204, ""), viewwire.ErrNone},
		"500":                      {answer(500, "x"), viewwire.ErrGarbled},
		"a redirect":               {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, viewwire.ErrGarbled},
		"garbage":                  {answer(200, "<html>"), viewwire.ErrGarbled},
		"nothing":                  {answer(200, ""), viewwire.ErrGarbled},
		"null":                     {answer(200, "null"), viewwire.ErrGarbled},
		"no seq":                   {answer(200, `{"epoch":1,"ageMillis":0}`), viewwire.ErrGarbled},
		"no epoch":                 {answer(200, `{"seq":1}`), viewwire.ErrGarbled},
		"made in the future":       {answer(200, `{"epoch":1,"seq":1,"ageMillis":-1}`), viewwire.ErrGarbled},
		"a text without end":       {answer(200, `{"epoch":1,"seq":1,"hold":"`+strings.Repeat("x", 254)+`"}`), viewwire.ErrGarbled},
		"a node without end":       {answer(200, `{"epoch":1,"seq":1,"queue":[{"nodes":["x","`+strings.Repeat("x", 254)+`"]}]}`), viewwire.ErrGarbled},
		"an age without a meaning": {answer(200, `{"epoch":1,"seq":1,"ageMillis":9223372036854775807}`), viewwire.ErrGarbled},
	} {
		t.Run(name, func(t *testing.T) {
			address, client := serve(t, c.h)
			if v, err := viewwire.Fetch(t.Context(), client, question(address)); !errors.Is(err, c.want) || v != nil {
				t.Errorf("%v, %v; want %v", v, err, c.want)
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		address, client := serve(t, func() http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				for chunk := []byte(strings.Repeat(" ", 64<<10)); ; {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}
		}())
		if _, err := viewwire.Fetch(t.Context(), client, question(address)); !bounded.IsTooLarge(err) {
			t.Errorf("%v", err)
		}
	})
	t.Run("never", func(t *testing.T) {
		release := make(chan struct{})
		address, client := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := viewwire.Fetch(ctx, client, question(address)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A client that has the view gets its age and no body; a client with another view gets the view.
func TestWhoHasTheViewGetsItsAgeAlone(t *testing.T) {
	is := &viewwire.View{StatusReportView: api.StatusReportView{Epoch: 3, Seq: 44, Hold: "x"}, AgeMillis: 1500}
	address, c := serve(t, viewwire.Relay(func(types.NamespacedName) (*viewwire.View, error) { return is, nil }))
	q := question(address)
	q.Path = viewwire.RelayPath
	for name, have := range map[string]*api.StatusReportView{"nothing": nil, "an older one": {Epoch: 3, Seq: 43}, "the same": {Epoch: 3, Seq: 44, Hold: "x", Founder: "kept"}} {
		q.Have = have
		got, err := viewwire.Fetch(t.Context(), c, q)
		if err != nil || got.Seq != 44 || got.Hold != "x" || got.AgeMillis != 1500 || (got.Founder == "kept") != (name == "the same") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// An answer without a body has to be about what is known, and to have one age.
func TestAnAnswerWithoutABodyIsAboutWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		have *api.StatusReportView
		tag  string
		ages []string
		ok   bool
	}{
		"the same":          {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.44"`, []string{"7"}, true},
		"nothing was known": {nil, `"3.44"`, []string{"7"}, false},
		"another view":      {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.45"`, []string{"7"}, false},
		"no age":            {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.44"`, nil, false},
		"two ages":          {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.44"`, []string{"7", "8"}, false},
		"words":             {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.44"`, []string{"young"}, false},
		"from the future":   {&api.StatusReportView{Epoch: 3, Seq: 44}, `"3.44"`, []string{"-7"}, false},
	} {
		address, client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", c.tag)
			for _, a := range c.ages {
				w.Header().Add(viewwire.AgeHeader, a)
			}
			w.WriteHeader(http.StatusNotModified)
		}))
		q := question(address)
		q.Have = c.have
		v, err := viewwire.Fetch(t.Context(), client, q)
		if c.ok && (err != nil || v.Age() != 7*time.Millisecond) || !c.ok && (v != nil || !errors.Is(err, viewwire.ErrGarbled)) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// Whatever is answered, what is taken has an order and an age.
func TestAnyAnswerIsAViewOrAnError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
			return `{"epoch":` + rapid.StringMatching(`-?[0-9]{1,20}`).Draw(t, "epoch") + `,"seq":` + rapid.StringMatching(`-?[0-9]{1,3}`).Draw(t, "seq") +
				`,"ageMillis":` + rapid.StringMatching(`-?[0-9]{1,19}`).Draw(t, "age") + `}`
		})).Draw(t, "body")
		c := &http.Client{Transport: canned(body)}
		v, err := viewwire.Fetch(context.Background(), c, question("a:1"))
		if (err == nil) == (v == nil) || v != nil && (v.Epoch < 1 || v.Seq < 1 || v.Age() < 0 || v.Age() > 24*time.Hour) {
			t.Errorf("%q was taken as %+v, %v", body, v, err)
		}
	})
}

type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, _ = w.WriteString(string(c))
	return w.Result(), nil
}

// Two reports may have reached the same stamp: a client with the view of one does not have that of the other.
func TestTheSameStampOfAnotherReportIsAnotherView(t *testing.T) {
	is := &viewwire.View{StatusReportView: api.StatusReportView{Epoch: 3, Seq: 44, Hold: "x"}, ReportUID: "report-2", AgeMillis: 1500}
	address, c := serve(t, viewwire.Handler(func(types.NamespacedName) (*viewwire.View, error) { return is, nil }))
	for of, kept := range map[types.UID]bool{"report-1": false, "": false, "report-2": true} {
		q := question(address)
		q.Have, q.HaveOf = &api.StatusReportView{Epoch: 3, Seq: 44, Founder: "kept"}, of
		got, err := viewwire.Fetch(t.Context(), c, q)
		if err != nil || got.ReportUID != "report-2" || (got.Founder == "kept") != kept {
			t.Errorf("%q: %+v, %v", of, got, err)
		}
	}
	is.ReportUID = types.UID(strings.Repeat("x", 65))
	if got, err := viewwire.Fetch(t.Context(), c, question(address)); !errors.Is(err, viewwire.ErrGarbled) {
		t.Errorf("a UID without end: %+v, %v", got, err)
	}
}
