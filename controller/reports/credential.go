// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential/finding"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reasons of the Events about the root credential and the first settings.
const (
	credentialVerified = "CredentialVerified"
	credentialFailed   = "CredentialFailed"
	settingsApplied    = "SettingsApplied"
	settingsPending    = "SettingsPending"
)

// credential adds the result of the member that acts on the root credential to the wanted status,
// and returns its condition; nil before the first result. The last result stays while no member can
// act.
func (r *reconciler) credential(ctx context.Context, w *world, judged *cluster.Cluster, want *api.ScyllaDBStatusReport,
	now time.Time) []metav1.Condition {
	stored := &api.ScyllaDBStatusReport{}
	if w.status != nil {
		stored = w.status
	}
	s := &want.Status
	s.RootCredential, s.SelfInitialized = stored.Status.RootCredential.DeepCopy(), stored.Status.SelfInitialized
	var said *api.CredentialReport
	mode, acts := modeOf(judged), ""
	if s.View != nil && s.View.Credential != nil {
		acts = s.View.Credential.Member
		if row := judged.Said(acts); row != nil {
			said = row.Credential
		}
	}
	switch {
	case mode == "":
		s.RootCredential = nil
	case mode == api.CredentialOff, s.RootCredential == nil, said == nil && s.RootCredential.Mode == api.CredentialOff:
		s.RootCredential = &api.RootCredential{Mode: mode}
	}
	if said != nil && mode != "" && mode != api.CredentialOff {
		*s.RootCredential = credential.Worst(*said.Credential.DeepCopy())
		s.RootCredential.Member = acts
		s.SelfInitialized = s.SelfInitialized || said.Credential.Code == credential.ByConfiguration
	}
	s.InitialSettings = settings(w, stored.Status.InitialSettings, s.HealthPolicy, said, now)
	key := &api.ScyllaDBStatusReport{ObjectMeta: stored.ObjectMeta, Status: *s}
	key.Namespace, key.Name, key.OwnerReferences = w.Namespace, w.Cluster.Name, owners(w.sets, "")
	status, text, ok := finding.Of(key)
	r.o.Metrics.SetCredential(key.Namespace, key.Name, code(s.RootCredential), pending(s.InitialSettings))
	if w.status != nil {
		r.announceSettings(ctx, stored, key)
	}
	if !ok {
		return nil
	}
	c := metav1.Condition{Type: api.ConditionRootCredential, Status: status, Reason: code(s.RootCredential),
		Message: words.Text(text)}
	if status == metav1.ConditionUnknown && s.RootCredential.Reason != "" {
		c.Reason = string(s.RootCredential.Reason)
	}
	was := meta.FindStatusCondition(stored.Status.Conditions, c.Type)
	if changed := was == nil || was.Status != c.Status || was.Reason != c.Reason; changed && w.status != nil {
		switch c.Status {
		case metav1.ConditionTrue:
			r.o.Notice.Emit(ctx, stored, corev1.EventTypeNormal, credentialVerified, "VerifyCredential", c.Message)
		case metav1.ConditionFalse:
			r.o.Notice.Emit(ctx, stored, corev1.EventTypeWarning, credentialFailed, "VerifyCredential", c.Message)
		}
	}
	return []metav1.Condition{c}
}

func code(c *api.RootCredential) string {
	if c == nil {
		return ""
	}
	return string(c.Code)
}

// modeOf returns the mode of the first member that has the container, else the value of a
// StatefulSet's annotation; empty without both.
func modeOf(c *cluster.Cluster) credential.Mode {
	for _, m := range c.Members() {
		if is := m.RootCredential(); is != api.CredentialOff {
			return is
		}
	}
	for i := range c.StatefulSets {
		switch mode := credential.Mode(c.StatefulSets[i].Annotations[api.AnnotationRootCredential]); mode {
		case credential.Off, credential.Verify, credential.Managed:
			return mode
		}
	}
	return ""
}

// settings returns the first settings: the health policy, which is written before every permit, and
// the keyspaces in the report of the acting member. A repair that a person has recorded is no
// longer due.
func settings(w *world, stored *api.InitialSettings, policy *api.StatusReportHealthPolicy, said *api.CredentialReport,
	now time.Time) *api.InitialSettings {
	if policy == nil {
		return stored.DeepCopy()
	}
	out := &api.InitialSettings{}
	if stored != nil {
		out = stored.DeepCopy()
		out.Items = slices.DeleteFunc(out.Items,
			func(i api.InitialSetting) bool { return i.Name == api.SettingHealthPolicy })
	}
	if said != nil && said.Settings != nil { // what an earlier member has set is not another user's
		is := credential.Merge(*said.Settings.DeepCopy(), out)
		out = &is
	}
	if len(out.Items) == 0 {
		b, err := json.Marshal(policy)
		if err != nil {
			return stored.DeepCopy() // which no policy causes
		}
		if hash := api.ReportDigest(string(b)); out.Hash != hash {
			at := metav1.NewTime(now.UTC().Truncate(time.Second))
			out.Hash, out.AppliedAt = hash, &at
		}
	}
	repaired := slices.ContainsFunc(w.sets, func(s appsv1.StatefulSet) bool {
		return out.Hash != "" && s.Annotations[api.AnnotationRepaired] == out.Hash
	})
	for i := range out.Items {
		out.Items[i].RepairDue = out.Items[i].RepairDue && !repaired
	}
	out.Items = append([]api.InitialSetting{{Name: api.SettingHealthPolicy, State: credential.Applied}}, out.Items...)
	return out
}

// pending returns the number of settings that are not applied.
func pending(s *api.InitialSettings) (n int) {
	if s != nil {
		for _, i := range s.Items {
			if i.State != credential.Applied {
				n++
			}
		}
	}
	return n
}

// announceSettings writes an Event when the settings of the keyspaces change; none while they are
// only due.
func (r *reconciler) announceSettings(ctx context.Context, was, is *api.ScyllaDBStatusReport) {
	if is.Status.InitialSettings == nil || len(is.Status.InitialSettings.Items) < 2 ||
		was.Status.InitialSettings != nil && was.Status.InitialSettings.Hash == is.Status.InitialSettings.Hash {
		return
	}
	text := strings.Join(words.Texts(finding.Settings(is)), "; ")
	if pending(is.Status.InitialSettings) == 0 {
		if text == "" {
			text = words.Text(words.New(words.SettingsAreApplied))
		}
		r.o.Notice.Emit(ctx, was, corev1.EventTypeNormal, settingsApplied, "ApplySettings", text)
		return
	}
	if text != "" {
		r.o.Notice.Emit(ctx, was, corev1.EventTypeNormal, settingsPending, "ApplySettings", text)
	}
}
