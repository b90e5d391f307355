// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"encoding/json"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Delays before a refused step is retried; the delay doubles each time.
const (
	firstBackoff = 5 * time.Second
	maxBackoff   = 2 * time.Minute
)

// Refusal records that the API server refused to delete the PVC or to evict the Pod. It is the
// value of api.AnnotationReplaceRefused on the Service, so that a restarted controller keeps the
// back-off.
type Refusal struct {
	// UID of the object to delete or evict: a refusal applies to that object only.
	UID string `json:"uid"`
	// Message is the API server's message, and the message of the disruption budget if one refuses.
	// Budget is set then.
	Message string `json:"message"`
	Budget  bool   `json:"budget,omitempty"`
	// Times counts refusals in a row, from Since; Next is the next retry.
	Times int       `json:"times"`
	Since time.Time `json:"since"`
	Next  time.Time `json:"next"`
}

// Refuse returns the record of another refusal of the step, and its change. atLeast is the delay
// that the API server suggests.
func (s Step) Refuse(message string, budget bool, now time.Time, atLeast time.Duration) (*Refusal, *Patch) {
	now = now.UTC().Truncate(time.Second)
	r := Refusal{UID: s.uid(), Message: message, Budget: budget, Times: 1, Since: now}
	if s.Refused != nil {
		r.Times, r.Since = s.Refused.Times+1, s.Refused.Since
	}
	r.Next = now.Add(max(min(firstBackoff<<min(r.Times-1, 10), maxBackoff), min(atLeast, 2*maxBackoff)))
	value, err := json.Marshal(r)
	if err != nil {
		return &r, &Patch{} // strings, numbers and times always marshal, except a year beyond 9999
	}
	return &r, &Patch{SetAnnotations: map[string]string{api.AnnotationReplaceRefused: string(value)}}
}

// RefusedNote returns the note of the refusal's Event. pod names the Pod that the step evicts.
func (s Step) RefusedNote(pod, says string) words.Message {
	what := words.New(words.PodCannotBeEvictedUID, "pod", pod, "uid", s.PodUID)
	if s.Claim != nil {
		what = words.New(words.ClaimCannotBeDeletedUID, "claim", s.Claim.Name, "uid", string(s.Claim.UID))
	}
	return words.New(words.ReplaceRefusedEvent, "what", what, "says", says)
}

func readRefusal(value string) *Refusal {
	var r Refusal
	if value == "" || json.Unmarshal([]byte(value), &r) != nil || r.UID == "" || r.Times < 1 {
		return nil
	}
	return &r
}

// uid returns the UID of the object that the step deletes or evicts.
func (s Step) uid() string {
	if s.Claim != nil {
		return string(s.Claim.UID)
	}
	return s.PodUID
}

// backOff delays a step that the API server has refused until the recorded retry time, and always
// shows the reason. A retry time beyond 2*maxBackoff is not ours and is ignored.
func (m *machine) backOff(s Step, what words.Message) Step {
	r := m.rec.Refused
	if r == nil || r.UID != s.uid() {
		return s
	}
	s.Refused = r
	s.Message = words.New(words.ReplaceRefusedYet, "what", what, "says", r.Message)
	wait := r.Next.Sub(m.in.Now)
	since := clock(r.Since, m.in.Now)
	if wait > 0 && wait <= 2*maxBackoff {
		s.Action, s.Events = ActionWaitRefused, nil
		s.Waiting = []words.Message{words.New(words.ReplaceRefusedUntil, "times", r.Times, "since", since, "next",
			clock(r.Next, m.in.Now))}
	} else {
		s.Waiting = []words.Message{words.New(words.ReplaceRefusedDue, "times", r.Times, "since", since)}
	}
	if r.Budget {
		s.Cure = words.New(words.CureBudget).Do(words.Kubectl(m.in.Namespace, "get", "poddisruptionbudgets,pods"))
	}
	return s
}

// clock returns a time of day for people, with the date if it is over 24 h from now.
func clock(t, now time.Time) string {
	layout := "15:04:05 UTC"
	if d := now.Sub(t); d > 24*time.Hour || d < -24*time.Hour {
		layout = "2006-01-02 " + layout
	}
	return t.UTC().Format(layout)
}
