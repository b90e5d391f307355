// SPDX-License-Identifier: Apache-2.0

// Package cli has the shared parts of all commands of the plugin: their dependencies, common flags,
// loading of clusters, printing of documents, prompts, progress, waiting and completion.
//
// It has no global state: a command gets everything through Deps, so that a test can run any
// command any number of times. It must not depend on a command or contain a rule of ScyllaDB.
package cli
