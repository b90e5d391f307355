// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// cassandraVersion is the constant that /storage_service/release_version answers in every version.
const cassandraVersion = "3.0.8"

// emptySchema is the schema version of a node that has no schema yet.
const emptySchema = "59adb24e-f3cd-3e02-97f0-5b395827453f"

// apiError is an error with its HTTP status; every other error is a C++ exception and becomes a 500.
type apiError struct {
	code int
	msg  string
}

func (e *apiError) Error() string { return e.msg }

var errNotFound = &apiError{404, "Not found"}

func badParam(format string, args ...any) error { return &apiError{400, fmt.Sprintf(format, args...)} }

type apiCall struct {
	*http.Request
	param string // what {x} stood for
}

// void is the answer of a call that returns nothing: 200 and no body.
type void struct{}

// keyValue is one item of a list of pairs.
type keyValue struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func (n *Node) startAPI() error {
	l, err := n.o.Network.listen(n.ctx, net.JoinHostPort(n.o.APIAddress, apiPort))
	if err != nil {
		return err
	}
	n.apiSrv = &http.Server{Handler: http.HandlerFunc(n.serveAPI), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	n.apiWG.Go(func() { _ = n.apiSrv.Serve(l) })
	n.log.info("init", "Scylla API server listening on %s ...", l.Addr())
	return nil
}

func (n *Node) serveAPI(w http.ResponseWriter, r *http.Request) {
	out, err := n.route(r)
	if n.ctx.Err() != nil {
		panic(http.ErrAbortHandler) // the process behind the connection is gone
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		ae := &apiError{500, err.Error()}
		_ = errors.As(err, &ae)
		w.WriteHeader(ae.code)
		out = struct {
			Message string `json:"message"`
			Code    int    `json:"code"`
		}{ae.msg, ae.code}
	}
	if _, ok := out.(void); !ok {
		b, _ := json.Marshal(out)
		_, _ = w.Write(b)
	}
}

func (n *Node) route(r *http.Request) (any, error) {
	path := cmp.Or(strings.TrimRight(r.URL.Path, "/"), "/")
	rt, param := apiRoutes[r.Method+" "+path], ""
	if i := strings.LastIndex(path, "/"); rt.serve == nil {
		rt, param = apiRoutes[r.Method+" "+path[:i]+"/{}"], path[i+1:]
	}
	if n.v.GossipRoutesAfterSS() && rt.stage == 2 && strings.HasPrefix(path, "/gossiper") {
		rt.stage = 4
	}
	if rt.serve == nil || n.stage.Load() < rt.stage {
		return nil, errNotFound
	}
	return rt.serve(n, apiCall{r, param})
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
