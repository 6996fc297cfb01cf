package session_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What the return of trust costs: one write, whatever ended it, that is answered in time; none
// while it lasts.
func TestTrustComesBackWithOneWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble func(w *world, s *session.Session)
		writes  int
	}{
		"nothing":        {func(*world, *session.Session) { time.Sleep(time.Hour) }, 0},
		"a reconnection": {func(w *world, s *session.Session) { w.srv.Disconnect(id(s)) }, 1},
		"a halt": {func(w *world, _ *session.Session) {
			w.srv.Stop(0)
			time.Sleep(timeout * 5 / 12)
			w.srv.Continue(0)
		}, 1},
		"a partition that outlives trust": {func(w *world, s *session.Session) {
			heal := w.srv.Partition(id(s))
			time.Sleep(timeout * 7 / 12)
			heal()
		}, 2}, // and one that was asked for while nothing came through, whose answer is too late to prove anything
		"a jump of a clock": {func(_ *world, s *session.Session) { session.ShiftWall(s, time.Hour) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithTimeout(timeout))
				t := w.client(s)
				t.hold(w, 1, "/line")
				t.StandBy(1, true)
				steady(w, s)
				time.Sleep(timeout / 50)
				w.requests()
				c.trouble(w, s)
				time.Sleep(timeout)
				synctest.Wait()
				require.True(w, s.Status().TrustedUntil.After(time.Now()))
				writes := 0
				for _, r := range w.srv.Journal() {
					if r.Op == zktest.OpMulti {
						writes++
					}
				}
				require.Equal(w, c.writes, writes)
				w.requests()
				time.Sleep(timeout)
				require.LessOrEqual(w, len(w.requests()), 7, "a sync each sixth of the timeout, and nothing else")
			})
		})
	}
}

// A reconnection to a server that grants another timeout lets possessions go on for as long as the
// shorter of the two allows.
func TestAPossessionOutlivesAnotherTimeout(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]time.Duration{"longer": 2 * timeout, "shorter": timeout * 5 / 6} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithDialer(w.granting(timeout, next)))
				require.Equal(w, timeout, s.Status().Timeout)
				h := w.client(s).hold(w, 1, "/line")
				steady(w, s)
				until := s.Status().TrustedUntil
				remove := w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpMulti || r.Op == zktest.OpSync {
						return zktest.Delay(timeout) // no proof comes with the next connection
					}
					return zktest.Pass
				})
				w.srv.Disconnect(id(s))
				time.Sleep(timeout / 12)
				require.Equal(w, next, s.Status().Timeout)
				require.True(w, h.Valid())
				want := until
				if next < timeout {
					want = until.Add((next - timeout) / 2)
				}
				require.Equal(w, want, s.Status().TrustedUntil)
				<-h.Done()
				require.Equal(w, want, time.Now())
				remove()
			})
		})
	}
}

// granting dials to servers of which the first grants another timeout than the others, whatever is
// asked for.
func (w *world) granting(first, others time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialled atomic.Int64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := w.srv.Dialer()(ctx, network, addr)
		granted := others
		if dialled.Add(1) == 1 {
			granted = first
		}
		return &grantedConn{Conn: conn, timeout: granted}, err
	}
}

type grantedConn struct {
	net.Conn
	timeout time.Duration
	greeted bool
}

// Write puts the timeout into the request for the session, the first frame: behind its length, the
// version of the protocol and the last zxid.
func (c *grantedConn) Write(b []byte) (int, error) {
	if !c.greeted {
		c.greeted = true
		binary.BigEndian.PutUint32(b[16:], uint32(c.timeout/time.Millisecond))
	}
	return c.Conn.Write(b)
}
