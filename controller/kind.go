// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// lookAtKind is the interval at which our CRD is compared, lookAgain the interval while it lacks
// fields. The CRD is fetched only when the API server has a different one.
const (
	lookAtKind = time.Minute
	lookAgain  = time.Second
)

// kind compares the installed CRD of ScyllaDBStatusReport with the fields that this controller
// writes. The API server removes unknown fields from every write without an error: a stale row
// would look fresh. While any field is missing, this controller leads and writes datacenter reports
// but no cluster report. So it gives no permit, and it is not ready.
type kind struct {
	definitions func() (map[string]openapi.GroupVersion, error)
	clock       clock.WithTicker
	log         *slog.Logger

	mu   sync.Mutex
	seen string // address of the compared definition, which contains its digest
	err  error
}

func newKind(definitions func() (map[string]openapi.GroupVersion, error), clk clock.WithTicker,
	log *slog.Logger) *kind {
	return &kind{definitions: definitions, clock: clk, log: log,
		err: errors.New("the CRD of ScyllaDBStatusReport is not compared yet")}
}

// Start compares at intervals until ctx ends.
func (k *kind) Start(ctx context.Context) error {
	for {
		after := lookAtKind
		if k.whole() != nil {
			after = lookAgain
		}
		t := k.clock.NewTimer(after)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C():
		}
		k.look(ctx)
	}
}

// NeedLeaderElection returns false: a standby controller also compares, and is also not ready.
func (k *kind) NeedLeaderElection() bool { return false }

// whole returns nil if the installed CRD has every field, else an error with the fix.
func (k *kind) whole() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// check is the readiness check.
func (k *kind) check(*http.Request) error { return k.whole() }

// look compares. While the API server does not respond, the last result remains.
func (k *kind) look(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen, err := k.compare()
	if seen == k.seen && seen != "" || seen == "" && k.seen != "" {
		return
	}
	if err != nil && (k.err == nil || err.Error() != k.err.Error()) {
		k.log.WarnContext(ctx, "no cluster report is written and no permit is granted", "error", err)
	}
	k.seen, k.err = seen, err
}

// compare returns the address of the compared definition: empty on failure, k.seen if unchanged.
func (k *kind) compare() (seen string, err error) {
	all, err := k.definitions()
	if err != nil {
		return "", fmt.Errorf("read the CRD of ScyllaDBStatusReport: %w", err)
	}
	ours := all["apis/"+api.GroupVersion.String()]
	if ours == nil {
		return "", errors.New("read the CRD of ScyllaDBStatusReport: the API server does not publish it yet")
	}
	if seen = ours.ServerRelativeURL(); seen == k.seen {
		return seen, nil
	}
	data, err := ours.Schema("application/json")
	if err != nil {
		return "", fmt.Errorf("read the CRD of ScyllaDBStatusReport: %w", err)
	}
	lacks, err := lacking(data)
	if err != nil {
		return "", fmt.Errorf("read the CRD of ScyllaDBStatusReport: %w", err)
	}
	const most = 3
	if more := len(lacks) - most; more > 0 {
		lacks = append(lacks[:most], fmt.Sprintf("%d more", more))
	}
	if len(lacks) > 0 {
		return seen,
			fmt.Errorf(
				"the installed CRD of ScyllaDBStatusReport lacks %s: update the CRDs with kubectl scylla install "+
					"--upgrade",
				strings.Join(lacks, ", "))
	}
	return seen, nil
}

// lacking returns the fields of our CRD that an OpenAPI document does not have:
// "status.view.permits".
func lacking(document []byte) ([]string, error) {
	var doc struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	for name, raw := range doc.Components.Schemas {
		if !strings.HasSuffix(name, ".ScyllaDBStatusReport") {
			continue
		}
		var s schema
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		lacks := s.lacks("", reflect.TypeFor[api.ScyllaDBStatusReport]())
		slices.Sort(lacks)
		return lacks, nil
	}
	return nil, errors.New("the API server does not publish it yet")
}

// schema is the part of a definition that lists the fields.
type schema struct {
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Preserves  bool               `json:"x-kubernetes-preserve-unknown-fields"`
}

// leaves are types that are not JSON objects of their fields, and the metadata, which every kind
// has.
var leaves = []reflect.Type{reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](),
	reflect.TypeFor[metav1.Duration](), reflect.TypeFor[metav1.ObjectMeta]()}

// lacks returns the fields of t below at that s does not have; subfields of a missing field are
// omitted.
func (s *schema) lacks(at string, t reflect.Type) (out []string) {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.lacks(at, t.Elem())
	case s == nil || s.Preserves || slices.Contains(leaves, t):
		return nil
	case t.Kind() == reflect.Slice:
		return s.Items.lacks(at, t.Elem())
	case t.Kind() != reflect.Struct:
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "inline" {
			out = append(out, s.lacks(at, f.Type)...)
			continue
		}
		if name == "-" {
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		if inner := s.Properties[name]; inner != nil {
			out = append(out, inner.lacks(path, f.Type)...)
		} else {
			out = append(out, path)
		}
	}
	return out
}
