// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventPage is the page size of Events, eventPages the largest number of pages.
	eventPage, eventPages = 500, 4
)

// decodeEvent decodes an Event of either API: core/v1, or events.k8s.io/v1 with its own names for
// the same fields.
func decodeEvent(raw []byte) (corev1.Event, error) {
	var of struct {
		Regarding json.RawMessage `json:"regarding"`
	}
	var e corev1.Event
	if err := json.Unmarshal(raw, &of); err != nil {
		return e, err
	}
	if of.Regarding == nil {
		err := json.Unmarshal(raw, &e)
		return e, err
	}
	var other eventsv1.Event
	if err := json.Unmarshal(raw, &other); err != nil {
		return e, err
	}
	e = corev1.Event{ObjectMeta: other.ObjectMeta, InvolvedObject: other.Regarding, Reason: other.Reason,
		Message: other.Note, Type: other.Type, EventTime: other.EventTime, Count: other.DeprecatedCount,
		FirstTimestamp: other.DeprecatedFirstTimestamp, LastTimestamp: other.DeprecatedLastTimestamp}
	if s := other.Series; s != nil {
		e.Series = &corev1.EventSeries{Count: s.Count, LastObservedTime: s.LastObservedTime}
	}
	return e, nil
}

// events returns the Warnings of a namespace; if they cannot be listed, nil and a note about that.
// A result is reused as the states are.
func (m *Machines) events(ctx context.Context, c client.Reader, namespace string,
	now time.Time) ([]corev1.Event, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.warnings[namespace]; !s.at.IsZero() && now.Sub(s.at) < machinesOld {
		return s.events, s.note
	}
	if m.warnings == nil {
		m.warnings = map[string]warnings{}
	}
	s := warnings{at: now}
	next := ""
	for range eventPages {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(namespace), client.Limit(eventPage), client.Continue(next),
			client.MatchingFields{"type": corev1.EventTypeWarning}); err != nil {
			s.note = fmt.Sprintf("Events of namespace %s not read: %v", namespace, err)
			if apierrors.IsForbidden(err) {
				s.note = fmt.Sprintf("Events of namespace %s not read: no permission to list them; request verb list "+
					"on resource events", namespace)
			}
			break
		}
		s.events = append(s.events, list.Items...)
		if next = list.Continue; next == "" {
			break
		}
	}
	m.warnings[namespace] = s
	return s.events, s.note
}

// warnings are the Warnings of one namespace, and when they were read.
type warnings struct {
	at     time.Time
	events []corev1.Event
	note   string
}

// readEvents reads the Warnings about members that are not Ready; none if all are. That they cannot
// be read is only a note: they explain, and no decision depends on them alone.
func (l *loader) readEvents(ctx context.Context) {
	if len(l.o.Unready()) == 0 || !l.o.KnowsPods() {
		return
	}
	events, note := l.opts.Machines.events(ctx, l.c, l.o.Namespace, time.Now())
	if note != "" {
		l.o.Notes = append(l.o.Notes, note)
	}
	l.o.SetEvents(events)
}
