// SPDX-License-Identifier: Apache-2.0

// Package kube reads from and writes to a Kubernetes API server. It finds clusters, loads the
// objects of one cluster (or decodes saved objects), queries ScyllaDB through a port-forward,
// watches for changes, patches metadata and emits Events.
//
// Its only client type is controller-runtime's client.Client. A missing permission, a missing CRD
// or a node that does not respond affects only its own part and becomes a cluster.Problem. An
// unreachable API server is one error.
//
// It must not judge: rows, matrix and health belong to packages cluster and matrix, the start of a
// new node to package bootstrap. It must not print, and must not import text/template, cli-runtime
// or k8s.io/kubectl, because the agent links it.
package kube
