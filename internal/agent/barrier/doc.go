// SPDX-License-Identifier: Apache-2.0

// Package barrier owns the init container that makes a new node wait until all nodes see each other
// UP, and reports why it waits.
//
// It collects the input of package bootstrap's decision and executes the verdict: end, wait, or
// refuse. It makes no decision itself and never opens because data was unreadable. It writes only
// Events and one annotation on its own Pod.
//
// # The query
//
// An init container before this one checks if the data directory belongs to a bootstrapped node. It
// runs ScyllaDB's own image, because only that image has the tool. Its command must always succeed:
// the barrier interprets the output and the exit code:
//
//	/bin/sh -c '/usr/bin/scylla sstable query --system-schema --scylla-data-dir=/var/lib/scylla/data
//	  --output-format=json --keyspace=system --table=local
//	  --query="SELECT bootstrapped, host_id FROM scylla_sstable.local"
//	  /var/lib/scylla/data/system/local-*/*-Data.db > /mnt/shared/bootstrapped.json;
//	  echo $? > /mnt/shared/bootstrapped.json.code'
//
// (one line). /mnt/shared is an emptyDir that both mount. Mount the data volume here as well,
// read-only at /var/lib/scylla: the barrier then distinguishes an empty volume from one that was
// never flushed. Without it a member that lost its volume looks like one that restarts.
package barrier
