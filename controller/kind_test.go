// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
)

// shipped is the schema of our kind as it is installed.
func shipped(t *testing.T) map[string]any {
	t.Helper()
	data, err := crds.FS.ReadFile("scylla.scylladb.com_scylladbstatusreports.yaml")
	must(t, err)
	var crd map[string]any
	must(t, yaml.Unmarshal(data, &crd))
	version := crd["spec"].(map[string]any)["versions"].([]any)[0]
	return version.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

// published is the OpenAPI document with that schema.
func published(t *testing.T, schema map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": map[string]any{
		"com.scylladb.scylla.v1alpha1.ScyllaDBStatusReport": schema, "com.scylladb.scylla.v1alpha1.ScyllaDBStatusReportList": map[string]any{},
	}}})
	must(t, err)
	return data
}

// TestKindLacksEachFieldThatIsTakenAway: whichever field the installed definition lacks, it is named.
func TestKindLacksEachFieldThatIsTakenAway(t *testing.T) {
	t.Parallel()
	root, tried := shipped(t), 0
	expect := func(want ...string) {
		t.Helper()
		got, err := lacking(published(t, root))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	expect()
	var walk func(at string, schema map[string]any)
	walk = func(at string, schema map[string]any) {
		if items, ok := schema["items"].(map[string]any); ok {
			walk(at, items)
			return
		}
		fields, _ := schema["properties"].(map[string]any)
		for name, inner := range maps.Clone(fields) {
			path := strings.TrimPrefix(at+"."+name, ".")
			delete(fields, name)
			expect(path)
			fields[name] = inner
			tried++
			walk(path, inner.(map[string]any))
		}
	}
	walk("", root)
	if tried < 100 {
		t.Errorf("%d fields tried", tried)
	}
	root["x-kubernetes-preserve-unknown-fields"] = true
	root["properties"] = map[string]any{}
	expect()
}

// served is what an API server publishes of a group.
type served struct {
	address string
	data    []byte
	err     error
	fetched int
}

func (s *served) ServerRelativeURL() string     { return s.address }
func (s *served) Schema(string) ([]byte, error) { s.fetched++; return s.data, s.err }

func TestKindIsWholeOnlyOnceItIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		schema := shipped(t)
		whole := published(t, schema)
		delete(schema["properties"].(map[string]any), "membership")
		narrow := published(t, schema)
		s, away, there := &served{address: "?hash=1", data: narrow}, error(nil), true
		k := newKind(func() (map[string]openapi.GroupVersion, error) {
			if away != nil || !there {
				return nil, away
			}
			return map[string]openapi.GroupVersion{"apis/" + api.GroupVersion.String(): s}, nil
		}, clock.RealClock{}, slog.New(slog.DiscardHandler))
		for i, step := range []struct {
			name    string
			do      func()
			says    string // empty is whole
			fetched int
		}{
			{"never asked", func() {}, "is not compared yet", 0},
			{"no answer", func() { away = errors.New("timed out"); k.look(t.Context()) }, "timed out", 0},
			{"not published", func() { away, there = nil, false; k.look(t.Context()) }, "does not publish it yet", 0},
			{"not readable", func() { there, s.err = true, errors.New("forbidden"); k.look(t.Context()) }, "forbidden", 1},
			{"a field lacks", func() { s.err = nil; k.look(t.Context()) }, "lacks membership: update the CRDs with kubectl scylla install --upgrade", 2},
			{"the same again", func() { k.look(t.Context()) }, "lacks membership", 2},
			{"brought up to date", func() { s.address, s.data = "?hash=2", whole; k.look(t.Context()) }, "", 3},
			{"no answer later", func() { away = errors.New("timed out"); k.look(t.Context()) }, "", 3},
			{"an older one again", func() { away, s.address, s.data = nil, "?hash=1", narrow; k.look(t.Context()) }, "lacks membership", 4},
		} {
			step.do()
			err := k.check(nil)
			if (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) || s.fetched != step.fetched {
				t.Errorf("%d, %s: %v, fetched %d times, want %d", i, step.name, err, s.fetched, step.fetched)
			}
		}
	})
}

// TestKindIsComparedAgain: soon while a field lacks, each minute else.
func TestKindIsComparedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks, n := make(chan string), 0
		s := &served{address: "?hash=1", data: []byte(`{"components":{"schemas":{"x.ScyllaDBStatusReport":{}}}}`)}
		clk := clock.RealClock{}
		began := clk.Now()
		k := newKind(func() (map[string]openapi.GroupVersion, error) {
			looks <- clk.Since(began).String()
			if n++; n == 3 {
				s = &served{address: "?hash=2", data: published(t, shipped(t))}
			}
			return map[string]openapi.GroupVersion{"apis/" + api.GroupVersion.String(): s}, nil
		}, clk, slog.New(slog.DiscardHandler))
		go func() { _ = k.Start(t.Context()) }()
		var at []string
		for range 4 {
			at = append(at, <-looks)
		}
		if want := []string{"1s", "2s", "3s", "1m3s"}; !slices.Equal(at, want) {
			t.Errorf("compared at %q, want %q", at, want)
		}
	})
}

// TestAFieldThatIsNeverWrittenIsNotLacking: without a name on the wire the API server cannot remove it.
func TestAFieldThatIsNeverWrittenIsNotLacking(t *testing.T) {
	t.Parallel()
	lacks := (&schema{}).lacks("", reflect.TypeFor[struct {
		Written string `json:"written"`
		Never   string `json:"-"`
	}]())
	if diff := cmp.Diff([]string{"written"}, lacks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
