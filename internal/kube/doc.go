// SPDX-License-Identifier: Apache-2.0

// Package kube is the way to a Kubernetes API server: it finds clusters, loads everything that is known of one into a Snapshot
// (or reads the same from saved objects), turns a Snapshot into rows, a matrix and the input of the bootstrap decision, asks
// ScyllaDB itself through a port-forward, watches for changes, patches metadata and emits events.
//
// Its one client type is controller-runtime's client.Client. A right that is missing, a kind that is not installed or a node
// that does not answer costs its own part and is named in Snapshot.Problems; an API server that cannot be reached is one error.
//
// It must not judge: who sees whom belongs to package matrix, whether a newcomer may start to package bootstrap. It must not
// print, and must not reach text/template, cli-runtime or k8s.io/kubectl, as it is linked into the agent.
package kube
