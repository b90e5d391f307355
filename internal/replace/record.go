// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Record is a replacement by a member Service's labels and annotations.
type Record struct {
	// Requested is set while LabelReplace is present; Value is its value.
	Requested bool
	Value     string
	// Request, Resume, Accepted are identities; empty when absent.
	Request, Resume, Accepted string
	// HasOriginal is set while the original host ID is recorded, in the label or (by address) in the annotation. Original may still be empty
	// or malformed: then OriginalError says so.
	HasOriginal   bool
	Original      hostid.ID
	OriginalError words.Message
	// LabelLost is set when the label is gone or differs from what was recorded beside it.
	LabelLost bool
	// Recorded address of the procedure by address, empty otherwise.
	RecordedAddress string
	// PVCUIDs that this attempt deletes; PVCsRecorded is set when the list was written at all, even as "none".
	PVCUIDs      []string
	PVCsRecorded bool
	PodUID       string
	StartedAt    time.Time
	Attempt      int
	IgnoreDead   []string
	SkipChecks   []string
	// Refused is what the API server refused last, nil when nothing was or the record cannot be read: the next refusal writes it anew.
	Refused *Refusal
	Last    *Last
	// Problems are values that could not be read; each names the key.
	Problems []words.Message
}

// Open reports whether a replacement was accepted, by any controller, and is not over.
func (r Record) Open() bool { return r.HasOriginal || r.Accepted != "" }

// Address returns the address that is replaced in the procedure by address; ok is false when neither the record nor the label has one.
func (r Record) Address() (addr string, ok bool) {
	for _, v := range []string{r.RecordedAddress, r.Value} {
		if a, err := netip.ParseAddr(v); err == nil {
			return a.Unmap().String(), true
		}
	}
	return "", false
}

// Procedure of an open replacement.
func (r Record) Procedure() Procedure {
	if r.RecordedAddress != "" {
		return ByAddress
	}
	if _, ok := r.Address(); ok && !r.HasOriginal {
		return ByAddress
	}
	return ByHostID
}

// ReadRecord reads labels and annotations. It never fails: unreadable values are in Problems and count as absent, except for the original host ID,
// whose presence alone keeps a replacement open.
func ReadRecord(labels, annotations map[string]string) Record {
	var r Record
	r.Value, r.Requested = labels[api.LabelReplace]
	r.Request = annotations[api.AnnotationReplaceRequest]
	r.Resume = annotations[api.AnnotationReplaceResume]
	r.Accepted = annotations[api.AnnotationReplaceAccepted]

	r.readOriginal(labels, annotations)
	if v, ok := annotations[api.AnnotationReplacePVCUIDs]; ok {
		r.PVCsRecorded = true
		if v != api.ReplaceNone {
			r.PVCUIDs = api.SplitList(v)
		}
	}
	if v := annotations[api.AnnotationReplacePodUID]; v != api.ReplaceNone {
		r.PodUID = v
	}
	if v, ok := annotations[api.AnnotationReplaceStartedAt]; ok {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			r.Problems = append(r.Problems, words.New(words.ReplaceTimeMalformed, "key", api.AnnotationReplaceStartedAt, "value", v))
		}
		r.StartedAt = t
	}
	if r.Accepted != "" {
		r.Attempt = 1
		if v, ok := annotations[api.AnnotationReplaceAttempt]; ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				// An attempt that cannot be read must not look like the first, which can still be cancelled.
				r.Problems = append(r.Problems, words.New(words.ReplaceAttemptMalformed, "key", api.AnnotationReplaceAttempt, "value", v))
				n = 2
			}
			r.Attempt = n
		}
	}
	r.IgnoreDead = api.SplitList(annotations[api.AnnotationReplaceIgnoreDead])
	r.SkipChecks = api.SplitList(annotations[api.AnnotationReplaceSkipChecks])
	r.Refused = readRefusal(annotations[api.AnnotationReplaceRefused])
	if v, ok := annotations[api.AnnotationReplaceLast]; ok {
		var last Last
		if err := json.Unmarshal([]byte(v), &last); err != nil {
			r.Problems = append(r.Problems, words.New(words.ReplaceOutcomeMalformed, "key", api.AnnotationReplaceLast, "why", err.Error()))
		} else {
			r.Last = &last
		}
	}
	return r
}

// RecordOf reads the record on a member's Service; it is empty where there is none.
func RecordOf(m *cluster.Member) Record {
	if m.Service == nil {
		return Record{}
	}
	return ReadRecord(m.Service.Labels, m.Service.Annotations)
}

// target is what is replaced: the original host ID, or by address the address; empty when neither is recorded.
func (r Record) target() string {
	addr, _ := r.Address()
	return cmp.Or(string(r.Original), addr)
}

// touched is true where one of the claims that this attempt deletes is gone, or is being deleted.
func (r Record) touched(claim func(uid string) *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(r.PVCUIDs, func(uid string) bool { c := claim(uid); return c == nil || goes(c) })
}

// cancelable: nothing was accepted, or this first attempt's claims are all still there and untouched.
func (r Record) cancelable(claim func(uid string) *corev1.PersistentVolumeClaim) bool {
	if !r.Open() {
		return true
	}
	if r.Accepted == "" || r.Attempt > 1 || len(r.PVCUIDs) == 0 {
		return false
	}
	return !r.touched(claim)
}

// goes is true for a claim that is being deleted.
func goes(c *corev1.PersistentVolumeClaim) bool { return c.DeletionTimestamp != nil }

