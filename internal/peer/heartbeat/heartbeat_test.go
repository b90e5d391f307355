// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

// serve answers by TLS until the test ends, and returns the address and a client that pins its certificate.
func serve(t *testing.T, h http.Handler) (string, *http.Client) {
	t.Helper()
	s := pinnedserver.Start(t, "db/demo-rack1-0", h)
	return s.Address, s.Client(t)
}

func TestABeatAdvancesWithEachSuccessfulPollAndNotOtherwise(t *testing.T) {
	var b heartbeat.Beat
	address, c := serve(t, &b)
	if _, err := heartbeat.Ask(t.Context(), c, address, "x"); !errors.Is(err, heartbeat.ErrRefused) {
		t.Errorf("before the first row: %v", err)
	}
	const row = `{"hostID":"a"}`
	ask := func(want int64) {
		t.Helper()
		if got, err := heartbeat.Ask(t.Context(), c, address, api.ReportDigest(row)); err != nil || got.Number != want {
			t.Errorf("%d, %v; want %d", got.Number, err, want)
		}
	}
	b.Say(row, true)
	ask(1)
	ask(1)
	b.Say(row, false)
	ask(1)
	b.Say(row, true)
	ask(2)
	b.Say(row+" ", true)
	if _, err := heartbeat.Ask(t.Context(), c, address, api.ReportDigest(row)); !errors.Is(err, heartbeat.ErrOtherRow) {
		t.Errorf("of another row: %v", err)
	}
}

// A client without the row gets it, the same bytes as the annotation.
func TestTheRowItselfIsServed(t *testing.T) {
	var b heartbeat.Beat
	b.Say("the row\n", true)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, heartbeat.Path, http.NoBody))
	if w.Code != http.StatusOK || w.Body.String() != "the row\n" || w.Header().Get(heartbeat.Header) != "1" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for path, want := range map[string]int{"/": http.StatusNotFound, "/reports": http.StatusNotFound} {
		w := httptest.NewRecorder()
		if b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody)); w.Code != want {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
	w = httptest.NewRecorder()
	if b.ServeHTTP(w, httptest.NewRequest(http.MethodPost, heartbeat.Path, http.NoBody)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestGarbledAnswersConfirmNothing(t *testing.T) {
	const digest = "0123456789abcdef"
	answer := func(code int, tag string, numbers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if tag != "" {
				w.Header().Set("ETag", tag)
			}
			for _, n := range numbers {
				w.Header().Add(heartbeat.Header, n)
			}
			w.WriteHeader(code)
		}
	}
	const tag = `"` + digest + `"`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a good one":           {answer(http.StatusNotModified, tag, "7"), nil},
		"no number":            {answer(http.StatusNotModified, tag), heartbeat.ErrGarbled},
		"two numbers":          {answer(http.StatusNotModified, tag, "7", "8"), heartbeat.ErrGarbled},
		"no number at all":     {answer(http.StatusNotModified, tag, "seven"), heartbeat.ErrGarbled},
		"a negative number":    {answer(http.StatusNotModified, tag, "-7"), heartbeat.ErrGarbled},
		"another spelling":     {answer(http.StatusNotModified, tag, "+7"), heartbeat.ErrGarbled},
		"a number too large":   {answer(http.StatusNotModified, tag, "9223372036854775808"), heartbeat.ErrGarbled},
		"another digest":       {answer(http.StatusNotModified, `"fedcba9876543210"`, "7"), heartbeat.ErrOtherRow},
		"no digest":            {answer(http.StatusNotModified, "", "7"), heartbeat.ErrOtherRow},
		"a whole row":          {answer(http.StatusOK, tag, "7"), heartbeat.ErrOtherRow},
		"an error":             {answer(http.StatusInternalServerError, tag, "7"), heartbeat.ErrRefused},
		"a redirect is an end": {answer(http.StatusFound, tag, "7"), heartbeat.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			address, client := serve(t, c.answer)
			got, err := heartbeat.Ask(t.Context(), client, address, digest)
			if !errors.Is(err, c.want) || c.want == nil && got.Number != 7 {
				t.Errorf("%d, %v; want %v", got.Number, err, c.want)
			}
		})
	}
}

// A header without end is given up before it fills the memory.
func TestAnAnswerWithoutEnd(t *testing.T) {
	address, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			w.Header().Add("X-Long", string(rune('a'+i%26))+"0123456789012345678901234567890123456789")
		}
		w.WriteHeader(http.StatusNotModified)
	}))
	if _, err := heartbeat.Ask(t.Context(), c, address, "x"); err == nil {
		t.Error("an answer of 50 kB was taken")
	}
}

// Whatever a reporter says, a number that is taken is the one that it sent.
func TestAnyHeaderIsTakenOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number, tag, code := rapid.String().Draw(t, "number"), rapid.String().Draw(t, "tag"), rapid.IntRange(200, 599).Draw(t, "code")
		c := &http.Client{Transport: canned(func(*http.Request) *http.Response {
			w := httptest.NewRecorder()
			w.Header().Set(heartbeat.Header, number)
			w.Header().Set("ETag", tag)
			w.Code = code
			return w.Result()
		}), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		if got, err := heartbeat.Ask(context.Background(), c, "a:1", "d"); err == nil && (code != http.StatusNotModified || tag != `"d"` || got.Number < 0) {
			t.Errorf("%q %q %d was taken as %d", number, tag, code, got.Number)
		}
	})
}

type canned func(*http.Request) *http.Response

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) { return c(r), nil }
