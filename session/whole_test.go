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

// whole makes one hold of several, and notes how it ended.
func whole(parts ...*session.Hold) (h *session.Hold, end func(error) bool, causes *[]error) {
	causes = new([]error)
	h, end = session.JoinHolds(parts, func(cause error) { *causes = append(*causes, cause) })
	return h, end, causes
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
		s := w.open(session.WithTimeout(timeout))
		t := w.client(s)
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

func TestCommitOfAWhole(t *testing.T) {
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
		_, exists, err := s.Exists(w.ctx, "/late")
		require.NoError(w, err)
		require.False(w, exists)
	})
}

func TestAWholeOfSeveralSessions(t *testing.T) {
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
