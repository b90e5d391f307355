// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
)

// TestNoHarm46NoPasswordInTheLog: whatever a container, ScyllaDB or a library has written.
func TestNoHarm46NoPasswordInTheLog(t *testing.T) {
	var out bytes.Buffer
	a := &agent{stderr: &out, logLevel: "info"}
	if err := a.setup(&cobra.Command{}); err != nil {
		t.Fatal(err)
	}
	const statement, command = "CREATE ROLE a WITH PASSWORD = 'hunter2'", "nodetool -u a -pw hunter2 status"
	a.log.With("said", command).Info(statement, "why", statement, "error", errors.New(command), "blockers", []string{"b (rack2-0)", command},
		"hash", "salted_hash $6$hunter2hunter2$hunter2")
	if log := out.String(); strings.Contains(log, "hunter2") || strings.Count(log, "[redacted]") != 6 || !strings.Contains(log, "b (rack2-0)") {
		t.Error(log)
	}
}

type named struct{ C chan int }

func (named) String() string { return "kind source: *v1.Pod, CREATE ROLE a WITH PASSWORD = 'hunter2'" }

// TestNoValueOfTheLogIsAnError: controller-runtime writes a source of events as a value, which has channels and functions. A value that has no JSON is logged by its text, or by its
// type, which shows no memory.
func TestNoValueOfTheLogIsAnError(t *testing.T) {
	cases := map[string]struct {
		value any
		want  string
	}{
		"with a text":            {named{}, `"source":"kind source: *v1.Pod, CREATE ROLE a WITH PASSWORD = '[redacted]'"`},
		"without":                {struct{ F func() }{}, `"source":"struct { F func() }"`},
		"a pointer":              {&struct{ C chan int }{}, `"source":"*struct { C chan int }"`},
		"in a list":              {[]any{make(chan int)}, `"source":"[]interface {}"`},
		"with JSON of its own":   {map[string]int{"a": 1}, `"source":{"a":1}`},
		"no number":              {math.NaN(), `"source":"NaN"`},
		"with JSON and no text":  {struct{ A int }{1}, `"source":{"A":1}`},
		"an object that is none": {(*named)(nil), `"source":null`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := &agent{stderr: &out, logLevel: "info"}
			if err := a.setup(&cobra.Command{}); err != nil {
				t.Fatal(err)
			}
			logr.FromSlogHandler(a.log.Handler()).WithName("remote").Info("Starting EventSource", "source", tc.value)
			if log := out.String(); !strings.Contains(log, tc.want) || strings.Contains(log, "!ERROR") {
				t.Errorf("want %s in %s", tc.want, log)
			}
		})
	}
}
