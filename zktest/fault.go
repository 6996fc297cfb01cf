package zktest

import (
	"context"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Expire ends a session now, as if its timeout had passed without a word from the client: its
// ephemerals are deleted, its connection is closed, and when the client reconnects it is told that
// the session is expired. Nothing happens if there is no such session.
func (s *Server) Expire(sessionID int64) { s.inner.Expire(sessionID) }

// ExpireSilently ends a session too, but when the client reconnects it is not told: it is given
// another session under a different id, as ClickHouse Keeper does.
func (s *Server) ExpireSilently(sessionID int64) { s.inner.Replace(sessionID) }

// Disconnect closes a session's connection. The session lives on, and the client may come back at
// once.
func (s *Server) Disconnect(sessionID int64) { s.inner.Disconnect(sessionID) }

// Direction says which way packets vanish in a partition.
type Direction = zkserver.Direction

// The directions of a partition.
const (
	Both       = zkserver.Both       // neither side hears the other
	ToServer   = zkserver.ToServer   // what the client sends vanishes
	FromServer = zkserver.FromServer // what the server sends vanishes
)

// Partition cuts a session's client off from all servers, silently: nothing arrives either way and
// nothing is reset. A new connection that asks for this session hangs as well; one that asks for a
// new session is not recognised as the same client's and works (a [Host] is cut off as a whole).
// The server goes on: the session expires when its time has come, and others see its ephemerals go.
//
// heal ends it. What was sent meanwhile arrives then, late, as TCP's retransmission brings it, on
// connections that both sides still have open.
func (s *Server) Partition(sessionID int64) (heal func()) {
	return s.inner.Partition(sessionID, Both)
}

// PartitionOneWay is [Server.Partition] in one direction.
func (s *Server) PartitionOneWay(sessionID int64, d Direction) (heal func()) {
	return s.inner.Partition(sessionID, d)
}

// Host is a machine on which clients run: whatever they dial, a partition of the host concerns them
// all, new sessions too.
type Host struct {
	inner *zkserver.Server
	name  string
}

// Host names a machine; the same name is the same machine.
func (s *Server) Host(name string) Host { return Host{s.inner, name} }

// Dialer is [Server.Dialer] for clients on this host.
func (h Host) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return h.inner.DialFrom(ctx, h.name, addr)
	}
}

// DialTimeout is [Server.DialTimeout] for clients on this host.
func (h Host) DialTimeout(network, addr string, timeout time.Duration) (net.Conn, error) {
	return dialTimeout(h.Dialer(), network, addr, timeout)
}

// Partition cuts the host off, silently. Dialing hangs until its context ends.
func (h Host) Partition() (heal func()) { return h.inner.PartitionHost(h.name, Both) }

// PartitionOneWay is [Host.Partition] in one direction.
func (h Host) PartitionOneWay(d Direction) (heal func()) { return h.inner.PartitionHost(h.name, d) }

// Speed says what a slow way costs, each way: Latency, a time.Duration, from one end to the other,
// and BytesPerSecond, an int, 0 for no limit.
type Speed = zkserver.Speed

// Slow slows a session down, on its connection and those over which it comes back: what either side
// sends arrives after the latency, and no faster than the bandwidth allows. Order is kept, and many
// requests can be under way at once. Several slowdowns add up. heal ends it for what is sent from
// then on; what is under way arrives when it would have.
func (s *Server) Slow(sessionID int64, speed Speed) (heal func()) {
	return s.inner.Slow(sessionID, speed)
}

// SlowServer is [Server.Slow] for all who are connected to the i-th server, or will be, handshakes
// included.
func (s *Server) SlowServer(i int, speed Speed) (heal func()) { return s.front(i).Slow(speed) }

// SlowHandshakes lets each handshake cost its server this much work, 0 for none, one after the
// other in the order in which they come, and also for clients that have hung up meanwhile: what a
// server has to do when all its clients come back at once.
func (s *Server) SlowHandshakes(cost time.Duration) { s.inner.SlowHandshakes(cost) }

