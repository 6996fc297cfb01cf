package session_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// over is a context that has ended.
func (w *world) over() context.Context {
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	return ctx
}

// slowlyClosed has the server take d to close a ZooKeeper session.
func (w *world) slowlyClosed(d time.Duration) {
	w.cutOnce(zktest.Delay(d), func(r *zktest.Request) bool { return r.Op == zktest.OpCloseSession })
}

// What is given back with a context that is over is given back: nobody waits until it expires.
func TestCloseWithAContextThatIsOver(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		h := w.client(s).hold(w, 1, "/line")
		states := other.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		w.slowlyClosed(time.Second)
		begun := time.Now()
		require.ErrorIs(w, s.Close(w.over()), context.Canceled)
		require.Zero(w, time.Since(begun))
		for _, ended := range []<-chan struct{}{h.Done(), s.Done()} {
			bubble.Closed(w, ended)
		}
		require.ErrorIs(w, s.Err(), session.ErrClosed)
		require.Equal(w, session.Closed, s.Status().State)
		_, _, err := s.Get(w.ctx, "/")
		require.ErrorIs(w, err, session.ErrClosed)
		require.False(w, (<-states).Exists)
		require.Equal(w, time.Second, time.Since(begun))
		synctest.Wait()
		require.NoError(w, s.Close(w.over()), "nothing to report")
	})
}

// A context that ends while Close waits ends the wait. Who comes later waits for the rest, and
// hears what became of it.
func TestACloseThatIsGivenUpGoesOn(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		w.slowlyClosed(time.Second)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second/4)
		defer cancel()
		require.ErrorIs(w, s.Close(ctx), context.DeadlineExceeded)
		require.Equal(w, time.Second/4, time.Since(begun))
		require.ErrorIs(w, s.Close(w.over()), context.Canceled)
		require.Equal(w, time.Second/4, time.Since(begun))
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, time.Second, time.Since(begun))
		require.Empty(w, w.srv.Sessions())
	})
}

// What goes on behind the caller's back looks for a connection for as long as the ZooKeeper session
// lives without, and ends then.
func TestACloseThatIsGivenUpFindsAConnectionOrEnds(t *testing.T) {
	t.Parallel()
	for name, heals := range map[string]bool{"a connection comes": true, "none comes": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				host := w.srv.Host("here")
				var log journal
				s := w.open(session.WithDialer(host.Dialer()), log.logger())
				heal := host.Partition()
				begun := time.Now()
				ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
				defer cancel()
				require.ErrorIs(w, s.Close(ctx), context.DeadlineExceeded)
				require.Equal(w, 3*time.Second, time.Since(begun))
				if heals {
					time.Sleep(3 * time.Second)
					heal()
					require.NoError(w, s.Close(w.ctx))
					require.Empty(w, w.srv.Sessions())
					require.NotContains(w, log.String(), "could not be closed")
					return
				}
				err := s.Close(w.ctx)
				require.ErrorIs(w, err, session.ErrSuspended)
				require.ErrorContains(w, err, "left to expire")
				require.LessOrEqual(w, time.Since(begun), s.Status().Timeout)
				require.NoError(w, s.Close(w.ctx), "that was it")
				require.Contains(w, log.String(), "could not be closed", "nobody may have waited")
			})
		})
	}
}

// sent notes the requests that go to the network.
type sent struct {
	net.Conn
	mu  *sync.Mutex
	ops *[]jute.Op
}

func (c sent) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := (&jute.Request{}); q.Decode(jute.NewReader(p[4:])) == nil {
		*c.ops = append(*c.ops, q.Op)
	}
	return n, err
}

// A process may end as soon as Close has returned: the servers have been asked by then.
func TestCloseHasAskedWhenItReturns(t *testing.T) {
	inBubble(t, func(w *world) {
		var mu sync.Mutex
		var ops []jute.Op
		s := w.open(session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.srv.Dialer()(ctx, network, addr)
			return sent{conn, &mu, &ops}, err
		}))
		w.slowlyClosed(time.Second)
		require.Error(w, s.Close(w.over()))
		mu.Lock()
		defer mu.Unlock()
		require.Equal(w, jute.OpCloseSession, ops[len(ops)-1])
	})
}

// Unless the network takes nothing: that is not waited for.
func TestCloseDoesNotWaitForANetworkThatTakesNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		n := &network{}
		s := w.open(n.dialer(w.srv))
		unclog := n.clog()
		begun := time.Now()
		require.ErrorIs(w, s.Close(w.over()), context.Canceled)
		require.LessOrEqual(w, time.Since(begun), time.Second/10)
		unclog()
		require.NoError(w, s.Close(w.ctx))
		synctest.Wait()
		require.Empty(w, w.srv.Sessions())
	})
}
