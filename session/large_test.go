package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// takes limits what the servers take from now on: they hang up at what has more data. raise changes
// that.
func (w *world) takes(bytes int) (raise func(bytes int), hangUps func() int) {
	hangUps = w.hangsUp(func(r *zktest.Request) bool { return len(r.Data) > bytes })
	return func(to int) { w.script(func() { bytes = to }) }, hangUps
}

// set sets data of that size, and returns what it was told.
func (w *world) set(s *session.Session, size int) error {
	_, err := s.Set(w.ctx, "/a", make([]byte, size), -1)
	return err
}

// A server's limit is found out, and so is that it was raised: within a minute.
func TestALimitThatIsRaisedIsFoundOut(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", make([]byte, 2000))
		require.NoError(w, err)
		raise, hangUps := w.takes(10_000)
		for range 3 {
			require.ErrorIs(w, w.set(s, 30_000), session.ErrUnknownOutcome)
		}
		refused := 0
		for range 3600 {
			time.Sleep(time.Second)
			if err := w.set(s, 30_000); err != nil {
				refused++
			}
		}
		require.Equal(w, 3600, refused)
		require.LessOrEqual(w, hangUps(), 3+60, "one a minute")
		raise(100_000)
		time.Sleep(time.Minute)
		for _, size := range []int{30_000, 20_000, 40_000, 30_000} {
			require.NoError(w, w.set(s, size))
		}
	})
}

// That connections go now and then, each time with a large request on them, has nothing to do with
// its size.
func TestASuspicionOfASizeFades(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		for range 5 {
			time.Sleep(time.Hour)
			w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpSetData })
			require.ErrorIs(w, w.set(s, 30_000), session.ErrUnknownOutcome)
		}
		require.NoError(w, w.set(s, 30_000), "right behind the last loss")
	})
}

// One request that is too large, and is asked for again and again, does not have smaller ones
// refused for ever of which one was lost once, whatever the reason.
func TestASuspicionOfASizeIsNotOfSmallerOnes(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		w.cutOnce(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpSetData })
		require.ErrorIs(w, w.set(s, 3_000), session.ErrUnknownOutcome)
		w.takes(10_000)
		for range 3 {
			require.Error(w, w.set(s, 30_000))
		}
		require.ErrorIs(w, w.set(s, 30_000), session.ErrTooLarge)
		require.NoError(w, w.set(s, 3_000), "servers take it")
		for range 100 {
			time.Sleep(time.Second)
			require.Error(w, w.set(s, 30_000))
		}
		require.NoError(w, w.set(s, 4_000))
	})
}
