// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests docs/monitoring/prometheusrule.yaml: Prometheus' own code evaluates the rules on series of outages. It is a module of its own, so that nothing else
// compiles Prometheus; make proof runs it.
package monitoring
