package zkserver

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver/memnet"
)

// Direction says which way packets are lost in a partition.
type Direction int

// The directions.
const (
	Both       Direction = iota
	ToServer             // packets of the client vanish
	FromServer           // packets of the server vanish
)

// cut is a partition between a client and all servers. It is silent: packets wait, as TCP
// retransmits them, and arrive when it heals, if the connection is still there on both sides.
type cut struct {
	*gate
	in, out bool
	covers  func(host string, session int64) bool // connections from a host, or of a session
}

// Partition cuts a session off from all servers: nothing sent on its connections arrives, nothing
// is reset, and a new connection that asks for this session hangs too. A connection that asks for a
// new session is taken for another client's and works; PartitionHost cuts off a whole client.
func (s *Server) Partition(id int64, d Direction) (heal func()) {
	return s.partition(d, func(_ string, session int64) bool { return session == id && id != 0 })
}

// PartitionHost cuts off all connections made with [Server.DialFrom] under a host's name, and those
// that it tries to make.
func (s *Server) PartitionHost(name string, d Direction) (heal func()) {
	return s.partition(d, func(host string, _ int64) bool { return host == name })
}

func (s *Server) partition(d Direction, covers func(host string, session int64) bool) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &cut{gate: newGate(), in: d != FromServer, out: d != ToServer, covers: covers}
	s.cuts = append(s.cuts, x)
	for _, f := range s.fronts {
		for c := range f.conns {
			if c.session != nil {
				c.cutOff(c.session.id)
			} else {
				c.cutOff(0)
			}
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cuts = slices.DeleteFunc(s.cuts, func(o *cut) bool { return o == x })
		s.mend(x)
	}
}

// cutOff puts a connection, by its host and its session, into each partition that covers it. It may
// be in several: it is cut off in a direction until the last one that cuts that direction is
// healed.
func (c *conn) cutOff(session int64) {
	for _, x := range c.s.cuts {
		if !x.covers(c.host, session) || slices.Contains(c.cuts, x) {
			continue
		}
		c.cuts = append(c.cuts, x)
		if x.out {
			c.out.hold()
		}
	}
}

// mend heals a partition: the packets that waited arrive, unless another partition holds them up.
func (s *Server) mend(x *cut) {
	select {
	case <-x.opened:
		return
	default:
		close(x.opened)
	}
	for _, f := range s.fronts {
		for c := range f.conns {
			i := slices.Index(c.cuts, x)
			if i < 0 {
				continue
			}
			c.cuts = slices.Delete(c.cuts, i, i+1)
			if x.out {
				c.out.release()
				c.kick()
			}
		}
	}
}

// DialFrom is Dial for a named host, which PartitionHost can cut off. While it is cut off, dialing
// hangs: until that is healed, ctx ends or the server closes.
func (s *Server) DialFrom(ctx context.Context, host, address string) (net.Conn, error) {
	for {
		s.mu.Lock()
		cuts := slices.Clone(s.cuts)
		s.mu.Unlock()
		i := slices.IndexFunc(cuts, func(x *cut) bool { return x.covers(host, 0) })
		if i < 0 {
			return s.dial(ctx, host, address)
		}
		select {
		case <-cuts[i].opened:
		case <-s.closing:
			return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: ErrClosed}
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: context.Cause(ctx)}
		}
	}
}

// Expire ends a session now, as if its timeout had passed: its ephemerals go, its connection is
// closed, and when the client comes back it is told. It is false if there is no such session.
func (s *Server) Expire(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil {
		return false
	}
	s.cfg.Logger.Info("session expired", "session", id)
	s.endSession(ss)
	return true
}

// Disconnect closes the connections of a session. It is false if there are none.
func (s *Server) Disconnect(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for _, f := range s.fronts {
		if c := f.bySession[id]; c != nil {
			c.abort()
			found = true
		}
	}
	return found
}

// Replace ends a session, and when its client reconnects gives it a new one, with another id,
// without saying that the old one is over. ClickHouse Keeper does that.
func (s *Server) Replace(id int64) bool {
	if !s.Expire(id) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaced[id] = true
	return true
}

// SessionInfo describes a session.
type SessionInfo struct {
	ID        int64
	Timeout   time.Duration // as negotiated
	Expires   time.Time     // if it is not heard of before
	Front     int           // where it is connected; -1: nowhere
	Ephemeral []string      // paths
	Watches   int           // set now: data and child watches
}

// Session describes one session; false if there is none.
func (s *Server) Session(id int64) (SessionInfo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil {
		return SessionInfo{}, false
	}
	return s.describe(ss), true
}

func (s *Server) describe(ss *session) SessionInfo {
	info := SessionInfo{ID: ss.id, Timeout: ss.timeout, Expires: s.tickTime(ss.deadline), Front: -1, Ephemeral: s.tree.Ephemerals(ss.id)}
	if f := ss.owner; f != nil && f.bySession[ss.id] != nil {
		c := f.bySession[ss.id]
		info.Timeout, info.Front = c.timeout, f.index
		info.Watches = f.data.Of(c) + f.child.Of(c)
	}
	return info
}
