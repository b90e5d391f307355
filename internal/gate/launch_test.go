// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestLaunch(t *testing.T) {
	first, others, joining := words.SeedsFirstNode, words.SeedsFound, words.SeedsNotUp
	const waits, judges, starts = LaunchWaits, LaunchJudges, LaunchStarts
	for name, c := range map[string]struct {
		read []words.Code
		want []LaunchStep
	}{
		"a join is judged, and read again":                    {[]words.Code{others, others}, []LaunchStep{judges, starts}},
		"nothing could be read at first":                      {[]words.Code{"", "", others, others}, []LaunchStep{waits, waits, judges, starts}},
		"the first node is read twice before it is judged":    {[]words.Code{first, first, first}, []LaunchStep{waits, judges, starts}},
		"a failed reading between begins anew":                {[]words.Code{first, "", first, first, first}, []LaunchStep{waits, waits, waits, judges, starts}},
		"the reading after the judgement failed":              {[]words.Code{others, "", others, others}, []LaunchStep{judges, waits, judges, starts}},
		"other seeds after the judgement are judged again":    {[]words.Code{others, joining, joining}, []LaunchStep{judges, judges, starts}},
		"a first node that was none before begins anew":       {[]words.Code{others, first, first, first}, []LaunchStep{judges, waits, judges, starts}},
		"a first node that has become another's seed is none": {[]words.Code{first, first, others, others}, []LaunchStep{waits, judges, judges, starts}},
	} {
		t.Run(name, func(t *testing.T) {
			var l Launch
			var got []LaunchStep
			for _, code := range c.read {
				got = append(got, l.Read(code))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
