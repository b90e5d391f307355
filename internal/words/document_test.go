// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A message has the same text and the same JSON after it was read again: printers copy documents by their JSON.
func TestAMessageInADocument(t *testing.T) {
	t.Parallel()
	inner := words.New(words.SeeDiscovery).Do(words.Kubectl("demo", "logs", "a"), words.Scylla("demo", "replace", "1"))
	for name, tc := range map[string]struct {
		message     words.Message
		text, param string
	}{
		"a duration":              {words.New(words.ScyllaDBStartsLong, "for", 10*time.Minute), words.Text(words.New(words.ScyllaDBStartsLong, "for", "10m0s")), `"for":"10m0s"`},
		"a number that is zero":   {words.New(words.NumbersRows, "down", 2, "rows", 2, "up", 0), "DOWN in 2 of 2 reports, UP in 0", `"up":0`},
		"a message in the middle": {words.New(words.ResumeReplacement, "cure", inner), "", `"commands":[["kubectl","logs","a","-n","demo"]`},
		"signs of HTML":           {words.New("None", "why", "a <b> & c"), "None: a <b> & c", `"why":"a \u003cb\u003e \u0026 c"`},
		"commands":                {inner, "", ""},
		"no message":              {words.Message{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, err := json.Marshal(tc.message)
			if err != nil {
				t.Fatal(err)
			}
			var again words.Message
			if err := json.Unmarshal(first, &again); err != nil {
				t.Fatal(err)
			}
			second, err := json.Marshal(again)
			if diff := cmp.Diff(string(first), string(second)); err != nil || diff != "" {
				t.Errorf("%v (-first +second):\n%s", err, diff)
			}
			if got := words.Text(again); got != words.Text(tc.message) || tc.text != "" && got != tc.text {
				t.Errorf("read again it is %q, want %q", got, words.Text(tc.message))
			}
			if !strings.Contains(string(first), tc.param) {
				t.Errorf("%s has no %s", first, tc.param)
			}
		})
	}
}
