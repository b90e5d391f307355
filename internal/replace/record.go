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

// Record is a replacement as recorded in a member Service's labels and annotations.
type Record struct {
	// Requested is set while LabelReplace is present; Value is its value.
	Requested bool
	Value     string
	// Request, Resume and Accepted are identities of requests; empty if absent.
	Request, Resume, Accepted string
	// HasOriginal is set while the original host ID is recorded, in the label or (by address) in
	// the annotation. Original may still be empty or malformed; OriginalError is then the reason.
	HasOriginal   bool
	Original      hostid.ID
	OriginalError words.Message
	// LabelLost is set if the label is missing or differs from the annotation.
	LabelLost bool
	// RecordedAddress is the address to replace by address, else empty.
	RecordedAddress string
	// PVCUIDs are the PVCs that this attempt deletes; PVCsRecorded is set if the list exists, even
	// as "none".
	PVCUIDs      []string
	PVCsRecorded bool
	PodUID       string
	StartedAt    time.Time
	Attempt      int
	IgnoreDead   []string
	SkipChecks   []string
	// Refused is the last refusal by the API server; nil without one, or if it is unreadable (the
	// next refusal overwrites it).
	Refused *Refusal
	Last    *Last
	// Problems are the values that are unreadable; each names its key.
	Problems []words.Message
}

// Open reports whether any controller has accepted a replacement that has not ended.
func (r Record) Open() bool { return r.HasOriginal || r.Accepted != "" }

// Pending reports whether a request is not accepted yet; IgnoreDead and SkipChecks are then its.
func (r Record) Pending() bool { return !r.Open() || r.Resume != "" && r.Resume != r.Accepted }

// Address returns the address to replace by address; ok is false if neither the record nor the
// label has one.
func (r Record) Address() (addr string, ok bool) {
	for _, v := range []string{r.RecordedAddress, r.Value} {
		if a, err := netip.ParseAddr(v); err == nil {
			return a.Unmap().String(), true
		}
	}
	return "", false
}

// Procedure returns the procedure of an open replacement.
func (r Record) Procedure() Procedure {
	if r.RecordedAddress != "" {
		return ByAddress
	}
	if _, ok := r.Address(); ok && !r.HasOriginal {
		return ByAddress
	}
	return byHostID
}

// ReadRecord reads labels and annotations. It never fails: unreadable values are in Problems and
// count as absent. Only the original host ID keeps a replacement open even if it is malformed.
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
			r.Problems = append(r.Problems, words.New(words.ReplaceTimeMalformed, "key", api.AnnotationReplaceStartedAt,
				"value", v))
		}
		r.StartedAt = t
	}
	if r.Accepted != "" {
		r.Attempt = 1
		if v, ok := annotations[api.AnnotationReplaceAttempt]; ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				// An unreadable attempt must not look like the first one, which can still be
				// cancelled.
				r.Problems = append(r.Problems,
					words.New(words.ReplaceAttemptMalformed, "key", api.AnnotationReplaceAttempt, "value", v))
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
			r.Problems = append(r.Problems, words.New(words.ReplaceOutcomeMalformed, "key", api.AnnotationReplaceLast,
				"why", err.Error()))
		} else {
			r.Last = &last
		}
	}
	return r
}

// RecordOf reads the record on a member's Service; empty without a Service.
func RecordOf(m *cluster.Member) Record {
	if m.Service == nil {
		return Record{}
	}
	return ReadRecord(m.Service.Labels, m.Service.Annotations)
}

// target returns the original host ID or, by address, the address; empty if neither is recorded.
func (r Record) target() string {
	addr, _ := r.Address()
	return cmp.Or(string(r.Original), addr)
}

// touched reports whether a PVC that this attempt deletes is deleted or being deleted.
func (r Record) touched(claim func(uid string) *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(r.PVCUIDs, func(uid string) bool { c := claim(uid); return c == nil || goes(c) })
}

// cancelable reports whether nothing was accepted, or all PVCs of this first attempt still exist
// untouched.
func (r Record) cancelable(claim func(uid string) *corev1.PersistentVolumeClaim) bool {
	if !r.Open() {
		return true
	}
	if r.Accepted == "" || r.Attempt > 1 || len(r.PVCUIDs) == 0 {
		return false
	}
	return !r.touched(claim)
}

// goes reports whether a PVC is being deleted.
func goes(c *corev1.PersistentVolumeClaim) bool { return c.DeletionTimestamp != nil }

// readOriginal reads the host ID (by address: the address) of the replaced node.
func (r *Record) readOriginal(labels, annotations map[string]string) {
	r.RecordedAddress = annotations[api.AnnotationReplaceAddress]
	key := api.LabelReplacingNodeHostID
	original, inLabel := labels[key]
	beside, recorded := annotations[api.AnnotationReplaceOriginalHostID]
	r.HasOriginal = inLabel || recorded
	if r.HasOriginal {
		if _, err := hostid.Parse(beside); recorded && (err == nil || !inLabel) {
			// The annotation is written once, before any deletion, and outlives the label.
			r.LabelLost = r.RecordedAddress == "" && !sameHostID(original, beside)
			key, original = api.AnnotationReplaceOriginalHostID, beside
		}
		id, err := hostid.Parse(original)
		if err != nil {
			r.OriginalError = words.New(words.ReplaceOriginalMalformed, "key", key, "value", original, "why",
				hostid.Why(err))
		}
		r.Original = id
	}
}

// sameHostID reports whether two texts are the same host ID, or the same malformed text.
func sameHostID(a, b string) bool {
	x, errA := hostid.Parse(a)
	y, errB := hostid.Parse(b)
	return errA == nil && errB == nil && x == y || a == b
}

// recordKeys are the annotations of an open replacement. Its end removes them all;
// AnnotationReplaceLast is kept.
var recordKeys = []string{
	api.AnnotationReplaceRequest, api.AnnotationReplaceResume, api.AnnotationReplaceIgnoreDead,
	api.AnnotationReplaceSkipChecks,
	api.AnnotationReplaceAccepted, api.AnnotationReplacePVCUIDs, api.AnnotationReplacePodUID,
	api.AnnotationReplaceStartedAt,
	api.AnnotationReplaceAttempt, api.AnnotationReplaceOriginalHostID, api.AnnotationReplaceAddress,
	api.AnnotationReplaceRefused,
}

// endPatch removes the record of a replacement and keeps its outcome, in one write.
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

// RequestPatch requests a replacement: label, identity and choices in one write.
func RequestPatch(id string, ignoreDead, skipChecks []string) *Patch {
	p := &Patch{
		SetLabels:      map[string]string{api.LabelReplace: ""},
		SetAnnotations: map[string]string{api.AnnotationReplaceRequest: id},
	}
	p.choices(ignoreDead, skipChecks)
	return p
}

// ResumePatch requests another attempt. A non-empty original records the host ID if it was lost or
// is malformed; it never overwrites a valid one.
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

// SupersedePatch requests the replacement of the new node that Superseded returns. The same write
// ends the replacement that created it.
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

// CancelPatch withdraws the request, as a user would with kubectl.
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

// stamp formats times for annotations.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }
