// Package zkconn is the client of one ZooKeeper session. It sends the requests, receives replies
// and events, pings and reconnects. When the session is over, so is the Conn: it never asks for
// another session.
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
//   - A request is carried out at most once, and in this session or not at all. [ErrNotSent] and
//     [ErrEnded] mean that it was not sent. [ErrNoReply] means that it was sent and that its
//     outcome is unknown; it is not carried out any more after a [Conn.Prove] that a later
//     connection has answered. Every other error is definite.
//   - Up means connected, authenticated, and all watches armed again. The events of the changes
//     that were missed follow right after it.
//   - Every step of connecting is bounded: a lookup, dialling and the connect reply by the
//     session's timeout, each later step by a third of it. Slow servers are given more time; a
//     later step then takes the timeout at most. A connection that received nothing for two thirds
//     of the timeout is given up.
//   - Close and Abandon return in time, whatever the network does, and leave no goroutine. Open,
//     Close and the requests work inside testing/synctest.
//
// # How
//
//	keep        has one connection after the other, until the session is over
//	connector   tries the servers until one has answered a connect request
//	handshake   goes on from there until Up: the session, credentials, watches
//	socket      the connection: requests on it, their order, stalls, its loss and the blame for it
//	link        the network connection: frames in and out
//
// A socket is read by the goroutine of keep. Another one pings, each third of the session's
// timeout. A request is written by the goroutine that makes it.
//
// # Which file for which task
//
//	conn.go         open, close, states and events      request.go   one request and its outcome
//	op.go           an operation of ZooKeeper           socket.go    requests on a connection, in order
//	group.go        several creates and deletes in one  receive.go   replies and events
//	pipeline.go     many requests in a row
//	watches.go      watches, armed again                loss.go      stalls, losses, and which request is to blame
//	connector.go    attempts to connect                 scout.go     late writes, a loss of data
//	targets.go      which server next, and when         outage.go    why there is no connection
//	handshake.go    from the connect reply to Up        errors.go    errors and codes
//	link.go         frames on a network connection      config.go    what Open is given
//	tree.go         a watch of all below a path, and reads in order with its events
package zkconn
