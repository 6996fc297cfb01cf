package session_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// refuseCredentials lets the server refuse every credential from now on.
func (w *world) refuseCredentials() {
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpSetAuth {
			return zktest.Fail(-115)
		}
		return zktest.Pass
	})
}

// Whatever is to be tried again after a pause is not waited for by Close.
func TestCloseDoesNotWaitForPauses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refused zktest.Op
		during  func(w *world, s *session.Session)
	}{
		"a watch that may not look": {zktest.OpGetData, func(w *world, s *session.Session) { _ = s.WatchData(w.ctx, "/line") }},
		"a deletion that is refused": {zktest.OpDelete, func(w *world, s *session.Session) {
			t := w.client(s)
			t.Remove(1, t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path, func(error) {})
		}},
		"a server that is overloaded": {zktest.OpGetChildren2, func(w *world, s *session.Session) {
			w.client(s).List(1, "/line", false, func(session.Listed) {})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				_, err := s.Create(w.ctx, "/line", nil)
				require.NoError(w, err)
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					switch {
					case r.Op != row.refused:
						return zktest.Pass
					case r.Op == zktest.OpGetChildren2:
						return zktest.Fail(zktest.ErrThrottled)
					}
					return zktest.Fail(zktest.ErrNoAuth)
				})
				row.during(w, s)
				for range 5 { // at different moments of its pauses
					time.Sleep(time.Minute / 7)
				}
				begun := time.Now()
				require.NoError(w, s.Close(w.ctx))
				require.Zero(w, time.Since(begun))
			})
		})
	}
}

// A refused credential ends the session, and its ZooKeeper session with it, for the closing of
// which no server asks for credentials: what it has standing goes at once, so that others take
// over.
func TestARefusedCredentialClosesTheZooKeeperSession(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ first bool }{"at first": {true}, "on the way back": {false}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s, other := w.session(session.WithAuth("digest", []byte("a:b"))), w.open()
				if row.first {
					w.refuseCredentials()
					s.Start()
				} else {
					require.NoError(w, s.Connect(w.ctx))
					h := w.client(s).hold(w, 1, "/line")
					gone := other.WatchData(w.ctx, h.Path())
					require.True(w, newest(w, gone).Exists)
					w.refuseCredentials()
					w.srv.Disconnect(id(s))
					<-h.Done()
					require.NotErrorIs(w, h.Err(), session.ErrExpired)
					begun := time.Now()
					require.False(w, (<-gone).Exists)
					require.Less(w, time.Since(begun), time.Second)
				}
				<-s.Done()
				require.NoError(w, s.Close(w.ctx), "it is confirmed")
				synctest.Wait()
				require.Len(w, w.srv.Sessions(), 1)
				require.Equal(w, id(other), w.srv.Sessions()[0].ID)
			})
		})
	}
}

// Open waits for that too: nothing of what it opened is left.
func TestOpenWithARefusedCredentialLeavesNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		w.refuseCredentials()
		_, err := session.Open(w.ctx, w.srv.Hosts(), session.WithDialer(w.srv.Dialer()), session.WithAuth("digest", []byte("a:b")))
		require.ErrorIs(w, err, session.ErrAuthFailed)
		require.Empty(w, w.srv.Sessions())
	})
}

// Close of a session that has failed waits for its end as of any, within its context.
func TestCloseWaitsForTheEndOfAFailedSession(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w *world, s *session.Session, system *actors.System){
		"given up": func(_ *world, s *session.Session, _ *actors.System) {
			for s.Err() == nil {
				session.PanicSession(s, errors.New("on purpose"))
				time.Sleep(time.Second)
			}
		},
		"its system is closed": func(w *world, _ *session.Session, system *actors.System) { require.NoError(w, system.Close(w.ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				system := actors.New()
				s := w.open(session.WithSystem(system), session.WithTimeout(30*time.Second))
				heal := w.srv.Partition(id(s))
				fail(w, s, system)
				ctx, cancel := context.WithTimeout(w.ctx, 10*time.Millisecond)
				defer cancel()
				require.ErrorIs(w, s.Close(ctx), context.DeadlineExceeded)
				require.ErrorIs(w, s.Close(w.ctx), session.ErrSuspended, "the ZooKeeper session is left to expire")
				require.NoError(w, s.Close(w.ctx), "it is over")
				begun := time.Now()
				require.NoError(w, system.Close(w.ctx))
				require.Zero(w, time.Since(begun))
				heal()
			})
		})
	}
}

// renegotiated is a connection over which the server grants another timeout.
type renegotiated struct {
	net.Conn
	timeout  time.Duration
	welcomed bool
}

func (c *renegotiated) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	const before, length = 8, 4 // the frame's length and the protocol's version
	if !c.welcomed && n >= before+length {
		c.welcomed = true
		binary.BigEndian.PutUint32(b[before:], uint32(c.timeout.Milliseconds()))
	}
	return n, err
}

// A client is told why the session ended, also if the actors were stopped while somebody was just
// closing it.
func TestASeatIsToldWhyTheSessionEnded(t *testing.T) {
	inBubble(t, func(w *world) {
		system := actors.New()
		s := w.open(session.WithSystem(system))
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		_, err := t.Hold(1, j.Path, j.Stat.Czxid, func(error) {
			system.Scope().Stop()
			time.Sleep(time.Second)
		})
		require.NoError(w, err)
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, "session ended: "+session.ErrClosed.Error(), last(t.told()))
		require.NoError(w, system.Close(w.ctx))
	})
}

// What a client is told of an epoch is what holds at the moment, also if a server has negotiated
// another timeout meanwhile.
func TestASeatIsToldThePresentTimeout(t *testing.T) {
	inBubble(t, func(w *world) {
		granted := 8 * time.Second
		s := w.open(session.WithTimeout(8*time.Second), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := w.srv.Dialer()(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			w.scripting.Lock()
			defer w.scripting.Unlock()
			return &renegotiated{Conn: c, timeout: granted}, nil
		}))
		require.Equal(w, 8*time.Second, s.Status().Timeout)
		w.script(func() { granted = 6 * time.Second })
		w.srv.Disconnect(id(s))
		time.Sleep(time.Second)
		require.Equal(w, 6*time.Second, s.Status().Timeout)
		t := w.client(s)
		synctest.Wait()
		require.Equal(w, session.EpochBegan{Epoch: 1, SessionID: id(s), Timeout: 6 * time.Second, Trusted: true}, t.events[0])
	})
}

// A timeout that the protocol has no number for is refused by New, and not when the session
// connects.
func TestATimeoutBeyondTheProtocolIsRefused(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{math.MaxInt64, (math.MaxInt32 + 1) * time.Millisecond} {
		_, err := session.New([]string{"a:1"}, session.WithTimeout(d))
		require.ErrorContains(t, err, "WithTimeout")
	}
}

// A credential is not even seen where somebody prints a session.
func TestASessionThatIsPrintedKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	s, err := session.New([]string{"a:1"}, session.WithAuth("digest", []byte("me:hunter2")))
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context())) // so that nothing changes while it is printed
	for _, form := range []string{"%v", "%+v", "%#v"} {
		said := fmt.Sprintf(form, s)
		require.NotContains(t, said, "hunter2")
		require.NotContains(t, said, "109 101 58", "me: as bytes")
		require.NotContains(t, said, "0x6d, 0x65, 0x3a")
	}
}