// readOriginal reads the host ID, or by address the address, of the replaced node.
func (r *Record) readOriginal(labels, annotations map[string]string) {
	r.RecordedAddress = annotations[api.AnnotationReplaceAddress]
	key := api.LabelReplacingNodeHostID
	original, inLabel := labels[key]
	beside, recorded := annotations[api.AnnotationReplaceOriginalHostID]
	r.HasOriginal = inLabel || recorded
	if r.HasOriginal {
		if _, err := hostid.Parse(beside); recorded && (err == nil || !inLabel) {
			// The annotation was written once before anything was deleted, and outlives the label.
			r.LabelLost = r.RecordedAddress == "" && !sameHostID(original, beside)
			key, original = api.AnnotationReplaceOriginalHostID, beside
		}
		id, err := hostid.Parse(original)
		if err != nil {
			r.OriginalError = words.New(words.ReplaceOriginalMalformed, "key", key, "value", original, "why", hostid.Why(err))
		}
		r.Original = id
	}
}

// sameHostID compares two spellings of a host ID, or two texts that are none.
func sameHostID(a, b string) bool {
	x, errA := hostid.Parse(a)
	y, errB := hostid.Parse(b)
	return errA == nil && errB == nil && x == y || a == b
}

// recordKeys are the annotations of an open replacement, all removed when it ends. AnnotationReplaceLast stays.
var recordKeys = []string{
	api.AnnotationReplaceRequest, api.AnnotationReplaceResume, api.AnnotationReplaceIgnoreDead, api.AnnotationReplaceSkipChecks,
	api.AnnotationReplaceAccepted, api.AnnotationReplacePVCUIDs, api.AnnotationReplacePodUID, api.AnnotationReplaceStartedAt,
	api.AnnotationReplaceAttempt, api.AnnotationReplaceOriginalHostID, api.AnnotationReplaceAddress, api.AnnotationReplaceRefused,
}

// endPatch takes everything of the replacement away and leaves its outcome, in one write.
func endPatch(last Last) *Patch {
	value, err := json.Marshal(last)
	if err != nil {
		value = []byte(`{}`) // strings, numbers and times always marshal, except a year beyond 9999
	}
	return &Patch{
		RemoveLabels:      []string{api.LabelReplace, api.LabelReplacingNodeHostID},
		RemoveAnnotations: slices.Clone(recordKeys),
		SetAnnotations:    map[string]string{api.AnnotationReplaceLast: string(value)},
	}
}

// RequestPatch is what asks for a replacement: the label, and the request's identity and choices in the same write.
func RequestPatch(id string, ignoreDead, skipChecks []string) *Patch {
	p := &Patch{
		SetLabels:      map[string]string{api.LabelReplace: ""},
		SetAnnotations: map[string]string{api.AnnotationReplaceRequest: id},
	}
	p.choices(ignoreDead, skipChecks)
	return p
}

// ResumePatch is what asks for another attempt. A non-empty original writes down the original host ID where it was lost (label present but
// empty); it never overwrites one that is there.
func ResumePatch(r Record, id string, original hostid.ID, ignoreDead, skipChecks []string) *Patch {
	p := &Patch{
		SetLabels:      map[string]string{},
		SetAnnotations: map[string]string{api.AnnotationReplaceResume: id},
	}
	if !r.Requested {
		p.SetLabels[api.LabelReplace] = ""
	}
	if original != "" && (!r.HasOriginal || !r.OriginalError.IsZero()) {
		p.SetLabels[api.LabelReplacingNodeHostID] = string(original)
	}
	p.choices(ignoreDead, skipChecks)
	return p
}

// SupersedePatch asks for the replacement of the newcomer that Superseded names, and ends the replacement that brought it in the same write.
func SupersedePatch(r Record, newcomer hostid.ID, id string, ignoreDead, skipChecks []string, now time.Time) *Patch {
	end := endPatch(Last{
		Request: cmp.Or(r.Accepted, r.Request), Outcome: OutcomeReplaced, HostID: r.Original, NewHostID: newcomer,
		StartedAt: r.StartedAt, FinishedAt: now.UTC().Truncate(time.Second), Attempts: r.Attempt,
	})
	p := RequestPatch(id, ignoreDead, skipChecks)
	maps.Copy(p.SetAnnotations, end.SetAnnotations)
	p.RemoveLabels = []string{api.LabelReplacingNodeHostID}
	for _, key := range end.RemoveAnnotations {
		if _, set := p.SetAnnotations[key]; !set && !slices.Contains(p.RemoveAnnotations, key) {
			p.RemoveAnnotations = append(p.RemoveAnnotations, key)
		}
	}
	slices.Sort(p.RemoveAnnotations)
	return p
}

// CancelPatch withdraws the request, as a person would by hand.
func CancelPatch() *Patch { return &Patch{RemoveLabels: []string{api.LabelReplace}} }

func (p *Patch) choices(ignoreDead, skipChecks []string) {
	for key, list := range map[string][]string{
		api.AnnotationReplaceIgnoreDead: ignoreDead,
		api.AnnotationReplaceSkipChecks: skipChecks,
	} {
		if len(list) > 0 {
			p.SetAnnotations[key] = strings.Join(list, ",")
		} else {
			p.RemoveAnnotations = append(p.RemoveAnnotations, key)
		}
	}
	slices.Sort(p.RemoveAnnotations)
}

func listOrNone(list []string) string {
	if len(list) == 0 {
		return api.ReplaceNone
	}
	return strings.Join(list, ",")
}

// stamp is the one spelling of times in annotations.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }
