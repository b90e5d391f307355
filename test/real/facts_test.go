// SPDX-License-Identifier: Apache-2.0

package real

import "github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"

const (
	completed  = `^0 \[\{"bootstrapped": ?"COMPLETED", ?"host_id": ?"host-`
	natives    = "/storage_service/native_transport"
	liveList   = "/gossiper/endpoint/live"
	joining    = "/storage_service/nodes/joining"
	query      = "volume query"
	files      = "volume files"
	supervisor = "supervisord"
	schemaLog  = `- (schema_commitlog|commitlog/schema)/SchemaLog-`
	unready    = `^500 .*The gossiper is not ready yet`
	status     = `^\d+`
	banned     = "received notification of being banned from the cluster"
)

// rules are the facts, by situation. Derived ones are those that ../shared calls so: nobody has run them.
var rules = []rule{
	{name: "supervisord answers without a credential", source: "dist/docker/etc/supervisord.conf",
		get: last("first start", "a", supervisor, `statename=\w+`), want: is("statename=RUNNING")},
	{name: "a release ends in -0.DATE.HASH", source: "SCYLLA-VERSION-GEN",
		get:  ever("first start", "a", "/storage_service/scylla_release_version", `-0\.\d{8}\.[0-9a-f]{12}"$`),
		want: is(yes)},
	{name: "the host ID can be read before NORMAL", source: "main.cc:1819",
		get: before("first start", "a", local, opMode, "NORMAL"), want: is(yes)},
	{name: "the first node leads group 0", source: "service/raft/discovery.cc:87",
		get: last("first start", "a", "/raft/leader_host", ""), want: is(`200 "host-a"`)},
	{name: "a new cluster's topology is in Raft", source: "service/storage_service.cc",
		get: last("first start", "a", "/storage_service/raft_topology/upgrade", ""), want: is(`200 "done"`)},
	{name: "a node is in its own live list", source: "gms/gossiper.cc",
		get: last("first start", "a", liveList, ""), want: is(`200 ["addr-a"]`)},
	{name: "the maintenance mode can be read", source: "api/config.cc",
		get: last("first start", "a", "/v2/config/maintenance_mode", ""), want: is("200 false")},
	{name: "an option's path includes its short form", source: "api/config.cc:92",
		get: last("first start", "a", "/v2/config/workdir,W", status), want: is("200")},
	{name: "the failure detector's timeout is 20 s", source: "db/config.cc",
		get: last("first start", "a", "/v2/config/failure_detector_timeout_in_ms", ""), want: is("200 20000")},

	{name: "a query without files prints []", source: "tools/scylla-sstable.cc", derived: true,
		get: nth(0, "first start", "a", "volume query without files", ""), want: is("0 []")},
	{name: "a query with an unmatched pattern exits with 1", source: "tools/scylla-sstable.cc",
		get: nth(0, "first start", "a", query, status), want: is("1")},
	{name: "a first start does not flush COMPLETED", source: "db/system_keyspace.cc:2222",
		get: ever("unflushed kill", "a", query, completed), want: is(no)},
	{name: "an unflushed volume has a SchemaLog", source: "db/commitlog/commitlog.cc",
		get: ever("unflushed kill", "a", files, schemaLog), want: is(yes)},
	{name: "the next start flushes COMPLETED", source: "main.cc:1582",
		get: ever("replay", "a", query, completed), want: is(yes)},
	{name: "keyspace_flush answers 200", source: "api/storage_service.cc",
		get: last("flush", "b", "POST /storage_service/keyspace_flush/system?cf=local", ""), want: is("200")},
	{name: "keyspace_flush flushes COMPLETED", source: "db/system_keyspace.cc:2222",
		get: ever("flush", "b", query, completed), want: is(yes)},
	{name: "system.local has these columns", source: "db/system_keyspace.cc", get: columns, want: is("bootstrapped host_id")},
	{name: "system.local has a fixed folder", source: "db/system_keyspace.cc",
		get:  last("flush", "b", files, `data/system/local-[0-9a-f]+`),
		want: is("data/system/local-7ad54392bcdd35a684174e047860b377")},
	{name: "system.scylla_local has group 0", source: "service/raft/raft_group0.cc",
		get: ever("drain", "c2", "volume group 0", `^0 \[\{"value": ?"uuid-`), want: is(yes)},

	{name: "host_id is 500 before gossip", source: "api/token_metadata.cc",
		get: seen("join", "b", hostIDs, unready), want: is(yes)},
	{name: "host_id of a joining node is [] before group 0", source: "service/topology_state_machine.hh", derived: true,
		get: either(seen("join", "b", hostIDs, `^200 \[\]`), seen("join", "c", hostIDs, `^200 \[\]`)), want: is(yes)},
	{name: "a joining node has no native_transport", source: "main.cc:2802",
		get: seen("join", "b", natives, `^404`), want: is(yes)},
	{name: "a joined node has native_transport", source: "main.cc:2802",
		get: last("join", "b", natives, ""), want: is("200 true")},
	{name: "a joining node is in nodes/joining", source: "api/token_metadata.cc",
		get: either(seen("join", "a", joining, `"addr-b"`), seen("join", "a", joining, `"addr-c"`)), want: is(yes)},
	{name: "a joining node is a cluster task", source: "node_ops/task_manager_module.cc",
		get: task("join", `"type": ?"(bootstrap)"`), want: is("bootstrap")},

	{name: "a killed node is DOWN after 22 s to 24 s", source: "gms/gossiper.cc:948",
		get: took("cancelled join", "wait until a and b see c DOWN", 20, 27), want: is("20 s to 27 s")},
	{name: "one DOWN node cancels a join", source: "service/topology_coordinator.cc:2413",
		get: task("cancelled join", `(Canceled\. Dead nodes): \{host-c\}`), want: is("Canceled. Dead nodes")},
	{name: "the canceled node reports why it ends", source: "service/storage_service.cc:1428",
		get: logSays("cancelled join", "d", "request canceled because some required nodes are dead", banned), want: is(yes)},
	{name: "exit code 1 starts ScyllaDB again", source: "dist/docker/etc/supervisord.conf.d", derived: true,
		get: restarted("cancelled join", "d", 1), want: is(yes)},
	{name: "exit code 0 does not start it again", source: "dist/docker/etc/supervisord.conf.d", derived: true,
		get: restarted("replaced node returns", "c", 0), want: is(no)},
	{name: "a canceled node has no COMPLETED", source: "service/storage_service.cc:1732",
		get: ever("cancelled join", "d", query, completed), want: is(no)},
	{name: "a canceled node cannot join again", source: "service/storage_service.cc:7462",
		get: logSays("ban", "d", "The node has already been removed from the cluster", banned), want: is(yes)},
	{name: "a canceled node is not in host_id", source: "service/topology_coordinator.cc",
		get: ever("cancelled join", "a", hostIDs, "host-d"), want: is(no)},

	{name: "an unknown host ID is not replaced", source: "service/storage_service.cc:2428",
		get: logSays("refused replace", "e", "Replaced node with Host ID"), want: is(yes)},
	{name: "an UP node is not replaced", source: "service/storage_service.cc:6559",
		get: logSays("refused replace", "f", "tried to replace alive node"), want: is(yes)},
	{name: "a replacing node streams in BOOTSTRAP", source: "service/storage_service.hh:1124",
		get: seen("replace", "c2", opMode, "BOOTSTRAP"), want: is(yes)},
	{name: "both host IDs have the one address", source: "locator/token_metadata.cc", derived: true,
		get: given(seen("replace", "c2", opMode, "BOOTSTRAP"),
			ever("replace", "a", hostIDs, `"addr-c", ?"value": ?"host-c.*"addr-c", ?"value": ?"host-c`)), want: since(2025, 3, yes, no)},
	{name: "a replacing node is not in nodes/joining", source: "api/token_metadata.cc",
		get: ever("replace", "a", joining, `"addr-c"`), want: is(no)},
	{name: "a replacement is a cluster task", source: "node_ops/task_manager_module.cc",
		get: task("replace", `"type": ?"(replace)"`), want: is("replace")},
	{name: "an open task names the new node", source: "node_ops/task_manager_module.cc",
		get: task("replace", `"type": ?"replace"[^}]*"state": ?"running"[^}]*"entity": ?"([^"]*)"`),
		want: func(v release.Version) string {
			return since(2026, 4, "host-c", since(2026, 1, "host-c2", "")(v))(v)
		}},
	{name: "a replaced node leaves host_id", source: "service/topology_coordinator.cc",
		get: final("replace", "a", hostIDs, `"host-c"`), want: is(no)},
	{name: "a replaced node does not return", source: "service/storage_service.cc:6981",
		get: ever("replaced node returns", "a", hostIDs, `"host-c"`), want: is(no)},
	{name: "a replaced node is told that it is banned", source: "service/storage_service.cc:8203",
		get: logSays("replaced node returns", "c", banned), want: since(2026, 1, yes, no)},

	{name: "nodetool drain exits with 0", source: "tools/scylla-nodetool.cc",
		get: last("drain", "c2", "nodetool drain", status), want: is("0")},
	{name: "a drained node has this mode", source: "service/storage_service.hh:1124",
		get: seen("drain", "c2", opMode, `^200 "DRAINED"`), want: is(yes)},
	{name: "host_id of a drained node is 500", source: "api/token_metadata.cc",
		get: seen("drain", "c2", hostIDs, unready), want: is(yes)},
	{name: "a drained node is DOWN at once", source: "gms/gossiper.cc",
		get: took("drain", "wait until a sees c2 DOWN", 0, 6), want: is("0 s to 6 s")},
	{name: "drain flushes COMPLETED", source: "db/system_keyspace.cc:2222",
		get: ever("drain", "c2", query, completed), want: is(yes)},
	{name: "a clean stop leaves no SchemaLog", source: "not established",
		get: ever("drain", "c2", files, schemaLog), want: is(no)},
	{name: "the container ends with 0 after SIGTERM", source: "dist/docker/docker-entrypoint.py",
		get: exit("drain", "c2"), want: is("0")},

	{name: "operation_mode in maintenance mode", source: "main.cc", unsimulated: true,
		get: last("maintenance mode", "b", opMode, `^404`), want: since(2026, 1, "404", `200 "MAINTENANCE"`)},
	{name: "maintenance mode opens no CQL port", source: "main.cc", unsimulated: true,
		get: last("maintenance mode", "b", "port 9042", ""), want: is("0 closed")},

	{name: "nodetool decommission exits with 0", source: "tools/scylla-nodetool.cc",
		get: last("decommission", "c2", "nodetool decommission", status), want: is("0")},
	{name: "a decommissioned node has this mode", source: "service/storage_service.hh:1124",
		get: seen("decommission", "c2", opMode, `^200 "DECOMMISSIONED"`), want: is(yes)},
	{name: "its volume says DECOMMISSIONED", source: "service/storage_service.cc:1999",
		get: ever("decommission", "c2", query, `"DECOMMISSIONED"`), want: is(yes)},
	{name: "a decommissioned node does not start", source: "service/storage_service.cc:1999",
		get: logSays("decommission", "c2", "This node was decommissioned and will not rejoin the ring"), want: is(yes)},
	{name: "a node killed in its join cannot join", source: "service/storage_service.cc:6546", derived: true,
		get: given(did("killed join", "end h by SIGKILL"), ever("killed join", "h", opMode, "NORMAL")), want: is(no)},
	{name: "nothing stops a second process of one host ID", source: "service/storage_service.cc:1554",
		get: seen("clone", "k", opMode, "NORMAL"), want: is(yes)},

	{name: "the maintenance socket is cql.m", source: "db/config.cc",
		get: ever("first credential", "g", "files", `S[rwx-]+ \S+ - cql\.m`), want: is(yes)},
	{name: "cassandra can log in", source: "auth/common.hh",
		get: last("first credential", "g", "cql login as cassandra", ""), want: since(2026, 2, "256 Incorrect", "0 ok")},
	{name: "the socket creates the first role", source: "auth/maintenance_socket_role_manager.cc",
		get: ever("first credential", "g", "cql socket: create a role", `^0 ok`), want: since(2026, 2, yes, no)},
	{name: "the new role can log in", source: "auth/password_authenticator.cc",
		get: last("first credential", "g", "cql login as the new role", ""), want: is("0 ok")},

	// A recording cannot show these.
	{name: "IPv6 addresses in ScyllaDB's form", source: "api", derived: true, get: never, want: is(yes)},
	{name: "a second victim is DOWN later", source: "gms/gossiper.cc:948", derived: true, get: never, want: is(yes)},
	{name: "a founder keeps its former address", source: "service/raft/raft_group0.cc", derived: true, get: never, want: is(yes)},
}
