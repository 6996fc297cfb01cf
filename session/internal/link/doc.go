// Package link is one ZooKeeper session over one zk.Conn of the go-zookeeper library, with
// everything that is hazardous about the library kept away from the rest of the house. When the
// session is over, so is the Conn: it never asks for another one.
//
//	     ┌───────────── Down ◀──────────────┐
//	     ▼                                  │
//	(connecting) ── handshake ── Up ──▶ (connected)      requests are taken here alone
//	     │
//	     ├── expired, replaced ── Ended ──▶ (over)
//	     │                                    ▲
//	     ├── refused ── Ended ──┐             │
//	     └── Close ─────────────┴─────────────┘   the same way once more, to close; or straight, when Close's context ends. Abandon: straight
//
// # What it promises
//
//   - Events come in one order, that of the wire, to one sink, none lost. After Down nothing of the
//     lost connection is told, and after Ended nothing at all. Requests that were sent and not
//     answered return after the Down of their connection.
//   - A request is sent at most once, and in this session or not at all. [ErrNotSent] and
//     [ErrEnded] mean that it was not; [ErrNoReply] that it was and nobody knows; every other error
//     is definite.
//   - Up means connected, authenticated, and with all watches armed again. What changed meanwhile
//     is told by Fired right after it.
//   - Every step of connecting is bounded: a sixth of the session's timeout for dialling and the
//     connect reply, a third for each thing after that. A connection from which nothing was heard
//     for two thirds of it is given up.
//   - Close and Abandon return in time, whatever the network does, and leave no goroutine. Open,
//     Close and the requests work inside testing/synctest.
//
// # How
//
// The library gets a net.Conn of ours, the line, and talks ZooKeeper's protocol through it. The
// line knows each frame. On the way out it notes which xid belongs to which request (one at a time
// is handed to the library, and its frame is the next) and when it was sent. On the way in it takes
// the events out, and looks at each answer before the library does. The library is left with what
// it is good at: encoding, pairing answers with requests, pings, and the loop that reconnects.
//
// A contender's requests (to enter a line, to list it, to read a znode of it, to leave) go past the
// library, over the same line and by the same rules: see converse. A lock costs four of them, and
// what each costs in goroutines that hand over to one another is felt.
//
// What the library would do, and what happens instead:
//
//   - It drops session events when nobody listens, and learns of an expiry by its callback only.
//     Here the line reads the answer to the request for the session itself: expired, another
//     session than asked for (which the library would carry on with), the negotiated timeout.
//   - It keeps requests while it is down and runs them later, perhaps in another session. Here they
//     are refused while there is none. The one that may be inside the library at that moment goes
//     out first of all on the next connection of the same session, or is refused at the end.
//   - It re-arms watches beside everything else and writes failures to its log. Here it doesn't
//     know that there are any: the line sets the watch flag in the frame, keeps the table, and
//     re-arms in the handshake. So it doesn't keep a channel for each watch either, which it has no
//     way to drop.
//   - It replays credentials beside everything else, and reconnects for ever if they are refused.
//     Here they are part of the handshake.
//   - It allows a handshake 6.7 times the timeout, waits a second between rounds of servers, and
//     its Close takes as long as it likes when it can't reach a server. Here the line has deadlines
//     of its own, the dialer makes the pauses, and closing is ours: closeSession is written by the
//     line. At the end the library is handed a connection to nowhere, the terminus, which answers
//     its farewell; then all of its goroutines end.
//   - It waits for ever for an answer that was lost while the connection goes on. Servers answer in
//     the order of asking; here an answer that is overtaken, by another one or by those to two
//     pings, takes the connection with it.
//   - It panics at short frames, and allocates what a frame claims to hold. Here such frames drop
//     the connection.
//   - It allocates three megabytes of buffers. Here they begin small and grow with the packets,
//     each changed by the one goroutine that owns it.
//   - It names a part of the error codes only. Here the rest is told apart too.
//   - It has no way to take a watch back. Here removeWatches goes past it, and what is removed is
//     not armed again on the next connection, whatever became of the answer.
//   - It has no create2, whose answer tells the new znode's Czxid and owner, and no way to send two
//     requests in a known order. Here both go past it.
package link
