// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of the root credential in manifests, `inject`, the agent and the commands.
const (
	// AnnotationRootCredential on a StatefulSet is the mode of the root credential: off, verify or
	// managed. Written by `inject`, or by a person before it; `inject` sets the container's mode by
	// it, and off stops that container at once. Read by `inject` and our controller.
	AnnotationRootCredential = "kubectl-scylla.scylladb.com/root-credential"
	// AnnotationRepaired on a StatefulSet is the hash of the initial settings after whose change a
	// person has repaired the keyspaces. Written by a person, read by our controller, which then no
	// longer reports the repair as due.
	AnnotationRepaired = "kubectl-scylla.scylladb.com/repaired"

	// ContainerCredential is the native sidecar that acts on the root credential. Only this
	// container mounts its Secret.
	ContainerCredential = "scylla-credential"
	// VolumeCredential is the emptyDir between that container and the reporter, mounted at
	// MountCredential.
	VolumeCredential = "scylla-credential"
	MountCredential  = "/mnt/credential"
	// VolumeRootCredential is the mounted Secret.
	VolumeRootCredential = "scylla-root-credential"
	MountRootCredential  = "/mnt/root-credential"
	// CredentialOff is the mode of a member without the container; CredentialMode is the
	// container's flag for the other modes.
	CredentialOff  = "off"
	CredentialMode = "--mode="
)

// RootCredentialSecret returns the name of a cluster's Secret.
func RootCredentialSecret(cluster string) string { return cluster + "-root-credential" }

// Types of the codes about the root credential and the first settings; internal/credential has the
// values.
type (
	RootCredentialMode    string
	RootCredentialCode    string
	RootCredentialReason  string
	RootCredentialDefault string
	InitialSettingState   string
)

// CredentialReport is the result of the container of the credential: codes, numbers and names of
// datacenters. It has no role, no password and no CQL.
// +kubebuilder:object:generate=false
type CredentialReport struct {
	Credential RootCredential   `json:"credential"`
	Settings   *InitialSettings `json:"settings,omitempty"`
}

// RootCredential is the state of the root credential. It has no name of a role and no password.
type RootCredential struct {
	// Mode is off, verify or managed.
	Mode RootCredentialMode `json:"mode"`
	// Code is Verified, ByConfiguration, NotApplicable, DefaultSuperuserOpen, Missing,
	// WrongPassword, Pending or Unknown; empty before the first result.
	// +optional
	Code RootCredentialCode `json:"code,omitempty"`
	// Reason is why the code is not a better one.
	// +optional
	Reason RootCredentialReason `json:"reason,omitempty"`
	// Server is the number of ScyllaDB's error, such as 0x2100.
	// +optional
	Server string `json:"server,omitempty"`
	// Default is whether the default superuser logs in with its default password: open, closed or
	// unknown.
	// +optional
	Default RootCredentialDefault `json:"default,omitempty"`
	// At is the time of the result, Since when Code became the present one, by the clock of the
	// member's Kubernetes node.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Member whose container reported it.
	// +optional
	Member string `json:"member,omitempty"`
}

// InitialSettings are the settings that a cluster has before it grows: the health policy, and the
// replication of ScyllaDB's two keyspaces.
type InitialSettings struct {
	// Hash of the items about keyspaces: it changes with their state and their replication.
	// +optional
	Hash string `json:"hash,omitempty"`
	// AppliedAt is when all keyspaces were last applied after a change.
	// +optional
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Items []InitialSetting `json:"items,omitempty"`
}

// InitialSetting is one setting.
type InitialSetting struct {
	// Name is healthPolicy, or a keyspace.
	Name string `json:"name"`
	// State is Applied, Due, ToDo (a person applies it), Waiting or Foreign (altered by another
	// user, and never changed).
	State InitialSettingState `json:"state"`
	// Reason is why the setting waits.
	// +optional
	Reason RootCredentialReason `json:"reason,omitempty"`
	// Replication is the present one, as "NetworkTopologyStrategy dc1=1".
	// +optional
	Replication string `json:"replication,omitempty"`
	// Wanted are the replication factors by datacenter.
	// +optional
	Wanted map[string]int32 `json:"wanted,omitempty"`
	// Ours are the replications that were set, or about to be set, by a container of the
	// credential.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Ours []string `json:"ours,omitempty"`
	// RepairDue is true if the keyspace needs a repair after a change of its replication.
	// +optional
	RepairDue bool `json:"repairDue,omitempty"`
}

// SettingHealthPolicy is the name of the setting that is no keyspace. SettingDue is the state of a
// setting that waits for the status to have its replication in Ours.
const (
	SettingHealthPolicy                     = "healthPolicy"
	SettingDue          InitialSettingState = "Due"
)

// StatusReportViewCredential names the member that acts on the root credential and the first
// settings.
type StatusReportViewCredential struct {
	// Member whose container acts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// Datacenters that own tokens.
	// +optional
	Datacenters map[string]StatusReportViewDatacenter `json:"datacenters,omitempty"`
	// Quiet is false while a node is DOWN, joining or leaving, and while that is unknown.
	Quiet bool `json:"quiet"`
	// Settings are status.initialSettings.
	// +optional
	Settings *InitialSettings `json:"settings,omitempty"`
}

// StatusReportViewDatacenter counts the nodes of a datacenter that own tokens, and their racks.
type StatusReportViewDatacenter struct {
	Racks int32 `json:"racks"`
	Nodes int32 `json:"nodes"`
}

// ConditionRootCredential is present after the first result: True for Verified, ByConfiguration and
// NotApplicable, False for DefaultSuperuserOpen, Missing and WrongPassword, else Unknown with its
// reason.
const ConditionRootCredential = "RootCredential"

// Bounds of a credential's report.
const (
	maxSettings    = 7 // with the health policy 8
	maxDatacenters = 64
	maxFactor      = 100
)

// usable reports whether a row's report about the credential is valid. An invalid one is dropped:
// no start depends on it, and the API server would refuse a status that contains it.
func (r *CredentialReport) usable() bool {
	c := &r.Credential
	words := []string{string(c.Code), string(c.Mode), string(c.Default), string(c.Reason),
		strings.TrimPrefix(c.Server, "0x")}
	ok := isWord(c.Code) && isWord(c.Mode) && c.Member == "" && writes(c.At) && writes(c.Since)
	if s := r.Settings; s != nil {
		words = append(words, s.Hash)
		ok = ok && writes(s.AppliedAt) && len(s.Items) <= maxSettings
		for i := range s.Items {
			ok = ok && s.Items[i].usable()
		}
	}
	return ok &&
		!slices.ContainsFunc(words,
			func(w string) bool { return len(w) > 32 || strings.Trim(w, letters+"0123456789") != "" })
}

func (i *InitialSetting) usable() bool {
	ok := isWord(strings.ReplaceAll(i.Name, "_", "")) && isWord(i.State) && (i.Reason == "" || isWord(i.Reason)) &&
		len(i.Replication) <= maxRowText
	ok = ok && len(i.Wanted) <= maxDatacenters && len(i.Ours) <= maxSettings+1
	for dc, n := range i.Wanted {
		ok = ok && len(dc) <= maxRowWord && n >= 0 && n <= maxFactor
	}
	return ok && !slices.ContainsFunc(i.Ours, func(o string) bool { return len(o) > maxRowText })
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isWord reports whether text is a code: the reason of a condition must be one.
func isWord[T ~string](text T) bool {
	return text != "" && len(text) <= 32 && strings.Trim(string(text), letters) == ""
}

func writes(t *metav1.Time) bool { return t == nil || writable(t.Time) }
