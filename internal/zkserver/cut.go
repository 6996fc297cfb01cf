package zkserver

import (
	"context"
	"net"
	"slices"

	"github.com/troupe-go/troupe/internal/seeded"
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

// cut is a partition between a client and all servers. It is silent: packets to the server (in), to
// the client (out) or both wait, as TCP retransmits them, and arrive when it heals and the gate
// opens, if the connection is still there on both sides.
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

// PartitionHost cuts off all connections made with [Server.Dialer] under a host's name, and those
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
	case <-x.opened: // it was healed before
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

// Dialer is Dial, for a named host, which PartitionHost can cut off, or for "". While it is cut
// off, dialing hangs: until that is healed, ctx ends or the server closes.
func (s *Server) Dialer(host string) seeded.Dial {
	return s.cfg.Replay.Dialer(func(ctx context.Context, from *seeded.Source, address string) (net.Conn, error) {
		for {
			s.mu.Lock()
			cuts := slices.Clone(s.cuts)
			s.mu.Unlock()
			i := slices.IndexFunc(cuts, func(x *cut) bool { return x.covers(host, 0) })
			if i < 0 {
				return s.dial(ctx, from, host, address)
			}
			select {
			case <-cuts[i].opened:
			case <-s.closing:
				return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: ErrClosed}
			case <-ctx.Done():
				return nil, &net.OpError{Op: "dial", Net: "mem", Addr: memnet.Addr(address), Err: context.Cause(ctx)}
			}
		}
	})
}
