package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A leader whose znode this session may not read is there all the same, on each version: somebody
// leads, and it is not known who. The next one is seen as ever.
func TestALeaderThatMayNotBeReadIsObserved(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			bubble(t, func(t *testing.T, z *zktest.Server) {
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				err := connected(t, z).EnsurePath(patience(t), path)
				require.NoError(t, err)
				hidden := candidate(t, connected(t, z, bob, session.WithACL(session.AuthACL(session.PermAll)...)), "hidden")
				term, err := hidden.Lead(patience(t))
				require.NoError(t, err)
				watching := connected(t, z)
				watcher := candidate(t, watching, "watcher")
				states := watcher.Observe(patience(t))
				seen := get(t, states, "a leader that may not be read")
				require.True(t, seen.Present && seen.Unread && !seen.Self && !seen.Stale && seen.ID == "" && seen.Token == 0, "%+v", seen)
				now, err := watcher.Current(patience(t))
				require.NoError(t, err)
				require.Equal(t, seen, now)
				other := get(t, candidate(t, connected(t, z, bob), "another").Observe(patience(t)), "one that may be read")
				require.Equal(t, term.Token(), other.Token)

				z.Disconnect(watching.Status().SessionID)
				require.True(t, await(t, states, "a state", func(l election.Leadership) bool { return l.Stale }).Unread)
				require.True(t, await(t, states, "a state", func(l election.Leadership) bool { return !l.Stale }).Unread)

				next := candidate(t, connected(t, z, bob), "next") // it has to read whom it waits for
				next.Campaign()
				synctest.Wait()
				require.NoError(t, hidden.Close(patience(t)))
				time.Sleep(10 * time.Second)
				seen = await(t, states, "a state", func(l election.Leadership) bool { return l.ID == "next" })
				require.True(t, seen.Present && !seen.Unread)
			}, zktest.WithVersion(version))
		})
	}
}
