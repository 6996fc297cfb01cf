// Holds, wholes of several holds, and the transactions that they guard.

package session_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

func TestAHoldEndsOnceWithItsCause(t *testing.T) {
	inBubble(t, func(w *world) {
		s, t := w.openClient()
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

func TestACommitIsCarriedOutWhileItsHoldStands(t *testing.T) {
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

func TestContextsKnowTheirHolds(t *testing.T) {
	inBubble(t, func(w *world) {
		_, t := w.openClient()
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

func TestAWholeEndsWithItsFirstPart(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.client(w.open())
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, end, causes := whole(a, b)
		require.True(w, h.Valid())
		require.NoError(w, h.Err())
		require.Equal(w, a.Path(), h.Path())
		require.Equal(w, a.Token(), h.Token())
		require.Same(w, a.Session(), h.Session())
		seen := bubble.Begin(func() error { <-h.Done(); return h.Err() })
		require.True(w, t.End(b, session.ErrRevoked))
		require.False(w, h.Valid())
		require.ErrorIs(w, <-seen, session.ErrRevoked)
		require.Equal(w, b.Err(), h.Err())
		require.Equal(w, []error{h.Err()}, *causes)
		require.True(w, a.Valid(), "the other part goes on")
		require.True(w, t.End(a, session.ErrReleased))
		require.False(w, end(session.ErrReleased), "once")
		require.ErrorIs(w, h.Err(), session.ErrRevoked)
		require.Len(w, *causes, 1)
	})
}

func TestAWholeThatIsEndedLeavesItsParts(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.client(w.open())
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, end, causes := whole(a, b)
		require.True(w, end(session.ErrReleased))
		require.Equal(w, session.ErrReleased, h.Err())
		require.True(w, a.Valid() && b.Valid())
		t.End(a, session.ErrDeleted)
		require.Equal(w, []error{session.ErrReleased}, *causes)

		late, _, causes := whole(b, a)
		<-late.Done()
		require.ErrorIs(w, late.Err(), session.ErrDeleted)
		require.Len(w, *causes, 1)
		t.End(b, session.ErrReleased)
		require.Len(w, *causes, 1)
	})
}

// With trust, every part and the whole end at the same instant.
func TestAWholeEndsWithTrust(t *testing.T) {
	inBubble(t, func(w *world) {
		_, t := w.openClient(session.WithTimeout(timeout))
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, _, causes := whole(a, b)
		w.srv.Isolate()
		<-a.Done()
		instant := time.Now()
		<-h.Done()
		<-b.Done()
		require.Zero(w, time.Since(instant))
		require.ErrorIs(w, h.Err(), session.ErrUntrusted)
		synctest.Wait()
		require.Len(w, *causes, 1)
	})
}

func TestACommitOfAWholeChecksEachPart(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		t := w.client(s)
		a, b := t.hold(w, 1, "/a"), t.hold(w, 1, "/b")
		h, _, _ := whole(a, b)
		results, err := h.Commit(w.ctx, session.CreateOp("/done", nil), session.CheckOp("/a", -1))
		require.NoError(w, err)
		require.Len(w, results, 2, "without the guards'")
		require.Equal(w, "/done", results[0].Path)

		require.NoError(w, s.Delete(w.ctx, b.Path(), -1)) // and nothing watches it
		_, err = h.Commit(w.ctx, session.CreateOp("/late", nil))
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrDeleted)
		require.ErrorIs(w, b.Err(), session.ErrDeleted, "the part that is gone")
		require.NoError(w, a.Err())
		require.False(w, w.exists(s, "/late"))
	})
}

func TestAWholeOfSeveralSessionsCommitsNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		t, u := w.client(w.open()), w.client(w.open())
		a, b := t.hold(w, 1, "/a"), u.hold(w, 1, "/b")
		h, _, _ := whole(a, b)
		_, err := h.Commit(w.ctx, session.CreateOp("/done", nil))
		require.ErrorIs(w, err, session.ErrUnsupported)
		require.True(w, h.Valid())
		u.End(b, session.ErrDeleted)
		require.ErrorIs(w, h.Err(), session.ErrDeleted)
		_, err = h.Commit(w.ctx, session.CreateOp("/done", nil))
		require.ErrorIs(w, err, session.ErrLost)
	})
}

func TestTheContextOfAWholeKnowsItsParts(t *testing.T) {
	inBubble(t, func(w *world) {
		t := w.client(w.open())
		a, b, c := t.hold(w, 1, "/a"), t.hold(w, 1, "/b"), t.hold(w, 1, "/c")
		h, end, _ := whole(a, b)
		require.Equal(w, []*session.Hold{a, b}, slices.Collect(session.HoldsFrom(h.Context())))
		inner, cancel := session.Within(c.Context(), h)
		defer cancel()
		require.Equal(w, []*session.Hold{a, b, c}, slices.Collect(session.HoldsFrom(inner)))
		end(session.ErrRevoked)
		<-inner.Done()
		require.ErrorIs(w, context.Cause(inner), session.ErrRevoked)
	})
}
