// Package zkconn is one ZooKeeper session over one zk.Conn of the go-zookeeper library, with
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
// The library dials through us, and gets a net.Conn of ours, the wire. It owns the loop that
// connects again, reads from the wire, and pings; it is never handed a request. Requests are
// encoded, numbered and written by the wire, and their answers decoded, inside the library's
// Read. So the wire knows each frame, and when it was written.
//
// A request for the session, credentials and watches come before the library has the connection:
// its dial returns when all that is done. What it writes then are pings, at the times that it
// chooses; anything else would be a mistake, and costs the connection. What it reads is the answer
// to its own request for the session, made up, and nothing after that.
//
// What the library would do, and what happens instead:
//
//   - It drops session events when nobody listens, and learns of an expiry by its callback only.
//     Here the wire reads the answer to the request for the session itself: expired, another
//     session than asked for (which the library would carry on with), the negotiated timeout.
//   - It keeps requests while it is down and runs them later, perhaps in another session. Here they
//     are refused while there is no connection.
//   - It re-arms watches and replays credentials beside everything else, writes failures to its
//     log, and reconnects for ever if they are refused. Here both are part of the handshake.
//   - It keeps a channel for each watch, has no way to take a watch back, and no create2, whose
//     answer tells the new znode's Czxid and owner.
//   - It allows a handshake 6.7 times the timeout, waits a second between rounds of servers, and
//     its Close takes as long as it likes when it can't reach a server. Here the wire has deadlines
//     of its own, the dialer makes the pauses, and closing is ours: closeSession is written by the
//     wire. At the end the library is handed a connection to nowhere, the stub, which fails its
//     own closeSession; then all of its goroutines end.
//   - It waits for ever for an answer that was lost while the connection goes on. Servers answer in
//     the order of asking; here an answer that is overtaken, by another one or by those to two
//     pings, takes the connection with it.
//   - It panics at short frames, allocates what a frame claims to hold, and three megabytes of
//     buffers. Here broken frames drop the connection, and buffers are small.
//
// All this rests on how one version of the library behaves. Open logs a warning, once, if the
// program was built with another one than the module is tested with.
package zkconn
