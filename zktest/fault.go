package zktest

import (
	"context"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Expire ends a session now, as if its timeout had passed in silence: its ephemeral znodes are
// deleted, its connection is closed, and when the client reconnects it is told that the session has
// expired. It does nothing if the session has ended. For an id that the server has never given,
// such as that of a client that is not connected, the test fails, as with all faults of sessions.
func (s *Server) Expire(sessionID int64) { s.inner.Expire(known(s, sessionID)) }

// ExpireSilently ends a session too, but the client is not told when it reconnects: it is given
// another session with a different id, as ClickHouse Keeper does.
func (s *Server) ExpireSilently(sessionID int64) { s.inner.Replace(known(s, sessionID)) }

// Disconnect closes a session's connection. The session stays alive, and the client may reconnect
// at once.
func (s *Server) Disconnect(sessionID int64) { s.inner.Disconnect(known(s, sessionID)) }

// Direction says in which direction a partition drops packets.
type Direction int

// The directions of a partition.
const (
	Both       Direction = iota // neither side hears the other
	ToServer                    // what the client sends vanishes
	FromServer                  // what the server sends vanishes
)

// Partition silently cuts a session's client off from all servers: nothing arrives in either
// direction and no connection is reset. A new connection that asks for this session hangs as well.
// One that asks for a new session is not recognized as the same client's and works (a [Host] is cut
// off as a whole). The server continues: the session expires in time, and other clients see its
// ephemeral znodes deleted.
//
// heal ends it. Packets that were sent meanwhile then arrive, as with TCP's retransmission, on
// connections that both sides still have open.
func (s *Server) Partition(sessionID int64) (heal func()) {
	return s.PartitionOneWay(sessionID, Both)
}

// PartitionOneWay is [Server.Partition] in one direction.
func (s *Server) PartitionOneWay(sessionID int64, d Direction) (heal func()) {
	return s.inner.Partition(known(s, sessionID), zkserver.Direction(d))
}

// Host is a machine on which clients run. A partition of the host affects all their connections,
// including those of new sessions.
type Host struct {
	inner *zkserver.Server
	name  string
}

// Host returns the machine with a name; the same name is the same machine.
func (s *Server) Host(name string) Host { return Host{s.inner, name} }

// Dialer is [Server.Dialer] for clients on this host.
func (h Host) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return h.inner.Dialer(h.name)
}

// DialTimeout is [Server.DialTimeout] for clients on this host.
func (h Host) DialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	return dialTimeout(h.Dialer(), network, addr, timeout)
}

// Partition cuts the host off, silently. Dialing hangs until its context ends.
func (h Host) Partition() (heal func()) { return h.PartitionOneWay(Both) }

// PartitionOneWay is [Host.Partition] in one direction.
func (h Host) PartitionOneWay(d Direction) (heal func()) {
	return h.inner.PartitionHost(h.name, zkserver.Direction(d))
}

// Slow slows a session down, on its current connection and on later ones: what either side sends
// arrives after the latency. The order is kept, and many requests can be in flight at once. Several
// slowdowns add up. heal ends it for what is sent from then on; what is in flight arrives when it
// would have. Only connections in memory are slowed down, those of [Server.Dialer] and
// [Host.Dialer], not those through a socket.
func (s *Server) Slow(sessionID int64, latency time.Duration) (heal func()) {
	return s.inner.Slow(known(s, sessionID), latency)
}

// SlowHandshakes makes each handshake cost its server this much work, 0 for none. Handshakes are
// processed one after the other in the order of arrival, including those of clients that have hung
// up meanwhile. This is a server's load when all its clients reconnect at once.
func (s *Server) SlowHandshakes(cost time.Duration) { s.inner.SlowHandshakes(cost) }

// Slow is [Server.Slow] for all present and future connections of the host, handshakes included.
func (h Host) Slow(latency time.Duration) (heal func()) { return h.inner.SlowHost(h.name, latency) }

// Isolate cuts the server (the first of several) off from its leader, without its clients noticing:
// it goes on answering pings and reads, from its old tree. But syncs and writes get no answer, and
// everything behind them on the same connection waits too; new connections hang; and what the
// server hears of its sessions doesn't reach the leader: they expire there in time, and clients of
// the other servers see their ephemeral znodes deleted. heal lets the server catch up: waiting
// requests are then carried out, and sessions that have expired lose their connections.
//
// A real follower gives up after syncLimit ticks, 10 seconds by default: [Server.IsolateServer] has
// that limit.
func (s *Server) Isolate() (heal func()) { return s.IsolateServer(0, 0) }

