// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestABarrierWaitAlwaysFits: what a barrier writes can be read, however long its causes are, and the gravest refusals keep theirs.
func TestABarrierWaitAlwaysFits(t *testing.T) {
	t.Parallel()
	names := make([]string, 400)
	for i := range names {
		names[i] = fmt.Sprintf("demo-rack1-%d", i)
	}
	long := api.BarrierRefusal{Reason: "ReportOutdated", Cause: words.Coded(words.New(words.ReportBehindPods, "members", names))}
	sentence := func(c words.Coded) string { return words.Text(words.Message(c)) }
	w := &api.BarrierWait{EmptyVolume: true, Refusals: []api.BarrierRefusal{
		{Reason: "ReporterSilent", Observed: "demo-rack2-0", Detail: strings.Repeat("<", 300)}, long, long, long, long,
	}}
	text, err := api.EncodeBarrierWait(w)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.DecodeBarrierWait(text)
	if err != nil {
		t.Fatal(err)
	}
	if sentence(got.Refusals[1].Cause) != sentence(long.Cause) || got.Refusals[4].Cause.Code != "" || sentence(w.Refusals[4].Cause) != sentence(long.Cause) {
		t.Errorf("%d bytes: %+v", len(text), got.Refusals)
	}
	if got.Refusals[0].Detail != w.Refusals[0].Detail || got.Refusals[4].Reason != long.Reason || !got.EmptyVolume {
		t.Errorf("%+v", got)
	}
}

// TestABarriersCauseHasNoCommand, and no code or name that is more than letters and digits.
func TestABarriersCauseHasNoCommand(t *testing.T) {
	t.Parallel()
	got, err := api.DecodeBarrierWait(`{"refusals":[
		{"reason":"NodeDown","cause":{"code":"SeedsNotUp","params":{"names":["a"],"a b":"c"},"commands":[["rm","-rf","/"]]}},
		{"reason":"NodeDown","cause":{"code":"\u001b[2J{1}","commands":[["rm"]]}},
		{"reason":"NodeDown","words":"of an older barrier"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []api.BarrierRefusal{
		{Reason: "NodeDown", Cause: words.Coded{Code: words.SeedsNotUp, Params: words.Params{"names": []any{"a"}}}}, {Reason: "NodeDown"}, {Reason: "NodeDown", Words: "of an older barrier"},
	}
	if diff := cmp.Diff(want, got.Refusals); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
