// Package zkserver is a ZooKeeper server in the process: it speaks the client protocol as one of
// several versions of ZooKeeper 3.8 and 3.9 does (version.go), keeps everything in memory, and can
// be told to fail. It is for tests, demonstrations and development: nothing is replicated, and
// nothing survives [Server.Close] but what [Server.Save] has written.
//
// Package zktest is its face for tests, cmd/troupe runs it as a process. This package imports
// nothing of testing.
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
// go, and writes. The goroutine that causes an event appends it to the outboxes of the clients that
// watch, under the same lock. So every client sees events and answers in the order of the
// transactions, and an event before the answer that shows its cause. Nothing is called back (but
// Config.Logger and Config.Listen) and nothing is waited for while the lock is held; where a
// request has to wait (for the leader, for a partition to heal, for an interceptor's delay) its
// goroutine lets the lock go, and the requests behind it on the connection wait too. Only requests
// that are held up wait in a queue of their front, since they outlive their connections.
//
// Protocol and semantics are apart: package jute has the wire format, package tree carries out the
// operations, package watch knows which clients are told, package memnet has connections without
// sockets, and package treefile has files of znodes.
//
// # Which file for which task
//
//	server.go, config.go, front.go     the server and its addresses
//	accept.go, conn.go, outbox.go      a connection, its frames (frames.go), its answers
//	connect.go, session.go, expiry.go  sessions: open, resume, end; what a test may know of them
//	handle.go                          the way of a request: what it waits for, which function serves it
//	read.go, write.go, commit.go       operations (watches.go, auth.go: TLS too), transactions
//	cut.go, outage.go, holdup.go       faults: partitions, servers that fail, late writes (slow.go)
//	quorum.go, depose.go               a majority, elections, a leader that was deposed
//	intercept.go                       requests as a test sees them, and the journal
//	admin.go, load.go                  the tree without a client, and waiting for it (dump.go)
//	words.go, version.go               four-letter words (traffic.go counts for them); differences of versions
//
// # Time
//
// Time is that of package time: inside testing/synctest it is virtual. Sessions end at ticks,
// counted from the server's start: a session that was heard of last at t ends at the first tick
// later than t plus its timeout. Where several fronts share the tree, each tells the leader twice a
// tick which sessions it has heard of, as followers do in their answers to the leader's pings; a
// session that it did not name does not count as heard of. There are no goroutines for the clock,
// for containers or for TTLs: timers that exist only while there is something to wait for.
//
// # What it guarantees
//
//   - The same sequence of requests gives the same answers, events, stats and zxids (times aside);
//     failed writes use up a zxid too.
//   - A frame's memory grows with what has really arrived; a frame over the limit, or one that
//     can't be read, ends its connection. A frame that can be read but makes no sense is answered
//     as the real server answers it. Nothing panics.
//   - A client that asks and does not read is not read from any more, and is dropped when the
//     answers that wait for it exceed a limit.
//   - After Close no goroutine and no socket is left. A timer may be, of [Front.Isolate],
//     [Front.Depose] or [Admin.FastForward], or of the deadline of a last answer; it does nothing then.
package zkserver
