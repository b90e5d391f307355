// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real Kubernetes for tests and for the demo: a control plane alone on loopback, for any user
// (StartControlPlane), or with real Kubernetes nodes in namespaces of their own, for root on Linux (StartNodes).
//
// It owns certificates, addresses, start order, lifetime, storage and the faults that tests
// inject from outside. It knows nothing of ScyllaDB, applies none of the product's manifests and must not be imported
// by anything that ships.
package cluster
