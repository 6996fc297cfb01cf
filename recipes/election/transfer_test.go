package election_test

// A transfer past candidates of the leader's own session, which hears of everything first.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// stand has one of three lead, and the others wait for it. It returns the path of the last.
func stand(t *bubble.World, a, b, c *election.Election) (*election.Term, string) {
	term := leads(t, a)
	waits(t, b)
	waits(t, c)
	candidates, err := c.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	return term, candidates[2].Path
}

// A and B share a session, in which B is told at once that A has resigned; that TransferTo has
// deleted its own znode waits behind the answer of somebody else, who is slow. B does not lead.
func TestATransferPassesACandidateOfTheSameSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := stand(t, a, b, c)
		letGo := occupy(t, s)
		require.NoError(t, term.TransferTo(bubble.Minute(t), last))
		next := bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
		letGo()
		synctest.Wait()
		bubble.Never(t, b.Leader(), "b leads beside c")
		require.Equal(t, []string{"c", "a", "b"}, line(t, c), "b has lost its place, and stands again")
		require.NoError(t, c.Resign(bubble.Minute(t)))
		require.Greater(t, bubble.Get(t, a.Leader(), "a is next").Token(), next.Token())
		require.NoError(t, a.Resign(bubble.Minute(t)))
		bubble.Get(t, b.Leader(), "that b was refused once is over")
	})
}

// occupy keeps a session from telling anybody of events, until it is let go: who reads is told the
// answer, and takes its time.
func occupy(t *bubble.World, s *session.Session) (letGo func()) {
	client, err := seam.NewClient(s, "slow", func(seam.Event) {}, nil)
	require.NoError(t, err)
	t.Cleanup(client.Leave)
	occupied := make(chan struct{})
	synctest.Wait() // who is next watches its own znode by then
	client.Read(s.Status().Epoch, path, true, func(seam.Seen) { <-occupied })
	synctest.Wait()
	return func() { close(occupied) }
}

// Nor does it lead for the time that TransferTo's transaction takes, if the term is resigned
// meanwhile, since the context has ended, say.
func TestATransferThatIsUnderWayPassesACandidateOfTheSameSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := stand(t, a, b, c)
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && r.SessionID == s.Status().SessionID {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		ctx, cancel := context.WithTimeout(bubble.Minute(t), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, term.TransferTo(ctx, last), context.DeadlineExceeded)
		resigned := bubble.Begin(func() error { return term.Resign(bubble.Minute(t)) })
		bubble.Never(t, b.Leader(), "b leads, though its znode is being deleted")
		require.NoError(t, bubble.Get(t, resigned))
		bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
	})
}
