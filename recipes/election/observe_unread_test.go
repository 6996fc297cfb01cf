package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
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
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				err := t.Session().EnsurePath(bubble.Minute(t), path)
				require.NoError(t, err)
				hidden := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "hidden")
				term, err := hidden.Lead(bubble.Minute(t))
				require.NoError(t, err)
				watching := t.Session()
				watcher := candidate(t, watching, "watcher")
				states := watcher.Observe(bubble.Minute(t))
				seen := bubble.Get(t, states, "a leader that may not be read")
				require.True(t, seen.Present && seen.Unread && !seen.Self && !seen.Stale && seen.ID == "" && seen.Token == 0, "%+v", seen)
				now, err := watcher.Current(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, seen, now)
				other := bubble.Get(t, candidate(t, t.Session(bob), "another").Observe(bubble.Minute(t)), "one that may be read")
				require.Equal(t, term.Token(), other.Token)

				t.Server.Disconnect(watching.Status().SessionID)
				require.True(t, bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.Stale }).Unread)
				require.True(t, bubble.Await(t, states, "a state", func(l election.Leadership) bool { return !l.Stale }).Unread)

				next := candidate(t, t.Session(bob), "next") // it has to read whom it waits for
				next.Campaign()
				synctest.Wait()
				require.NoError(t, hidden.Close(bubble.Minute(t)))
				time.Sleep(10 * time.Second)
				seen = bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.ID == "next" })
				require.True(t, seen.Present && !seen.Unread)
			}, zktest.WithVersion(version))
		})
	}
}
