package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestHold(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		var causes []error
		h, err := t.Hold(1, j.Path, 42, func(cause error) { causes = append(causes, cause) })
		require.NoError(w, err)
		require.Equal(w, j.Path, h.Path())
		require.EqualValues(w, 42, h.Token())
		require.Same(w, s, h.Session())
		require.True(w, h.Valid())
		require.NoError(w, h.Err())
		select {
		case <-h.Done():
			require.Fail(w, "done")
		default:
		}
		// Err is there before Done, and the context's cause is the same.
		seen := bubble.Begin(func() error { <-h.Done(); return h.Err() })
		require.True(w, t.End(h, session.ErrReleased))
		require.Equal(w, session.ErrReleased, <-seen)
		require.Equal(w, session.ErrReleased, context.Cause(h.Context()))
		require.False(w, t.End(h, session.ErrDeleted), "once")
		require.Equal(w, session.ErrReleased, h.Err())
		require.Equal(w, []error{session.ErrReleased}, causes)
		require.False(w, h.Valid())

		h, err = t.Hold(1, j.Path, 42, func(error) {})
		require.NoError(w, err)
		require.True(w, t.End(h, session.ErrRevoked))
		require.ErrorIs(w, h.Err(), session.ErrLost)
		require.ErrorIs(w, h.Err(), session.ErrRevoked)
	})
}

func TestCommit(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		results, err := h.Commit(w.ctx, session.CreateOp("/n-", []byte("x"), session.Sequential()), session.CheckOp("/line", -1))
		require.NoError(w, err)
		require.Len(w, results, 2, "without the guard's")
		require.Regexp(w, `^/n-\d{10}$`, results[0].Path)
		results, err = h.Commit(w.ctx, session.CheckOp("/line", 99), session.DeleteOp("/line", -1))
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.NotErrorIs(w, err, session.ErrLost)
		require.Len(w, results, 2)
		require.ErrorIs(w, results[0].Err, session.ErrBadVersion)
		require.True(w, h.Valid())
		_, err = h.Commit(w.ctx)
		require.ErrorContains(w, err, "ops")
		_, err = h.Commit(w.ctx, session.CreateOp("relative", nil))
		require.ErrorIs(w, err, session.ErrInvalidPath)
		_, err = h.Commit(w.ctx, session.CreateOp("/big", make([]byte, 1<<20)))
		require.ErrorIs(w, err, session.ErrTooLarge)

		require.True(w, t.End(h, session.ErrReleased))
		_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrReleased)
	})
}

// The znode is gone, and word of it is slow: the guard is how the holder learns of it, and nothing
// is done.
func TestAFailingGuardIsTheLoss(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		j := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		h, err := t.Hold(1, j.Path, 1, func(error) {}) // nothing watches the znode
		require.NoError(w, err)
		require.NoError(w, other.Delete(w.ctx, j.Path, -1))
		require.True(w, h.Valid())
		_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrDeleted)
		<-h.Done()
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		_, exists, err := s.Exists(w.ctx, "/late")
		require.NoError(w, err)
		require.False(w, exists)
	})
}

// A transaction that waits for a connection waits with its hold: it never acts in another epoch.
func TestACommitThatWaits(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		steady(w, s)
		w.srv.Kill(0)
		synctest.Wait()
		begun := time.Now()
		_, err := h.Commit(w.ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrUntrusted)
		require.Equal(w, timeout/2, time.Since(begun))
		require.NoError(w, w.srv.Restart(0))
		_, exists, err := s.Exists(w.ctx, "/late")
		require.NoError(w, err)
		require.False(w, exists)

		again, err := t.Hold(1, h.Path(), h.Token(), func(error) {})
		for err != nil {
			time.Sleep(time.Millisecond)
			again, err = t.Hold(1, h.Path(), h.Token(), func(error) {})
		}
		w.srv.Kill(0)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err = again.Commit(ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrLost)
		done := bubble.Begin(func() error { _, err := again.Commit(w.ctx, session.CreateOp("/late", nil)); return err })
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-done)
	})
}

// A transaction is on its way when its connection is lost and the hold ends. It is not carried out
// behind what follows on the next connection.
func TestACommitOnALostConnectionAndTheEndOfItsHold(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				h := t.hold(w, 1, "/line")
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if len(r.Ops) == 2 && r.Ops[1].Path == "/late" {
						return zktest.Delay(3 * time.Second)
					}
					return zktest.Pass
				})
				written := bubble.Begin(func() error { _, err := h.Commit(w.ctx, session.CreateOp("/late", nil)); return err })
				synctest.Wait()
				w.srv.Disconnect(id(s))
				synctest.Wait()
				require.True(w, t.End(h, session.ErrReleased))
				require.NoError(w, wait(w, func(done func(error)) {
					t.Commit(1, []session.Op{session.CreateOp("/back", nil)}, func(_ []session.Result, err error) { done(err) })
				}))
				require.ErrorIs(w, <-written, session.ErrUnknownOutcome)
				time.Sleep(time.Minute)
				_, exists, err := s.Exists(w.ctx, "/late")
				require.NoError(w, err)
				require.False(w, exists)
			}, zktest.WithServers(servers))
		})
	}
}

func TestContextsKnowTheirHolds(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		require.Empty(w, slices.Collect(session.HoldsFrom(w.ctx)))
		require.Equal(w, []*session.Hold{a}, slices.Collect(session.HoldsFrom(a.Context())))
		type key struct{}
		outer, cancelOuter := session.Within(context.WithValue(w.ctx, key{}, "kept"), a)
		defer cancelOuter()
		inner, cancel := session.Within(outer, b)
		defer cancel()
		require.Equal(w, []*session.Hold{b, a}, slices.Collect(session.HoldsFrom(inner)))
		require.Equal(w, "kept", inner.Value(key{}))
		require.NoError(w, inner.Err())

		t.End(a, session.ErrDeleted)
		synctest.Wait()
		require.ErrorIs(w, context.Cause(inner), session.ErrDeleted)
		require.ErrorIs(w, context.Cause(outer), session.ErrDeleted)
		require.NoError(w, b.Err())
		third, cancel := session.Within(w.ctx, b)
		cancel()
		require.ErrorIs(w, third.Err(), context.Canceled)
	})
}

func TestValidNeverComesBack(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		t.StandBy(1, true)
		for range 40 {
			heal := w.srv.Isolate()
			wasValid := true
			for range 900 {
				time.Sleep(10 * time.Millisecond)
				valid := h.Valid()
				require.False(w, valid && !wasValid)
				wasValid = valid
				select {
				case <-h.Done():
					require.False(w, valid)
				default:
				}
			}
			heal()
			time.Sleep(timeout / 2) // until something was heard half a tick ago
			require.False(w, h.Valid())
			var err error
			h, err = t.Hold(s.Status().Epoch, h.Path(), h.Token(), func(error) {})
			require.NoError(w, err)
		}
	}, zktest.WithSessionTimeouts(time.Second, time.Hour))
}
