package election_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What docs/recipes/election.md says about costs.
func TestCosts(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		sa, sb, sw := connected(t, z), connected(t, z), connected(t, z)
		require.NoError(t, sw.EnsurePath(patience(t), path))
		a, b, watcher := candidate(t, sa, "a"), candidate(t, sb, "b"), candidate(t, sw, "watcher")
		seen := watcher.Observe(t.Context())
		require.False(t, get(t, seen, "nobody").Present)

		z.ClearJournal()
		leads(t, a)
		requests, fired := asked(z, sa)
		require.LessOrEqual(t, requests, 3, "standing alone and winning")
		require.True(t, await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present }).Present)
		requests, _ = asked(z, sw)
		require.LessOrEqual(t, requests, 3, "the observer finds the first leader")
		require.Equal(t, 1, fired, "the observer is told")

		waits(t, b)
		synctest.Wait()
		z.ClearJournal()
		require.NoError(t, a.Resign(patience(t)))
		term := get(t, b.Leader(), "b leads")
		await(t, seen, "b leads", func(l election.Leadership) bool { return l.Token == term.Token() })
		synctest.Wait()
		requests, _ = asked(z, sa)
		require.Equal(t, 1, requests, "resigning")
		requests, _ = asked(z, sb)
		require.Zero(t, requests, "the next one knows already that it is next")
		requests, _ = asked(z, sw)
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
