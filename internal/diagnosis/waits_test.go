// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// bounded are the steps whose sentence has its end: a time, or a fact that the same check judges.
var bounded = map[words.Code]string{
	"ReplaceWaitUntil": "the time is in it",
	"PodEnds":          "PodOverdue follows it",
}

// TestNoWaitWithoutAnEnd: a step that said "wait" said so for ever, and named nothing that one could look at.
func TestNoWaitWithoutAnEnd(t *testing.T) {
	t.Parallel()
	facts := evidence.Facts{"namespace": "demo", "cluster": "demo", "member": "demo-rack1-0", "pod": "demo-rack1-0", "reporterLog": "logs demo-rack1-0 -c scylla-reporter", "node": "demo-rack1-0", "statefulSet": "demo-rack1", "report": "demo",
		"log": "logs demo-rack1-0 -c scylla", "container": "scylla"}
	found := 0
	for _, code := range words.All() {
		sentence, _ := words.Sentence(code)
		if !strings.HasPrefix(sentence, "wait ") && !strings.HasPrefix(sentence, "wait:") && !strings.HasPrefix(sentence, "wait[") || bounded[code] != "" {
			continue
		}
		found++
		early := words.Text(replace.Waited(words.New(code), time.Second, facts))
		if !strings.Contains(early, "wait up to ") && !strings.Contains(early, "within ") {
			t.Errorf("%s names no limit: %s", code, early)
		}
		late := replace.Waited(words.New(code), 1000*time.Hour, facts)
		if late.Code == code {
			t.Errorf("%s has no end: %s", code, sentence)
			continue
		}
		text := words.Text(late)
		if strings.HasPrefix(text, "wait ") || strings.HasPrefix(text, "wait:") || len(late.Commands) == 0 {
			t.Errorf("%s after 1000 h: %s", code, text)
		}
		if !strings.Contains(text, "demo") || strings.Contains(text, "POD") || strings.Contains(text, "MEMBER") {
			t.Errorf("%s after 1000 h names no object: %s", code, text)
		}
		if again := replace.Waited(late, 1000*time.Hour, facts); again.Code != late.Code {
			t.Errorf("%s waits again: %s", code, text)
		}
	}
	if found < 15 {
		t.Errorf("only %d steps begin with wait: this test does not find them", found)
	}
}
