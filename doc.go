// Package troupe is the root of a coordination framework for Go services on Apache ZooKeeper. It has no code; import what you need:
//
//   - session: a session that lives across any number of ZooKeeper sessions; operations with contexts, shared watches, possessions
//   - recipes/lock: exclusive locks
//   - recipes/election: leaders with terms, and observers of them
//   - recipes/fence: fencing tokens for resources outside ZooKeeper
//   - zktest: a ZooKeeper server inside a test, with faults to command and virtual time; zktest/ensemble: real servers
//   - actors: the supervised actors that all of it runs on
//
// The idea: intent in, facts out. An application says what it wants with a verb that returns at once, and receives what it has on channels.
// Between the two, a supervised actor steers ZooKeeper towards the intent, through disconnections, expired sessions and panics. What it hands
// out says itself when it is over: on time, network or no network, so that two processes never believe that they hold the same thing.
//
// Start with README.md and docs/architecture.md.
package troupe
