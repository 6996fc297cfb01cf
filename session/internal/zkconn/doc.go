// Package zkconn is the client of one ZooKeeper session. It sends the requests, receives replies
// and events, and reconnects, over the connection that go-zookeeper dials, keeps and pings. When
// the session is over, so is the Conn: it never asks for another session.
//
//	     ┌───────────── Down ◀──────────────┐
//	     ▼                                  │
//	(connecting) ── handshake ── Up ──▶ (connected)      requests are taken only here
//	     │
//	     ├── expired, replaced ── Ended ──▶ (over)
//	     │                                    ▲
//	     ├── refused ── Ended ──┐             │
//	     └── Close ─────────────┴─────────────┘   on a connection, or at once
//
// # Guarantees
//
//   - Events come in wire order, to one sink, and none is lost. No event of a connection follows its
//     Down, and none follows Ended. A request that was sent and not answered returns after the Down
//     of its connection.
//   - What is asked is carried out at most once, and in this session or not at all. [ErrNotSent] and
//     [ErrEnded] mean that it was not sent. [ErrNoReply] means that it was, and that its outcome is
//     unknown. It is not carried out after a [Conn.Prove] that a later connection has answered.
//     Every other error is definite.
//   - Up means connected, authenticated, and all watches armed again. The events of what changed
//     meanwhile follow right after it.
//   - Every step of connecting is bounded: dialling by a sixth of the session's timeout at first, the
//     connect reply by the timeout, each later step by a third of it. Slow servers are given more
//     time, in the later steps at most the timeout. A connection that received nothing for two thirds
//     of the timeout is given up.
//   - Close and Abandon return in time, whatever the network does, and leave no goroutine. Open,
//     Close and the requests work inside testing/synctest.
//
// # How
//
// The library dials with a function of ours and gets a net.Conn of ours, the face of a socket. The
// library's loop reconnects, and pings; it is never handed a request. The socket numbers and writes
// the requests, and the library's receiving goroutine runs its receive loop inside Read.
//
//	connector   tries the servers until one has answered a connect request
//	handshake   goes on from there until Up: the session, credentials, watches
//	socket      the connection: requests on it, their order, stalls, its loss and the blame for it
//	link        the network connection: frames in and out
//	face        what the library has for a connection
//
// Dialling returns when the handshake is done. The library then writes a connect request of its
// own, which is dropped, and reads a made-up reply. From then on its writes are pings, and its read
// does not return until the connection is lost.
//
// What the library would do, and what happens instead:
//
//   - It drops session events when nobody reads them. Here the socket reads the reply to the connect
//     request: the session has expired, is another one than asked for (the library would carry on
//     with it), or has a certain timeout.
//   - It keeps requests while it is disconnected and sends them later, perhaps in another session.
//     Here they are refused while there is no connection.
//   - It presents credentials and arms watches after it has connected, logs failures, and
//     reconnects for ever if they are refused. Here both are part of the handshake.
//   - It cannot remove a watch, and has no create2, whose reply has the new znode's Czxid and owner.
//   - It allows a handshake 6.7 times the timeout, waits a second between rounds of servers, and
//     its Close may block. Here the socket has its own deadlines, the dialer pauses, and closeSession
//     is sent by the socket. At the end the library gets the stub, a connection without a server,
//     which ends its goroutines.
//   - It waits for ever for a reply that is lost. Servers reply in order, so here a connection on
//     which a later reply comes first, or those to two pings, is given up.
//   - It panics at short frames, allocates what a frame claims to hold, and has buffers of three
//     megabytes. Here malformed frames lose the connection, and its buffers are small.
//
// This relies on how one version of the library behaves. Open logs a warning, once, if the program
// was built with another version than the one that is tested.
package zkconn
