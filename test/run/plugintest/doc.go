// SPDX-License-Identifier: Apache-2.0

// Package plugintest runs the plugin's verbs in tests: it takes a cluster of test/simulation/stage, runs a command line
// over a fake client with a fixed clock, and compares what a person sees with golden files. Only tests import it.
package plugintest