// Slow is [Server.Slow] for all connections of the host, also those that it will make, handshakes
// included.
func (h Host) Slow(speed Speed) (heal func()) { return h.inner.SlowHost(h.name, speed) }

// Isolate cuts the server (the first of several) off from its leader, and its clients don't notice:
// it goes on answering pings and reads, from the tree as it was. But syncs and writes get no
// answer, and everything behind them on the same connection waits too; new connections hang; and
// what the server hears of its sessions doesn't reach the leader: they expire there when their time
// has come, and clients of the other servers see their ephemerals go. heal has the server catch up:
// what waited is carried out then, and sessions that expired lose their connections.
//
// A real follower gives up after syncLimit ticks, 10 seconds by default: [Server.IsolateServer] has
// that limit.
func (s *Server) Isolate() (heal func()) { return s.IsolateServer(0, 0) }

// IsolateServer is [Server.Isolate] for the i-th server. If limit isn't 0 the server gives up after
// that time, as a real one does after syncLimit ticks: it drops its clients, and serves nobody
// until healed.
func (s *Server) IsolateServer(i int, limit time.Duration) (heal func()) {
	return s.front(i).Isolate(limit)
}

// Stop halts the i-th server as SIGSTOP halts a process: connections stand, new ones are accepted,
// nothing is read or answered. Continue ends it.
func (s *Server) Stop(i int) { s.front(i).Stop() }

// Continue ends what [Server.Stop] began. What waited is carried out.
func (s *Server) Continue(i int) { s.front(i).Continue() }

// Depose halts the i-th server, as [Server.Stop] does, and has the others elect another leader: the
// server counts as the leader until then. The others give every session its whole timeout anew, as
// after any election, and go on.
//
// What is of interest is how it wakes. After [Server.Continue] it does not know yet that it was
// deposed. Until its next tick, at a random moment within a tick, it takes itself for the leader:
// it shows the tree as it was, answers pings and reads from that, answers syncs (a real leader asks
// no quorum for them), and resumes sessions that the others have ended meanwhile. Only writes and
// new sessions get no answer. Then it drops its clients and follows.
//
// So what a leader says proves nothing of the others, unless it is the answer to a write.
func (s *Server) Depose(i int) { s.front(i).Depose() }

// Kill ends the i-th server: its connections are reset and new ones refused, until
// [Server.Restart]. Its sessions live on if the servers that are left are a majority. If they are
// not they serve nobody: they drop their clients, accept new connections and close them, and tell
// four-letter words that they are not serving. Time stands still for all sessions then, as nobody
// is there to expire them. A server that is stopped or isolated counts as lost too, but for one of
// two. [WithElection] says how long it takes until the others serve if it was the leader.
func (s *Server) Kill(i int) { s.front(i).Kill() }

// Restart has the i-th server listen again, at its old address, killing it first if it runs.
// Sessions and znodes are kept. If there was no majority, every session has its whole timeout from
// when there is a leader.
func (s *Server) Restart(i int) error {
	return s.front(i).Restart(context.Background()) // binding to loopback doesn't wait
}

// LoseSessions expires all sessions. Between Kill and Restart it makes a server that has lost what
// it knew of its clients.
func (s *Server) LoseSessions() { s.inner.LoseSessions() }

// Lag keeps the i-th server n transactions behind the others: its clients read what was, and get
// their events late. A client that syncs or writes has the server catch up. 0 ends it.
func (s *Server) Lag(i, n int) { s.front(i).Lag(n) }

// front finds a server by number. A test that names one that doesn't exist can't sensibly go on.
func (s *Server) front(i int) *zkserver.Front {
	f := s.inner.Front(i)
	if f == nil {
		s.fatal("zktest: there is no server %d among %d", i, s.inner.Fronts())
	}
	return f
}
