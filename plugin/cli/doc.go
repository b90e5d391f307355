// SPDX-License-Identifier: Apache-2.0

// Package cli owns what all verbs of the plugin share: the dependencies that are handed to them, the flags that mean the same everywhere,
// loading snapshots, printing documents, prompts, progress, waiting and completion.
//
// It has no global state: everything a verb touches comes in through Deps, so that a test can run any verb any number of times. It knows no
// verb and no rule of ScyllaDB.
package cli
