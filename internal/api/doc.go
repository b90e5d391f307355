// SPDX-License-Identifier: Apache-2.0

// Package api defines the wire format. It has the types of group scylla.scylladb.com/v1alpha1 that
// this project reads and writes, their scheme, the name of every label and annotation, and the
// codec of the Pod annotation with a node's row.
//
// It must not decide, do I/O, or read a clock: package matrix judges values, package kube fetches
// them. No other package contains a label or annotation key as text.
//
// +kubebuilder:object:generate=true
// +groupName=scylla.scylladb.com
// +versionName=v1alpha1
package api
