package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whoever has a client restarts while a transaction of before is not carried out yet: a server has
// no time for it, or there is no connection. The recovery waits, so that whoever looks behind it
// sees what came of it.
func TestARecoveryWaitsForTransactions(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"overloaded": zktest.Fail(zktest.ErrThrottled), "cut off": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				began := time.Now()
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpMulti && len(r.Ops) == 2 && time.Since(began) < time.Second {
						return fate
					}
					return zktest.Pass
				})
				var answered error
				over := false
				t.Commit(1, []session.Op{session.CreateOp("/one", nil), session.CreateOp("/two", nil)}, func(_ []session.Result, err error) {
					answered, over = err, true
				})
				wait(w, func(done func(struct{})) {
					t.Recover(1, func(_, _ []string, err error) {
						if err != nil || !over {
							w.Errorf("recovered before the transaction was answered: %v", err)
						}
						done(struct{}{})
					})
				})
				_, exists, err := s.Exists(w.ctx, "/two")
				require.NoError(w, err)
				require.Equal(w, answered == nil, exists)
				time.Sleep(time.Minute)
				_, later, err := s.Exists(w.ctx, "/two")
				require.NoError(w, err)
				require.Equal(w, exists, later, "nothing turns up later")
			})
		})
	}
}

// An epoch's end is the end of what was under way in it, and the recovery does not wait for it.
func TestARecoveryEndsWithTheEpoch(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		mine := id(s)
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == mine && r.Op == zktest.OpMulti && len(r.Ops) == 2 {
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})
		t.Commit(1, []session.Op{session.CreateOp("/one", nil), session.CreateOp("/two", nil)}, func([]session.Result, error) {})
		time.AfterFunc(time.Second, func() { w.srv.Expire(mine) })
		err := wait(w, func(done func(error)) { t.Recover(1, func(_, _ []string, err error) { done(err) }) })
		require.ErrorIs(w, err, session.ErrExpired)
	})
}

// A server that has no time for a transaction which deletes a znode of the client holds up no
// recovery: the znode is known, and once it is deleted otherwise, nothing comes of the transaction
// any more.
func TestARecoveryDoesNotWaitForADeparture(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		_, err := s.Create(w.ctx, "/record", nil)
		require.NoError(w, err)
		refusing := w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && len(r.Ops) == 2 {
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})
		var answered error
		over := make(chan struct{})
		t.Commit(1, []session.Op{session.DeleteOp(h.Path(), -1), session.DeleteOp("/record", -1)}, func(_ []session.Result, err error) {
			answered = err
			close(over)
		})
		standing := wait(w, func(done func([]string)) {
			t.Recover(1, func(standing, _ []string, err error) {
				require.NoError(w, err)
				done(standing)
			})
		})
		require.Equal(w, []string{h.Path()}, standing)
		require.NoError(w, wait(w, func(done func(error)) { t.Remove(1, h.Path(), done) }))
		refusing()
		<-over
		require.Error(w, answered)
		_, stands, err := s.Exists(w.ctx, "/record")
		require.NoError(w, err)
		require.True(w, stands, "all or nothing")
	})
}
