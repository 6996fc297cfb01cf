package election_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whatever request or reply is lost, alone or with the connection, and whichever one it is: the
// candidate does what it is asked to, has at most one znode in line, and leaves nothing.
func TestB41_AnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(t *bubble.World, s *session.Session){"life": life, "transfer": handOver} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.EachFate(t, func(w *bubble.World, _ int, strike func(s *session.Session)) {
				s := w.Session()
				strike(s)
				scenario(w, s)
			})
		})
	}
}

// handOver makes a leader of a session and has it hand over to the last of three others.
func handOver(t *bubble.World, s *session.Session) {
	others := t.Session()
	a, b, c := candidate(t, s, "a"), candidate(t, others, "b"), candidate(t, others, "c")
	term := leads(t, a)
	waits(t, b)
	waits(t, c)
	candidates, err := b.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[2].Path))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	next := bubble.Get(t, c.Leader(), "c leads")
	require.Greater(t, next.Token(), term.Token())
	eventually(t, "the others stand again", func() bool { return len(line(t, c)) == 3 })
	require.NoError(t, a.Close(bubble.Minute(t)))
	require.Equal(t, []string{"c", "b"}, line(t, c))
}

// life goes through a candidate's life on a session.
func life(t *bubble.World, s *session.Session) {
	watcher := candidate(t, t.Session(), "watcher")
	a := candidate(t, s, "a")
	term, err := a.Lead(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, line(t, watcher))
	require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("here")))
	require.NoError(t, term.Ready(bubble.Minute(t)))
	l, err := watcher.Current(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, "here", string(l.Data))
	require.True(t, l.Ready)
	require.Equal(t, term.Token(), l.Token)
	require.NoError(t, term.Resign(bubble.Minute(t)))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	require.Empty(t, line(t, watcher))
	require.NoError(t, a.Close(bubble.Minute(t)))
}

// B41: any error of a campaign, from whichever request it comes, leaves no candidate behind.
func TestB41_AnyErrorRemovesTheCandidate(t *testing.T) { //nolint:tparallel // whether there is a next one is known when this one is over
	t.Parallel()
	for k, more := 1, true; more; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			more = false
			bubble.Run(t, func(t *bubble.World) { more = failOne(t, k) })
		})
		require.Less(t, k, 100, "the scenario has an end")
	}
}

func failOne(t *bubble.World, k int) bool {
	s, watcher := t.Session(), candidate(t, t.Session(), "watcher")
	own := s.Status().SessionID
	var count atomic.Int64
	remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
		// Deletions are guaranteed, and a sync is no part of a campaign.
		if q.SessionID == own && q.Op != zktest.OpPing && q.Op != zktest.OpConnect && q.Op != zktest.OpDelete && q.Op != zktest.OpSync && count.Add(1) == int64(k) {
			return zktest.Fail(zktest.ErrNoAuth)
		}
		return zktest.Pass
	})
	a := candidate(t, s, "a")
	term, err := a.Lead(bubble.Minute(t))
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoAuth)
	} else if err := term.Resign(bubble.Minute(t)); err != nil { // its znode could not be read, and the term was over before
		require.ErrorIs(t, err, session.ErrLost)
		require.ErrorIs(t, err, session.ErrNoAuth)
	}
	remove()
	eventually(t, "nothing is left", func() bool { return len(line(t, watcher)) == 0 })
	require.NoError(t, a.Close(bubble.Minute(t)))
	return count.Load() >= int64(k)
}
