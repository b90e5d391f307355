// SPDX-License-Identifier: Apache-2.0

// Command scylla-agent is the part of kubectl-scylla that runs in Pods: one static binary, one
// image.
//
//	scylla-agent reporter      native sidecar: writes ScyllaDB's status report to a Pod annotation
//	scylla-agent barrier       init container: ends when a new node may start, shows what blocks it,
//	                           and refuses if waiting cannot help
//	scylla-agent launch -- CMD in ScyllaDB's container: starts CMD, with the replace option if the
//	                           member Service requests it
//	scylla-agent credential    native sidecar: verifies or creates the root credential; the only
//	                           container that mounts its Secret
//	scylla-agent controller    writes reports and member Services, copies force, replaces nodes
//	scylla-agent copy-to PATH  init container: copies this binary for another container
//	scylla-agent version
//
// # Environment
//
//	POD_NAME, POD_NAMESPACE, POD_UID   from the downward API; the flags --pod-name, --namespace and
//	                                   --pod-uid take precedence. POD_UID is optional.
//	KUBECONFIG                         ignored: a Pod uses its ServiceAccount; else set --kubeconfig
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
//	--scylla-metrics-url URL            its metrics; default http://127.0.0.1:9180/metrics; empty: off
//	--scylla-supervisor-url URL         supervisord in its container; default
//	                                    http://127.0.0.1:9001/RPC2; empty: off
//	--health-probe-bind-address :8081   /healthz, /readyz and /metrics; 0 serves nothing
//	--group0-file FILE                  output of the group 0 query; default /mnt/shared/group0.json
//	--credential-dir DIR                folder shared with the credential container, for its order and
//	                                    its result; default none
//	--heartbeat-bind-address :8083      the heartbeat, over TLS, for the controller, and its
//	                                    controller view for barriers; 0 serves none
//	--lease-namespace NAMESPACE         of the controller's Lease, which has the address of its
//	                                    views; default kubectl-scylla; empty: none
//
// Flags of barrier
//
//	--service-name NAME                 the member Service; default the Pod's name
//	--selector-label-value VALUE        selects reports; default the Service's label scylla/cluster
//	--query-file FILE                   output of the query container, FILE.code its exit code;
//	                                    default /mnt/shared/bootstrapped.json
//	--scylla-data-dir DIR               ScyllaDB's working directory (default /var/lib/scylla) or its
//	                                    data directory, read if it is mounted
//	--pvc-name NAME                     for messages; default the PVC of the member
//	--scylla-image IMAGE, --scylla-version VERSION   of the query; the latter takes precedence
//	--lease-namespace NAMESPACE         of the controller's Lease; default kubectl-scylla
//	--stabilisation 10s                 how long all nodes must be UP continuously before it opens;
//	                                    0 opens at once
//	--policy permits|reports            permits: also require a permit of the controller, one new
//	                                    node at a time; default permits, and reports if the
//	                                    Scylla Operator manages the member
//	--single-report-allow-non-reporting-host-ids     for clusters with external seeds, same as in the
//	                                    Scylla Operator
//	--feature-gates BootstrapSynchronisation=true|false   false: ends at once
//	--metrics-bind-address :8082        /metrics and /healthz while waiting; 0 serves nothing
//
// See --help for the flags of launch, credential and controller.
//
// # Exit codes
//
//	0 yes (the barrier: ScyllaDB may start)   1 error   2 usage error or refused
//	3 condition not met   130 interrupted (SIGTERM, SIGINT)
//
// A reporter or controller that receives SIGTERM ends with 0. Logs are JSON lines on standard
// error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/kubectl-scylla/kubectl-scylla/cmd/internal/lategc" // for start-up time
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
