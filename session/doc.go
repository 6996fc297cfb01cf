// Package session is the way to ZooKeeper: one [Session] that lives until it is closed, across any
// number of ZooKeeper sessions.
//
//	s, err := session.Open(ctx, []string{"zk1:2181", "zk2:2181"}, session.WithNamespace("/billing"))
//	if err != nil {
//		return err
//	}
//	defer session.CloseWithin(s, 5*time.Second) // ctx may have ended by then
//	data, stat, err := s.Get(ctx, "/rates")
//	states := s.WatchData(ctx, "/rates") // the current state, then each newer one
//
// # Epochs
//
// Each ZooKeeper session inside is an epoch, numbered from 1. It begins when the client is
// connected and authenticated and has synced with the leader. It survives every disconnection that
// is shorter than its timeout. It ends when a server says so, not before, unless the Session is
// closed. Ephemeral znodes and possessions belong to one epoch. The next epoch begins by itself.
//
//	      first need          sync answered              connection lost
//	New ────────────▶ Connecting ──────────▶ Connected ──────────────────▶ Suspended
//	                    ▲                      │  ▲ ▲ ────────────────────── │  │
//	                    │              no word │  │      reconnected          │  │ no word from the leader
//	                    │      from the leader ▼  │ a write is answered       │  ▼ for too long
//	                    │                   Untrusted ◀──────────────────────┴──┘
//	                    │ epoch + 1            │
//	                    └──────── Lost ◀───────┘ (also from Connected and Suspended) the server says that the session is over
//
//	any ── Close, ErrAuthFailed, given up ──▶ Closed
//
// # Trust
//
// A client learns that its ZooKeeper session has expired only when it is connected again. By then
// another process may hold what this one believes it holds. The session therefore keeps an instant
// of its own, trusted until: up to then it may be assumed to be alive. At that instant every [Hold]
// ends, with or without a network.
//
// Answered writes extend trust, since a quorum of the servers has agreed to them, and so do syncs
// that follow on them without a gap. Pings do not, since any server answers them; nor does a sync
// alone, since a leader that was deposed without noticing answers it too. Trust counts from the
// moment when the request was sent, by both clocks of the machine, less a margin. While nothing is
// held and no client stands by for a possession, the session sends no requests for the sake of
// trust, only pings.
//
// # What it guarantees
//
//   - A [Hold] is done before ZooKeeper gives another process the same thing because this session
//     ended. This assumes that the process runs, that clocks run at about the same rate, and that
//     servers report within half a tick which sessions they have heard of. See docs/sessions.md.
//   - A request that is reported as done was confirmed by ZooKeeper. One that was sent and not
//     answered is [ErrUnknownOutcome], and a read then tells. [Protected] creates, and all requests
//     of recipes, are resolved by reading.
//   - A request is sent in one epoch only.
//   - A watch misses nothing: a change that was made while the connection was down is told after
//     the reconnection. A path is watched once for all its subscribers, and no longer than there are
//     any; but servers before 3.5 keep a watch until it fires or the epoch ends.
//   - A closed session answers [ErrClosed] at once. [Session.Close] leaves no goroutine and, if it
//     can reach a server, no ephemeral znode. Its context bounds the wait alone.
//
// # Failure
//
// A lost connection causes an error only for reads whose [RetryPolicy] is exhausted and for writes
// that were under way; other requests wait, bounded by their context. An expiry ends holds and
// begins the next epoch. A refused credential ends the session for good, and its ZooKeeper session
// with it.
//
// A panic in the session's own actor, in one of its goroutines or timers, or in a function that was
// passed to it, ends its holds at once with [ErrRestarted], and closes its ZooKeeper session. When
// that is confirmed, which takes a connection, a new epoch begins. Too many panics end the session,
// with the cause in [Session.Err]. A panic in the dialer or in its connections costs a connection;
// one in the application's log handler costs what was to be logged. A panic in the actor of a
// shared watch makes it read again; too many close the channels of its readers, and so does one in
// the goroutine of a tree.
//
// # What happens, and what is
//
// [WithEvents] tells a function of every change of the session and of the recipes on it;
// [Session.Snapshot] shows what is held, and what waits, at this moment.
//
// # Which file for which task
//
//	session, option, errors         a Session and its states, what it can be told, what can go wrong
//	data, create, transaction       requests of applications: reads and writes, Create, Multi and Commit
//	subscription                    WatchData and WatchChildren, one shared watch a path
//	tree, treefollow                WatchTree: trees and their readers; watches, reads, connections
//	hold                            a possession, and several of them as one
//	request, namespace              how a request is sent and repeated; paths, ACLs, parents, servers
//	actor, epoch, close             the beginning and the end of epochs, and the end of the session
//	guarded, keeper, story          what the mutex guards; trust and its timers; the log of losses
//	client, read, epochwatches      what recipes have: events, reads, watches, followers
//	record, join, doubt, remove     znodes of clients: which may exist, how they come, are found, and go
//	file, file_unix, file_other     WithSessionFile
//	event, snapshot                 WithEvents and Snapshot
package session
