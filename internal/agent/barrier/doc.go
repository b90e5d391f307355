// SPDX-License-Identifier: Apache-2.0

// Package barrier owns the init container that holds a new node back until every node sees every other node UP, and reports why it waits.
//
// It collects the input of package bootstrap's decision and acts on the verdict: ends, waits, or refuses. It must not decide by itself, must not open on data that it could not
// read, and writes nothing but Events and one annotation on its own Pod.
//
// # The query
//
// An init container before this one asks whether the data directory belongs to a node that has bootstrapped. It runs ScyllaDB's own image, because only that image has the tool.
// Its command must always succeed, as the barrier judges the answer:
//
//	/bin/sh -c '/usr/bin/scylla sstable query --system-schema --scylla-data-dir=/var/lib/scylla/data --output-format=json
//	  --keyspace=system --table=local --query="SELECT bootstrapped, host_id FROM scylla_sstable.local"
//	  /var/lib/scylla/data/system/local-*/*-Data.db > /mnt/shared/bootstrapped.json; echo $? > /mnt/shared/bootstrapped.json.code'
//
// (one line). /mnt/shared is an emptyDir that both mount. Mounting the data volume here too, read-only at /var/lib/scylla, lets the barrier distinguish an empty volume from the
// volume of a node that was never flushed; without it a member that lost its volume looks like one that restarts.
package barrier
