// SPDX-License-Identifier: Apache-2.0

// Package simulation holds the product's decisions against a world in which everything goes wrong. Each seed is one run: a discrete-event simulation in one
// goroutine under a clock of its own, without processes, sleeps or an API server. The same seed is the same run.
//
// Real are the pure packages: cluster.New on Kubernetes' objects in memory, the reports made of them, the gate of barrier and launcher (internal/gate, which reads
// this world by reads.go), bootstrap.Seeds, the launcher's arguments, members.Record, and replace.Next; under policy permits also the controller's tracker of views,
// which makes epoch, seq, states, permits and queue. Modelled is what they decide about:
//
//   - ScyllaDB (scylla.go, gossip.go) by the rules of test/scyllasim/rules, and as the facts say by section: the join rule, cancel-all and ban (4.2, 4.3), detection (4.5), the replaced node that
//     is banned first and COMPLETED that comes late (5.3, 5.4), system.local that is not flushed (3.4), discovery and the second cluster (10), barriers that need
//     every node (11). Not modelled: data, tokens, schema, versions before Raft topology.
//   - Kubernetes (kube.go): StatefulSets, ordered and parallel, rollouts, Pods, kubelets, volumes bound to machines, the node controller.
//   - Our agent (reporter.go, controller.go, barrier.go): loops with their intervals and delays.
//   - Policy permits: the process that leads (leader.go), its polls of heartbeats (reporter.go), and what a watcher from outside makes of its views
//     (permits.go). Every second seed has a second replica of the controller, every fifth lets two join at once.
//   - Clocks (world.go): each machine, controller and person has one of its own, off by up to four minutes, but in every third seed.
//   - Messages (network.go): writes of reporters are lost, arrive late, or twice; polls of heartbeats are lost; a reading may be half a minute old.
//   - The controller's way to the API server (apiserver.go), with the four faults of test/e2e/faultproxy: requests are dropped or held back and arrive later, watches
//     stall, reports are rejected. The Lease is renewed by what was written or found equal; a claim is marked before it is deleted.
//   - People (people_follow.go, people_read.go), who do after a minute the first step that the shipped status prints, then the next. Beside the Scylla Operator they
//     follow its manual (operator.go).
//
// faults.go draws kills, restarts, rollouts, partitions, lost disks and machines, power failures, removed nodes, silent reporters and stopped controllers for
// half an hour, in which the cluster is also scaled up. Then all of it heals, and the run goes on until everything is well. Under policy permits network.go adds
// controllers that are killed, frozen until another one leads and woken up again, or whose loop stalls, a Lease of the election that is made anew, heartbeats that
// are not heard, and reporters that cannot write.
// Reporters relay the controller's view (relays.go); in every eleventh seed they relay forged ones that let every node start, in every
// second of these those of one rack alone. In every sixth seed the cluster report is deleted (network.go) and created anew under another UID, while barriers and reporters hold
// views of the one before; it is deleted with its StatefulSets, too, also where the Lease of the election is created anew.
//
// A Story (story.go) is a world without faults but its own, of the StatefulSets that a test gives it, and all objects at its end: the samples of docs/samples.
//
// ScyllaDB of every third new node fails before it asks to join (early.go), as without fs.aio-max-nr, until a person has fixed that. Its container restarts in its
// Pod: the launcher runs again, init containers do not. In half of these cases another node is DOWN then.
// A tenth of the launchers does not reach the API server for minutes.
//
// A Schedule (boundary.go) is all that goes wrong in a world that is quiet otherwise: events between two readings of a gate, between opening and start, between what a
// controller reads and writes, between a join and its record. Package rapid draws schedules; one that shows a fault becomes a case.
//
// Options.World chooses another world: a year (year.go) of 6, 30 or 300 nodes, in which each fault has the rate that somebody has published, or one
// that is assumed. Quiet time is cut out of it: TestSeeds -world=year-6.
//
// World "wide" (wide.go) adds to the adversarial one what happens around a cluster: one to three datacenters, and in every third seed another one in another Kubernetes cluster
// (far.go), whose nodes join and fail, and of whose controller the report is modelled as this cluster reads it; one-way, lossy and slow links; slow disks, restored and cloned volumes, StatefulSets
// deleted with a claim; tablets that delay joins, decommissions, removals while a join waits, upgrades (operations.go); etcd restored, quota, clocks that jump, a
// controller that is away for minutes or a day, addresses that are used again (kube.go). Result.Kinds counts what happened. A rack of zero-token
// nodes in every fourth seed, and in every eighth a version that lists one host ID for each address: a member whose address another one has while it is DOWN is in no row of a new reporter.
//
// Options.Off has protections that do nothing (off.go): the world answers the gate, the launcher and the controller as if there were nothing to protect from. The
// judge sees what there is.
//
// # Outcomes
//
// Beside the invariants each run has rates (outcomes.go), with their spread over the seeds: what was lost, what it cost to wait, and to work. A loss is judged
// by what was out of reach when the process started: a node that ended after that, nobody could know. Nodes come while another one is DOWN (faults.go), three
// times in a seed: a rule that does not look fails in nearly every seed.
//
// # Invariants
//
//   - Unsafe join: a join or a replacement is lost because of a dead node that had been unreachable for longer than bound when the newcomer's process started. bound is
//     twice the longest detection of a death (two at once), the 30 s for which a stopped controller still counts as alive, and one interval of the reporter. A node that
//     goes down later, or less long before, cancels joins as well: that cannot be known, such joins are counted as lost and no violation. A start that a person forced
//     is not judged.
//   - Wrong start: a gate opens for a new node although what it reads last, or has not read again and could have, forbids that (wrongstart.go).
//   - Wrong permit: a view lets a member start although that view, or the last ones of its controller, forbid it. A barrier may not act by it.
//   - Known start: ScyllaDB of a new node starts while the coordinator's own gossip, which alone decides, has had another node as DOWN for longer than knowable: one
//     poll of a reporter and its slowest write; or while one that it neither replaces nor ignores has been unreachable for longer than bound. Judged whenever its
//     process starts, whatever comes of it.
//   - Second cluster: a process creates a cluster while there has been one. One whose only node was stopped before it had COMPLETED is none (5.4).
//   - Two processes: one starts with the host ID of another one that runs.
//   - Wrong deletion: the claim of a node that has served for longer than bound is deleted.
//   - View that goes backwards: a view that the API server gets, a barrier uses, or an outside reader uses, has a lower epoch and seq than before, or the same ones and
//     other content; views of one report have one order, and none of a report that another one has followed comes again.
//   - Start without a permit, and two at once: under policy permits a barrier opens without a permit in a view that the API server could still answer with, or while
//     another newcomer is joining though one may be. Nor does it open when a reporter that does not lie has sent it a newer view that has no permit for it. A node that
//     was let in by the members' rows alone needed no permit, and does not count. The same holds when its launcher starts ScyllaDB, by the view that was written last.
//   - Endless wait: three simulated hours after everything has healed a Pod that should run does not serve, or a replacement is not over. Where a person has done
//     printed steps in vain it is Unhealed instead, of which at most 5 % may be.
package simulation
