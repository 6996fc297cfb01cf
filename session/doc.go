// Package session is the way to ZooKeeper: one [Session] that lives until it is closed, across any
// number of ZooKeeper sessions.
//
//	s, err := session.Open(ctx, []string{"zk1:2181", "zk2:2181"}, session.WithNamespace("/billing"))
//	if err != nil {
//		return err
//	}
//	defer closeWithin(s, 5*time.Second) // s.Close with a context of its own: ctx may have ended by then
//	data, stat, err := s.Get(ctx, "/rates")
//	for state := range s.WatchData(ctx, "/rates") { … }
//
// # Epochs
//
// Each ZooKeeper session inside is an epoch, numbered from 1. It begins when the client is
// connected and authenticated and has synced with the leader; it survives every disconnection
// shorter than its timeout; and it ends with the server's word, and no sooner, unless the Session
// is closed. Ephemeral znodes and possessions belong to one epoch. The next one begins by itself.
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
// A client learns that its session has expired only when it is connected again, so waiting for that
// word means holding on to what others have been given. The session therefore keeps an instant of
// its own, trusted until: up to then it may be assumed alive. Answered writes move it, to which a
// quorum of the servers has agreed, and syncs that follow on them without a gap; not pings, which
// any server answers, nor a sync alone, which a leader answers that was deposed. It counts from
// when the request was sent, by both clocks of the machine, less a margin. At that instant every
// [Hold] ends, network or no network. While nothing is held and nobody is next in line, nothing is
// asked, and the session costs ZooKeeper its pings alone.
//
// # What it guarantees
//
//   - A [Hold] is done before ZooKeeper lets anybody else have the same thing because this session
//     ended, given a process that runs, clocks of about the same rate, and servers that pass on
//     within half a tick what they accepted. docs/sessions.md says what that rests on.
//   - What is reported as done was confirmed by ZooKeeper. What was sent and not answered is
//     [ErrUnknownOutcome], and a read then tells; or it is resolved by looking ([Protected]
//     creates, and everything that recipes do).
//   - A request is sent in one epoch only, and never waits inside the client library to be sent in
//     another.
//   - A watch misses nothing: what changed while the connection was down comes after it. One path
//     is watched once, however many ask, and not any more when nobody does; but servers before 3.5
//     keep a watch until it fires or the epoch ends.
//   - A closed session answers [ErrClosed] at once. [Session.Close] leaves no goroutine and, if it
//     can reach a server, no ephemeral znode.
//
// # Failure
//
// A lost connection is no error of anything but reads whose [RetryPolicy] is exhausted and writes
// that were under way: what is asked meanwhile waits with its context. An expiry ends holds and
// begins the next epoch. A refused credential ends the session for good, and its ZooKeeper session,
// which is closed. A panic in the session's own actor, in a goroutine or timer of its, or in what
// was passed to it to be called, ends its holds at once, with [ErrRestarted], and closes its
// ZooKeeper session; when that is confirmed, which takes a connection, a new epoch begins. Too many
// end the session, with the cause in [Session.Err]. One in the dialer or its connections costs a
// connection; one in the application's log handler nothing but what was to be logged. A panic in
// the actor of a shared watch lets it look anew; too many close the channels of its readers.
//
// # For those who write recipes
//
// A [Client] is told in order what happens to the session and asks for things in one epoch each,
// with certain outcomes; what it may have standing in ZooKeeper is in the session's record before
// it is asked for, and outlives whoever has the client. [Client.Hold] makes a possession of what it
// has won.
package session
