// SPDX-License-Identifier: Apache-2.0

package words

// credentialWords are about the root credential and the first settings. The codes belong to
// internal/credential.
var (
	RootVerified = define("RootVerified",
		"{member} verified the root credential: the default superuser does not log in")
	RootByConfig = define("RootByConfig",
		"the superuser of ScyllaDB's configuration exists, and the default superuser does not log in")
	RootNotApplicable = define("RootNotApplicable",
		"ScyllaDB's authenticator does not require passwords, so there is no root credential")
	RootDefaultOpen = define("RootDefaultOpen",
		"the default superuser cassandra logs in with its default password[, and {reason}]: create a superuser of your own, log in as it, then run "+
			"ALTER ROLE cassandra WITH SUPERUSER = false AND LOGIN = false[; or let the cluster do both: {1}]")
	RootMissing = define("RootMissing",
		"there is no usable root credential: {reason}. Restore Secret {secret} from your secret store. A new password does not open an existing role")
	RootWrongPassword = define("RootWrongPassword",
		"ScyllaDB refuses the username and password of Secret {secret}[: {reason}]. Store the role's own password in it, or set the role's password as another superuser")
	RootPending = define("RootPending",
		"the root credential is not complete yet: {reason}[ ({server})]. {member} tries again")
	RootUnknown = define("RootUnknown",
		"the root credential is not verified: {reason}[ ({server})]. {member} tries again")

	RootSecretAbsent  = define("RootSecretAbsent", "Secret {secret} does not exist, or lacks username or password")
	RootSecretInvalid = define("RootSecretInvalid",
		"username or password of Secret {secret} is empty, too long, or has a control character")
	RootSecretIsDefault = define("RootSecretIsDefault",
		"Secret {secret} names the default superuser, which cannot close its own log-in")
	RootRoleNotSuperuser = define("RootRoleNotSuperuser", "the role of Secret {secret} is no superuser")
	RootRoleCannotLogIn  = define("RootRoleCannotLogIn", "the role has LOGIN = false")
	RootRoleNotVisible   = define("RootRoleNotVisible", "the new role is not in effect yet")
	RootRoleAbsent       = define("RootRoleAbsent",
		"auth_superuser_name of scylla.yaml names no superuser that can log in")
	RootNotYetEffective = define("RootNotYetEffective", "the change of it is not in effect yet")
	RootSocketClosed    = define("RootSocketClosed",
		"it needs the maintenance socket: set maintenance_socket: workdir in scylla.yaml")
	RootManagerNotReady   = define("RootManagerNotReady", "the node has not joined")
	RootIncorrect         = define("RootIncorrect", "ScyllaDB refuses the username and password of Secret {secret}")
	RootRefused           = define("RootRefused", "ScyllaDB answered with an error")
	RootUnreachable       = define("RootUnreachable", "CQL is not reachable")
	RootTimedOut          = define("RootTimedOut", "CQL did not answer in time")
	RootTLSFailed         = define("RootTLSFailed", "the TLS handshake failed")
	RootNotLocal          = define("RootNotLocal", "rpc_address of scylla.yaml is not an address of the Pod")
	RootClientCertificate = define("RootClientCertificate",
		"CQL requires a certificate of the client, and the container has none")
	RootAuthenticator    = define("RootAuthenticator", "the authenticator is of an unknown class")
	RootConfigUnreadable = define("RootConfigUnreadable", "ScyllaDB's configuration is not readable")
	RootNotQuiet         = define("RootNotQuiet", "a node is DOWN, joining or leaving")
	RootWouldLower       = define("RootWouldLower", "the racks are fewer than the present replicas")
	RootDatacenterGone   = define("RootDatacenterGone", "it names a datacenter without nodes")

	SettingWaits = define("SettingWaits",
		"the replication of {keyspace} is unchanged[ ({replication})]: {reason}[. If it still has SimpleStrategy, run {statement}]")
	SettingToDo = define("SettingToDo",
		"{keyspace} has {replication}, which ignores the present datacenters and racks. Run {statement}, then nodetool repair {keyspace} on each node")
	SettingForeign = define("SettingForeign",
		"{keyspace} has {replication}, which was set by another user, and stays unchanged")
	SettingsAreApplied = define("SettingsAreApplied", "ScyllaDB's own keyspaces are replicated by datacenter and rack")
	RepairIsDue        = define("RepairIsDue",
		"the replicas of {keyspaces&} moved: run nodetool repair -pr on each node for {keyspaces?it|each of them}, then record it: {1}")
)
