// Package troupe is the root of a coordination framework for Go services on Apache ZooKeeper. It
// has no code; import what you need:
//
//   - session: a session that lives across any number of ZooKeeper sessions; operations with
//     contexts, shared watches, possessions
//   - recipes/lock: exclusive, shared and counting locks, several at once
//   - recipes/election: leaders with terms, and observers of them
//   - recipes/queue: items with claims, retries, priorities, dead letters
//   - recipes/barrier: barriers, and double barriers with rounds
//   - recipes/twopc: two-phase commit
//   - recipes/group, recipes/config, recipes/naming: who is there; a typed value that all share;
//     names
//   - recipes/fence: fencing tokens for resources outside ZooKeeper
//   - recipe: what recipes are made of, for your own
//   - fxmodule: all of it as an fx module
//   - zktest: a ZooKeeper server inside a test, with faults to command and virtual time;
//     zktest/ensemble: real servers
//   - actors: the supervised actors that all of it runs on
//
// The idea: intent in, facts out. An application says what it wants with a verb that returns at
// once, and receives what it has on channels. Between the two, a supervised actor steers ZooKeeper
// towards the intent, through disconnections, expired sessions and panics. What it hands out says
// itself when it is over: network or no network, before another process can have the same thing
// because a session ended.
//
// Start with README.md and docs/tutorial.md.
package troupe
