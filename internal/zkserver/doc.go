// Package zkserver is a ZooKeeper server in the process: it speaks the client protocol of ZooKeeper
// 3.8, keeps everything in memory, and can be told to fail. It is for tests, demonstrations and
// development: nothing is replicated, and nothing survives [Server.Close] but what [Server.Save]
// has written.
//
// Package zktest is its face for tests, cmd/troupe runs it as a process. It imports nothing of
// testing.
//
// # Layout
//
//	            ┌─ Front 0 ─ conn ─ conn ─ …   one goroutine a connection: it reads requests and serves them
//	Server ─────┼─ Front 1 ─ conn ─ …          (an address, connections, watches, perhaps an own view of the tree)
//	 │ mu       └─ Front 2 …
//	 ├ tree.Tree   as of the last transaction
//	 ├ sessions, expiry clock, journal, interceptors, partitions
//
// One lock, Server.mu, owns all state. A connection's goroutine decodes a request without it, takes
// it, lets dispatch carry the request out and append the answer to the connection's outbox, lets it
// go, and writes. Whoever causes an event appends it to the outboxes of those who watch, under the
// same lock: so every client sees events and answers in the order of the transactions, and an event
// before the answer that shows its cause. Nothing is called back and nothing is waited for while
// the lock is held; where a request has to wait (for the leader, for a partition to heal, for an
// interceptor's delay) its goroutine lets the lock go, and what stands behind it on the connection
// waits too. Only what is held up waits in a queue of its front, since it outlives its connection.
//
// Protocol and semantics are apart: package jute has the wire format, package tree what the
// operations do, package watch who is told, package memnet connections without sockets, and package
// treefile has files of znodes. Here, each family of operations has its file: write.go, read.go,
// watches.go, auth.go, connect.go, session.go, words.go. cut.go,
// outage.go and holdup.go make the faults, intercept.go and journal.go look on.
//
// # Time
//
// Time is that of package time: inside testing/synctest it is virtual. Sessions end at ticks,
// counted from the server's start: one that was heard of last at t ends at the first tick later
// than t plus its timeout. Where several fronts share the tree, each tells the leader twice a tick
// of whom it has heard, as followers do in their answers to the leader's pings; what it didn't tell
// doesn't count. There are no goroutines for the clock, for containers or for TTLs: timers that
// exist only while there is something to wait for.
//
// # What it guarantees
//
//   - The same sequence of requests gives the same answers, events, stats and zxids (times aside);
//     failed writes use up a zxid too.
//   - A frame's memory grows with what has really arrived; a frame over the limit, or one that
//     can't be read, ends its connection. What can be read but makes no sense is answered as the
//     real server does. Nothing panics.
//   - A client that asks and doesn't read is not read from any more, and dropped when what waits
//     for it exceeds a limit.
//   - After Close no goroutine, socket or timer is left.
package zkserver
