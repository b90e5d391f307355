// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// The alternative protocol, for networks that block the request: the reporter writes counter and
// digest to a Lease of its Pod, named api.LeaseHeartbeatPrefix + Pod name, in annotation
// api.AnnotationHeartbeat. The admission policy lets a member write only its own Lease.

// ErrOtherPod, ErrOtherRow and ErrGarbled are why a Lease confirms nothing.
var ErrOtherPod = errors.New("its Lease belongs to another Pod of that name")

// Now returns the present counter, and the digest of the row; false while there is no row.
func (b *Beat) Now() (number int64, digest string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number, api.ReportDigest(b.row), b.row != ""
}

// Log returns the present state of the log of group 0.
func (b *Beat) Log() raftlog.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log
}

// LeaseName returns the name of a Pod's Lease.
func LeaseName(pod string) string { return api.LeaseHeartbeatPrefix + pod }

// FillLog adds the state of the log of group 0, in a separate annotation, which older controllers
// do not read.
func FillLog(l *coordinationv1.Lease, log raftlog.State) {
	delete(l.Annotations, api.AnnotationRaft)
	if text := log.String(); text != "" {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationRaft, text)
	}
}

// Owner is the Pod that sends a heartbeat, and its cluster.
type Owner struct {
	Pod     types.NamespacedName
	UID     types.UID
	Cluster string
}

// Fill makes l the heartbeat of a Pod; its other fields are unchanged.
func Fill(l *coordinationv1.Lease, of Owner, number int64, digest string, now metav1.MicroTime, seconds int32) {
	pod := of.Pod
	l.Namespace, l.Name = pod.Namespace, LeaseName(pod.Name)
	if l.Labels == nil {
		l.Labels = map[string]string{}
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Labels[api.LabelCluster] = of.Cluster
	l.Annotations[api.AnnotationHeartbeat] = strconv.FormatInt(number, 10) + " " + digest
	l.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod", Name: pod.Name, UID: of.UID}}
	holder := pod.Name
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds, l.Spec.RenewTime = &holder, &seconds, &now
}

// Read returns the answer in a Lease that confirms the row with that digest, of the Pod with that
// UID. Errors: ErrOtherPod, ErrOtherRow, ErrGarbled. Its times are ignored: they are of another
// clock.
func Read(l *coordinationv1.Lease, uid types.UID, digest string) (Answer, error) {
	if len(l.OwnerReferences) != 1 || l.OwnerReferences[0].Kind != "Pod" || l.OwnerReferences[0].UID != uid ||
		uid == "" {
		return Answer{}, ErrOtherPod
	}
	text, of, _ := strings.Cut(l.Annotations[api.AnnotationHeartbeat], " ")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != text {
		return Answer{}, fmt.Errorf("%w: the counter of Lease %s/%s is %.40q", ErrGarbled, l.Namespace, l.Name, text)
	}
	if of != digest || digest == "" {
		return Answer{}, ErrOtherRow
	}
	log, _ := raftlog.Parse(l.Annotations[api.AnnotationRaft])
	return Answer{Number: number, Log: log}, nil
}