// IsolateServer is [Server.Isolate] for the i-th server. If limit isn't 0 the server gives up after
// that time, as a real one does after syncLimit ticks: it drops its clients, and serves no requests
// until healed.
func (s *Server) IsolateServer(i int, limit time.Duration) (heal func()) {
	return front(s, i).Isolate(limit)
}

// HoldUp has the i-th server hold back all requests that need the leader: writes, syncs and new
// sessions, and what a client sends after one of them. Other reads and pings are answered, and show
// what other servers do. An existing session is resumed without waiting, and belongs to this server
// from then on: a real leader also takes that request at once, while others wait for their turn.
//
// A request that waits outlives its connection. heal has all of them carried out, in order. A write
// of a lost connection is refused if its session belongs to another server by then. If the session
// belongs to this one, perhaps again, the write is carried out late: after what the session wrote
// at others meanwhile. When 1,000 requests wait, no more are read. [Server.Kill], and the loss of
// the majority, drop all of them.
func (s *Server) HoldUp(i int) (heal func()) { return front(s, i).HoldUp() }

// Stop halts the i-th server as SIGSTOP halts a process: connections stay open, new ones are
// accepted, nothing is read or answered. Continue ends it.
func (s *Server) Stop(i int) { front(s, i).Stop() }

// Continue ends a [Server.Stop]. Waiting requests are carried out.
func (s *Server) Continue(i int) { front(s, i).Continue() }

// Depose halts the i-th server, as [Server.Stop] does, and lets the others elect another leader;
// until then the server counts as the leader. The others give every session its whole timeout
// again, as after any election, and continue.
//
// The purpose is to test how it wakes. After [Server.Continue] it does not know yet that it was
// deposed. Until its next tick, at a random moment within a tick, it believes that it leads: it
// shows its old tree, answers pings and reads from that, answers syncs (a real leader asks no
// quorum for them), and resumes sessions that the others have ended meanwhile. Only writes and new
// sessions get no answer. Then it drops its clients and follows.
//
// So an answer of a leader proves nothing about the others, unless it is the answer to a write.
func (s *Server) Depose(i int) { front(s, i).Depose() }

// ExpireAlone has the i-th server, while it is deposed and does not know it, tell a client that its
// session has expired, though the others keep the session and its znodes. A real leader that has
// stood still for longer than the session's timeout does so: when it goes on, its own clock says
// that it has heard nothing, and it tells that before it learns that it can't end the session.
func (s *Server) ExpireAlone(i int, sessionID int64) { front(s, i).ExpireAlone(known(s, sessionID)) }

// Kill ends the i-th server: its connections are reset and new ones refused, until
// [Server.Restart]. Its sessions live on if the remaining servers are a majority. If they are not,
// they serve no requests: they drop their clients, accept new connections and close them, and tell
// four-letter words that they are not serving. Session timeouts then stop running, since there is
// no leader to expire sessions. A server that is stopped or isolated counts as lost too, except one
// of two. [WithElection] sets how long it takes until the others serve if it was the leader.
func (s *Server) Kill(i int) { front(s, i).Kill() }

// Restart makes the i-th server listen again, at its old address, killing it first if it runs.
// Sessions and znodes are kept. If there was no majority, every session has its whole timeout from
// the moment there is a leader.
func (s *Server) Restart(i int) error {
	return front(s, i).Restart(context.Background()) // binding to loopback doesn't wait
}

// LoseSessions expires all sessions. Between Kill and Restart it simulates a server that has lost
// its sessions.
func (s *Server) LoseSessions() { s.inner.LoseSessions() }

// Lag keeps the i-th server n transactions behind the others: its clients read old states, and get
// their events late. When a client syncs or writes, the server catches up. 0 ends it.
//
// The server that leads, which is the last one in touch with the others, catches up only when its
// client writes, opens a session, or sends a transaction that only checks. A real leader answers a
// sync of its own clients at once, from its own tree, and that may be milliseconds behind what its
// followers have answered, since it tells them to commit before it does so itself.
func (s *Server) Lag(i, n int) { front(s, i).Lag(n) }

// known fails the test for a session that never was. A client without one has 0, which is no fault.
func known(s *Server, sessionID int64) int64 {
	if sessionID != 0 && !(zkserver.Admin{Server: s.inner}).Knows(sessionID) {
		s.test.Fatalf("zktest: this server has never opened a session 0x%x", uint64(sessionID))
	}
	return sessionID
}

// front finds a server by number. A test that names one that doesn't exist can't sensibly go on.
func front(s *Server, i int) *zkserver.Front {
	f := s.inner.Front(i)
	if f == nil {
		s.test.Fatalf("zktest: there is no server %d among %d", i, s.inner.Fronts())
	}
	return f
}
