// SPDX-License-Identifier: Apache-2.0

// Package kube is the way to a Kubernetes API server: it finds clusters, loads the objects of one (or reads the same from saved objects), asks ScyllaDB itself through a
// port-forward, watches for changes, patches metadata and emits events.
//
// Its one client type is controller-runtime's client.Client. A right that is missing, a kind that is not installed or a node that does not answer costs its own part and is
// listed as a cluster.Problem; an API server that cannot be reached is one error.
//
// It must not judge: rows, matrix and health belong to packages cluster and matrix, a newcomer's start to package bootstrap. It must not print, and must not reach
// text/template, cli-runtime or k8s.io/kubectl, as it is linked into the agent.
package kube
