package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// A leader is cut off, silently, at any moment of its session's life. Its term ends by its own
// clock before the rival's begins, and it stands again by itself when it can.
func TestPartitionEndsTheTermBeforeTheRivalsBegins(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Second, 1667 * time.Millisecond, 3 * time.Second, 17 * time.Second, 100 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a, b := candidate(t, s, "a"), candidate(t, t.Session(), "b")
				first := leads(t, a)
				waits(t, b)
				<-time.After(after)
				timeout := s.Status().Timeout
				heal := t.Server.Partition(s.Status().SessionID)
				cut := time.Now()
				bubble.Closes(t, first.Done(), "a's term")
				require.ErrorIs(t, first.Err(), session.ErrLost)
				require.ErrorIs(t, first.Err(), session.ErrUntrusted)
				require.LessOrEqual(t, time.Since(cut), timeout/2, "trust, by default, ends half a timeout after the last answered sync")
				bubble.Never(t, b.Leader(), "the rival has to wait for the server")

				second := bubble.Get(t, b.Leader(), "b leads")
				require.Greater(t, second.Token(), first.Token())
				require.Greater(t, time.Since(cut), timeout/2)
				require.False(t, first.Valid())
				<-time.After(time.Minute)
				bubble.Never(t, a.Leader(), "a is cut off")

				heal()
				eventually(t, "a stands again", func() bool { return len(line(t, b)) == 2 })
				require.Equal(t, []string{"b", "a"}, line(t, b))
				require.NoError(t, b.Resign(bubble.Minute(t)))
				require.Greater(t, bubble.Get(t, a.Leader(), "a leads again").Token(), second.Token())
			})
		})
	}
}

// A partition that ends before the session does costs the leader its term, by its own clock, and a
// waiter nothing.
func TestShortPartitionKeepsTheWaitersPlace(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sb := t.Session()
		a, b, c := candidate(t, t.Session(), "a"), candidate(t, sb, "b"), candidate(t, t.Session(), "c")
		leads(t, a)
		waits(t, b)
		waits(t, c)
		standing := b.Standing(bubble.Minute(t))
		heal := t.Server.Partition(sb.Status().SessionID)
		bubble.Await(t, standing, "b does not know", func(s election.Standing) bool { return s.Stale })
		heal()
		bubble.Await(t, standing, "b knows", func(s election.Standing) bool { return !s.Stale && s.Phase == election.Waiting })
		require.Equal(t, []string{"a", "b", "c"}, line(t, a))
		require.NoError(t, a.Resign(bubble.Minute(t)))
		bubble.Get(t, b.Leader(), "b leads")
	})
}

// The connection goes and comes back: the term stands.
func TestDisconnectionIsNoLoss(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := candidate(t, s, "a")
		term := leads(t, a)
		for range 10 {
			t.Server.Disconnect(s.Status().SessionID)
			synctest.Wait()
			<-time.After(time.Second)
		}
		require.NoError(t, term.Err())
		require.NoError(t, term.Ready(bubble.Minute(t)))
	})
}

// A session that is strict ends the term with the connection.
func TestStrictEndsTheTermWithTheConnection(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithStrict())
		a := candidate(t, s, "a")
		term := leads(t, a)
		t.Server.Disconnect(s.Status().SessionID)
		bubble.Closes(t, term.Done(), "the term")
		require.ErrorIs(t, term.Err(), session.ErrSuspended)
		require.Greater(t, bubble.Get(t, a.Leader(), "a leads again").Token(), term.Token())
	})
}
