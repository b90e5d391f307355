// SPDX-License-Identifier: Apache-2.0

// Package plugintest runs the plugin's verbs in tests: it builds the objects of a cluster as they are on a real API server, runs a command line
// over a fake client with a fixed clock, and compares what a person sees with golden files. Only tests import it.
package plugintest
