// Package troupe is the root of a library for coordinating the processes of a service through
// Apache ZooKeeper: leader election, locks, work queues, barriers, two-phase commit. It recovers
// from lost connections and expired sessions on its own, and a running process learns that it has
// lost a lock before any other process can get it.
//
// This package has no code. Import what you need:
//
//   - session: a session that outlives ZooKeeper sessions; operations with contexts, shared
//     watches, possessions
//   - recipes/lock: exclusive locks, shared locks, semaphores, several locks at once
//   - recipes/election: leader election with terms, and observers
//   - recipes/queue: work queues with claims, retries, priorities, dead letters
//   - recipes/barrier: barriers, and double barriers with rounds
//   - recipes/twopc: two-phase commit
//   - recipes/group, recipes/config, recipes/naming: group membership; a typed shared value; a name
//     service
//   - recipes/fence: fencing tokens for resources outside ZooKeeper
//   - recipe: the building blocks of recipes, for your own
//   - fxmodule: everything as an fx module; health: probes for an orchestrator;
//     telemetry: OpenTelemetry
//   - zktest: an in-process ZooKeeper server for tests, with fault injection and virtual time;
//     zktest/ensemble: real servers
//   - actors: the supervised actors underneath
//
// The idea: intent in, facts out. An application states what it wants with a method that returns at
// once, and receives what happened on channels. In between, a supervised actor works towards the
// intent through disconnections, expired sessions and panics. A possession reports its own end,
// with or without a network, before an expired session lets another process have the same thing.
//
// Start with README.md and docs/tutorial.md.
package troupe
