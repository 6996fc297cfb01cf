// Writes that a server keeps while its link to the leader is down, on three real servers.

package lock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// ways are a client's ways to the servers: only the one that is open can be dialed.
type ways struct {
	mu    sync.Mutex
	open  string
	conns []net.Conn
	asked chan struct{} // there is one in it after a write to an open way
}

func (w *ways) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr != w.open {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		w.conns = append(w.conns, conn)
		conn = told{conn, w.asked}
	}
	return conn, err
}

// lead cuts all connections, and opens the way to one server.
func (w *ways) lead(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = addr
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
	select {
	case <-w.asked:
	default:
	}
}

// told tells of what is written.
type told struct {
	net.Conn
	wrote chan<- struct{}
}

func (c told) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		return n, err
	}
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return n, nil
}

// Locks are asked for while the session's server has no link to the leader. The connection is lost;
// the session asks that server again, gives up, and gets the locks through another one. When the
// link heals, the first server passes on all that it was asked.
func TestNoContenderStandsTwiceInALineBehindAStall(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 3, ensemble.WithSyncLimit(300))
	leader := bubble.Leader(t, e)
	f, g := (leader+1)%3, (leader+2)%3
	way := &ways{open: e.Servers()[f], asked: make(chan struct{}, 1)}
	s := bubble.Open(t, []string{e.Servers()[f], e.Servers()[g]}, session.WithTimeout(time.Minute), session.WithDialer(way.dial))
	id := s.Status().SessionID
	var locks []*lock.Lock
	for i := range 40 {
		locks = append(locks, inLine(t, newLock(t, s, fmt.Sprint("/stall/", i)), nil))
	}
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "the first time")
		require.NoError(t, l.Release(bubble.Minute(t)))
	}

	worker, checks := bubble.Open(t, e.Servers()[leader:leader+1]), make([]session.Op, 10_000)
	for i := range checks {
		checks[i] = session.CheckOp("/", -1)
	}

	heal := e.Sever(f, leader)
	defer heal()
	for _, l := range locks {
		l.Acquire()
	}
	waiting := func(i int) func() bool {
		return func() bool {
			stats, err := e.Stats(i)
			return err == nil && stats.Raw["zk_outstanding_requests"] != "0"
		}
	}
	require.Eventually(t, waiting(f), patience, 5*time.Millisecond)
	way.lead(e.Servers()[f])
	bubble.Within(t, patience, way.asked, "F is asked again")
	way.lead(e.Servers()[g])
	for _, l := range locks {
		bubble.Within(t, patience, l.Acquired(), "again")
	}
	// The leader is kept busy: it takes connect requests at once, and other requests in their turn.
	worked := bubble.Begin(func() error {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _, _ = worker.Multi(bubble.Minute(t), checks...) }) // owner: the test, which waits below
		}
		all.Wait()
		return nil
	})
	require.Eventually(t, func() bool { return len(worked) > 0 || waiting(leader)() }, patience, time.Millisecond)
	heal()
	bubble.Within(t, patience, worked)

	require.Equal(t, id, s.Status().SessionID)
	other := bubble.Open(t, e.Servers()[f:f+1]) // its session comes behind all that waited
	for i := range locks {
		names, _, err := other.Children(bubble.Minute(t), fmt.Sprint("/stall/", i))
		require.NoError(t, err)
		var guids []znode.GUID
		for _, name := range names {
			guid, _, ok := znode.Protection(name)
			require.True(t, ok, name)
			require.NotContains(t, guids, guid, "%v", names)
			guids = append(guids, guid)
		}
	}
}
