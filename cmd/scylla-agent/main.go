// SPDX-License-Identifier: Apache-2.0

// Command scylla-agent is the part of kubectl-scylla that runs in Pods: one static binary, one image.
//
//	scylla-agent reporter      native sidecar: keeps what ScyllaDB sees in the own Pod's annotation
//	scylla-agent barrier       init container: ends when a new node may start, says why it waits, refuses when waiting cannot help
//	scylla-agent launch -- CMD in ScyllaDB's container: starts CMD, with the replace option when the member Service says so
//	scylla-agent controller    assembles the reports, keeps member Services, propagates force, replaces nodes
//	scylla-agent copy-to PATH  init container: puts this binary where another container can start it
//	scylla-agent version
//
// # Environment
//
//	POD_NAME, POD_NAMESPACE, POD_UID   by the downward API; flags --pod-name, --namespace, --pod-uid win. POD_UID may be left out.
//	KUBECONFIG                         not read: in a Pod the ServiceAccount is used, elsewhere give --kubeconfig
//
// # Flags of all
//
//	--kubeconfig FILE     a kubeconfig instead of the Pod's ServiceAccount
//	--log-level LEVEL     debug, info (default), warn, error
//
// Flags of reporter
//
//	--status-report-interval 5s         between two polls, at least 1s; with a heartbeat at most 30s
//	--scylla-api http://localhost:10000 ScyllaDB's REST API
//	--scylla-metrics-url URL            its metrics; default http://127.0.0.1:9180/metrics; empty never asks
//	--scylla-supervisor-url URL         supervisord in its container; default http://127.0.0.1:9001/RPC2; empty never queries it
//	--health-probe-bind-address :8081   /healthz, /readyz and /metrics; 0 serves nothing
//	--group0-file FILE                  output of the query for the ID of group 0; default /mnt/shared/group0.json
//	--heartbeat-bind-address :8083      the heartbeat, by TLS, for the controller, and its view for barriers; 0 serves none
//	--lease-namespace NAMESPACE         of the controller's Lease, which says where it serves its views; default kubectl-scylla; empty: none
//
// Flags of barrier
//
//	--service-name NAME                 the member Service; default the Pod's name
//	--selector-label-value VALUE        which reports; default the Service's label scylla/cluster
//	--query-file FILE                   output of the query container, FILE.code its exit code; default /mnt/shared/bootstrapped.json
//	--scylla-data-dir DIR               ScyllaDB's working directory (default /var/lib/scylla) or its data directory, looked at when it is mounted
//	--pvc-name NAME                     for messages; default the claim of the member
//	--scylla-image IMAGE, --scylla-version VERSION   which ScyllaDB the query ran in; the version wins
//	--lease-namespace NAMESPACE         of the controller's Lease; default kubectl-scylla
//	--stabilisation 10s                 how long all must be UP without a break before it opens; 0 opens at once
//	--policy permits|reports            permits: ask the controller for a permit as well, one newcomer at a time; default permits, and
//	                                    reports where the Scylla Operator manages the member
//	--when-controller-silent Wait       with permits, while no controller leads; Peers: go by the members' own fresh rows
//	--single-report-allow-non-reporting-host-ids     as with the Scylla Operator, for clusters with external seeds
//	--feature-gates BootstrapSynchronisation=true|false   off: ends at once
//	--metrics-bind-address :8082        /metrics and /healthz while waiting; 0 serves nothing
//
// The flags of launch and controller are in their --help.
//
// # Exit codes
//
//	0 yes (the barrier: ScyllaDB may start)   1 error   2 wrong usage, or refused   3 condition not met   130 interrupted (SIGTERM, SIGINT)
//
// A reporter or controller that is told to stop ends with 0: that is how it ends. Logs are JSON lines on standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/kubectl-scylla/kubectl-scylla/cmd/internal/lategc" // a fifth of the start-up was one collection
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(os.Stdout, os.Stderr)
	return exit.Code(execute(ctx, root, os.Args[1:]))
}
