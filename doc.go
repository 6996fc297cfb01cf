// Package troupe lets the processes of a Go service agree, through Apache ZooKeeper: who leads, who
// holds a lock, who takes a job, whether everybody has arrived, commit or abort. It goes on by
// itself when connections break and sessions expire, and tells a process that it has lost what it
// held before any other can get it.
//
// This package is the root, and has no code. Import what you need:
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
//   - fxmodule: all of it as an fx module
//   - zktest: an in-process ZooKeeper server for tests, with fault injection and virtual time;
//     zktest/ensemble: real servers
//   - actors: the supervised actors that all of it runs on
//
// The idea: intent in, facts out. An application states what it wants with a method that returns at
// once, and receives what happened on channels. In between, a supervised actor works towards the
// intent through disconnections, expired sessions and panics. A possession reports its own end,
// with or without a network, before an expired session lets another process have the same thing.
//
// Start with README.md and docs/tutorial.md.
package troupe
