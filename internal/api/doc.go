// SPDX-License-Identifier: Apache-2.0

// Package api is the wire: the kinds of group scylla.scylladb.com/v1alpha1 that this project reads and writes, the scheme
// that knows them, the name of every label and annotation, and the codec of the pod annotation that carries a node's row.
//
// It must not decide anything, talk to anything, or know a clock: package matrix judges values, package kube fetches them. No other package spells a
// label or annotation key.
//
// +kubebuilder:object:generate=true
// +groupName=scylla.scylladb.com
// +versionName=v1alpha1
package api
