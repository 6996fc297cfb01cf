package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A lock that is held for a moment is released before its first read is out: then that is not sent
// at all.
func TestAReadOfWhatIsBeingRemovedIsNotSent(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t, other := w.client(s), w.client(s)
		own := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		rest := t.join(w, 1, session.Join{Parent: "/line", Name: "lock-"}).Path
		w.cutOnce(zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpDelete })
		w.requests()
		w.srv.Kill(0) // so that nothing is sent for now
		require.Equal(w, []string{"disconnected"}, t.told()[1:])
		var mine, his, stays session.Seen
		t.Read(1, own, true, func(a session.Seen) { mine = a })
		t.Read(1, rest, true, func(a session.Seen) { stays = a })
		other.Read(1, own, true, func(a session.Seen) { his = a })
		removed := bubble.Begin(func() error { return wait(w, func(done func(error)) { t.Remove(1, own, done) }) })
		synctest.Wait()
		require.NoError(w, w.srv.Restart(0))
		require.NoError(w, <-removed)
		synctest.Wait()
		require.ErrorIs(w, mine.Err, session.ErrReleased)
		require.NoError(w, his.Err, "another client's is: it has to know when the znode is gone")
		require.True(w, stays.Exists)
		require.ElementsMatch(w, []string{"delete " + own, "getData " + own, "getData " + rest}, w.requests())
		require.Equal(w, []string{"reconnected"}, t.told())
		require.Equal(w, 1, session.WatchEntries(s))

		// Removed, and read again: that is another matter.
		require.False(w, t.read(w, 1, own, true).Exists)
	})
}
