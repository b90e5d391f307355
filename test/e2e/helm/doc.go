// SPDX-License-Identifier: Apache-2.0

// Package helm tests the chart docs/install/chart with Helm's own packages, against a real API server. It is a module of its own, so that nothing else compiles Helm; make proof
// runs it.
package helm
