// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// kubelet runs commands as an API server lets a kubelet do it: over a websocket, in channels. "cat" gives its input back, "false" ends with 7, and "sleep" does
// not end.
func kubelet(t *testing.T, asked *string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery
		channels := []wsstream.ChannelType{wsstream.ReadChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.ReadChannel}
		conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{"v5.channel.k8s.io": {Binary: true, Channels: channels}})
		_, streams, err := conn.Open(w, r)
		if err != nil {
			return
		}
		status := `{"metadata":{},"status":"Success"}`
		switch r.URL.Query().Get("command") {
		case "cat":
			in := make([]byte, 5)
			_, _ = io.ReadFull(streams[0], in)
			_, _ = streams[1].Write(in)
		case "false":
			_, _ = streams[2].Write([]byte("went wrong"))
			status = `{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","message":"command terminated with non-zero exit code","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}`
		case "sleep":
			_, _ = streams[1].Write([]byte("asleep\n"))
			<-r.Context().Done()
			return
		}
		_, _ = streams[3].Write([]byte(status))
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestExec(t *testing.T) {
	var asked string
	cfg := kubelet(t, &asked)
	var out, errOut strings.Builder
	e := Exec{Namespace: "db", Pod: "demo-0", Container: "scylla", Command: []string{"cat", "-u"}, Stdin: strings.NewReader("hello"), Stdout: &out, Stderr: &errOut}
	if err := e.Run(t.Context(), cfg); err != nil || out.String() != "hello" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if want := "GET /api/v1/namespaces/db/pods/demo-0/exec?command=cat&command=-u&container=scylla&stderr=true&stdin=true&stdout=true"; asked != want {
		t.Errorf("asked %s\nwant  %s", asked, want)
	}
	e.Command, e.Stdin = []string{"false"}, nil
	err := e.Run(t.Context(), cfg)
	if ended, ok := errors.AsType[*ExitError](err); !ok || ended.Code != 7 || errOut.String() != "went wrong" {
		t.Errorf("got %v and %q, want exit code 7", err, errOut.String())
	}
}

// cancelling ends a context at the first thing written.
type cancelling struct{ cancel func() }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

func TestExecEndsWithItsContext(t *testing.T) {
	var asked string
	cfg := kubelet(t, &asked)
	ctx, cancel := context.WithCancel(t.Context())
	err := Exec{Namespace: "db", Pod: "demo-0", Command: []string{"sleep"}, Stdout: cancelling{cancel}, Stderr: io.Discard}.Run(ctx, cfg)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestExecForbidden(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods \"demo-0\" is forbidden: User \"ada\" cannot create resource \"pods/exec\" in API group \"\" in the namespace \"db\""}`)
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	err := Exec{Namespace: "db", Pod: "demo-0", Command: []string{"true"}, Stdout: io.Discard, Stderr: io.Discard}.Run(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), `User "ada" cannot create resource "pods/exec"`) {
		t.Errorf("got %v", err)
	}
	if _, err = Logs(t.Context(), cfg, "db", "demo-0", corev1.PodLogOptions{Container: "scylla"}); !apierrors.IsForbidden(err) {
		t.Errorf("the log: %v, want that it is forbidden", err)
	}
}

func TestLogs(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		if r.URL.Query().Get("container") == "none" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = fmt.Fprint(w, "a line\nanother\n")
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	r, err := Logs(t.Context(), cfg, "db", "demo-0", corev1.PodLogOptions{Container: "scylla", Follow: true, TailLines: new(int64(3))})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	_ = r.Close()
	if diff := cmp.Diff("container=scylla&follow=true&tailLines=3 a line\nanother\n", asked+" "+string(text)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := Logs(t.Context(), cfg, "db", "demo-0", corev1.PodLogOptions{Container: "none"}); err == nil || !strings.HasSuffix(err.Error(), "502 Bad Gateway: a line") {
		t.Errorf("got %v", err)
	}
}
