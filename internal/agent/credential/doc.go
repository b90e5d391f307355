// SPDX-License-Identifier: Apache-2.0

// Package credential is `scylla-agent credential`: a loop around package internal/credential in a
// container of its own, the only one that mounts the Secret of the root credential. It follows the
// order that the reporter of its Pod writes to a file, and leaves its result in another. It must
// not import a Kubernetes client, and opens no port.
package credential
