package election_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What docs/recipes/election.md says about costs.
func TestCosts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sa, sb, sw := t.Session(), t.Session(), t.Session()
		require.NoError(t, sw.EnsurePath(bubble.Minute(t), path))
		a, b, watcher := candidate(t, sa, "a"), candidate(t, sb, "b"), candidate(t, sw, "watcher")
		seen := watcher.Observe(t.Context())
		require.False(t, bubble.Get(t, seen, "nobody").Present)

		t.Server.ClearJournal()
		leads(t, a)
		requests, fired := asked(t.Server, sa)
		require.LessOrEqual(t, requests, 3, "standing alone and winning")
		require.True(t, bubble.Await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present }).Present)
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 3, "the observer finds the first leader")
		require.Equal(t, 1, fired, "the observer is told")

		waits(t, b)
		synctest.Wait()
		t.Server.ClearJournal()
		require.NoError(t, a.Resign(bubble.Minute(t)))
		term := bubble.Get(t, b.Leader(), "b leads")
		bubble.Await(t, seen, "b leads", func(l election.Leadership) bool { return l.Token == term.Token() })
		synctest.Wait()
		requests, _ = asked(t.Server, sa)
		require.Equal(t, 1, requests, "resigning")
		requests, _ = asked(t.Server, sb)
		require.Zero(t, requests, "the next one knows already that it is next")
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 2, "the observer finds the next leader")
	})
}

// asked counts a session's requests, signs of life aside, and the watch events that all requests
// caused.
func asked(z *zktest.Server, s *session.Session) (requests, fired int) {
	synctest.Wait()
	for _, q := range z.Journal() {
		fired += q.Fired
		if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing && q.Op != zktest.OpSync {
			requests++
		}
	}
	return requests, fired
}
