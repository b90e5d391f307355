// SPDX-License-Identifier: Apache-2.0

package real

// Paths are the GET paths that the product reads, and a few that the facts speak of. What follows {
// is filled in from other answers. TestPaths fails if the product reads one that is not here.
var Paths = []string{
	"/system/uptime_ms",
	"/storage_service/hostid/local",
	"/storage_service/host_id",
	"/storage_service/tokens",
	"/storage_service/tokens/{address}",
	"/storage_service/nodes/joining",
	"/storage_service/nodes/leaving",
	"/storage_service/nodes/excluded",
	"/gossiper/endpoint/live",
	"/gossiper/endpoint/down",
	"/failure_detector/endpoints",
	"/raft/leader_host",
	"/storage_service/operation_mode",
	"/storage_service/scylla_release_version",
	"/storage_service/schema_version",
	"/storage_service/generation_number",
	"/storage_service/load",
	"/storage_service/load_map",
	"/storage_service/native_transport",
	"/storage_service/raft_topology/upgrade",
	"/storage_proxy/schema_versions",
	"/storage_service/keyspaces?type=user&replication=vnodes",
	"/storage_service/keyspaces?type=non_local_strategy",
	"/storage_service/keyspaces?replication=tablets",
	"/storage_service/describe_ring/{keyspace}",
	"/column_family/",
	"/task_manager/list_module_tasks/node_ops",
	"/task_manager/task_status/{task}",
	"/v2/config/replace_node_first_boot",
	"/v2/config/enable_repair_based_node_ops",
	"/v2/config/allowed_repair_based_node_ops",
	"/v2/config/maintenance_mode",
	"/v2/config/maintenance_socket",
	"/v2/config/authenticator",
	"/v2/config/auth_superuser_name",
	"/v2/config/rpc_address",
	"/v2/config/native_transport_port",
	"/v2/config/native_transport_port_ssl",
	"/v2/config/client_encryption_options",
	"/v2/config/workdir,W",
	"/v2/config/failure_detector_timeout_in_ms",
}

// restless paths have another body each time; it is kept where the status changes and at the end of a wait.
var restless = []string{
	"/system/uptime_ms", "/failure_detector/endpoints", "/storage_service/load", "/storage_service/load_map", "/storage_service/tokens",
}
