package election_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A candidate whose znode may not be read is one without ID and data, on each version. The lead
// can't be handed over to it, since nothing tells that it still stands, but past it.
func TestCandidatesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				a := candidate(t, t.Session(), "a")
				term, err := a.Lead(bubble.Minute(t))
				require.NoError(t, err)
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				b := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "b")
				c := candidate(t, t.Session(bob), "c")
				b.Campaign()
				synctest.Wait()
				c.Campaign()
				synctest.Wait()
				all, err := a.Candidates(bubble.Minute(t))
				require.NoError(t, err)
				require.Len(t, all, 3)
				require.True(t, all[0].Self && all[0].Leading && !all[0].Unread)
				require.True(t, all[1].Unread && !all[1].Self && !all[1].Leading && all[1].ID == "")
				require.True(t, !all[2].Unread && all[2].ID == "c")
				require.ErrorIs(t, term.TransferTo(bubble.Minute(t), all[1].Path), session.ErrNoAuth)
				require.NoError(t, term.Err(), "it stands")
				require.NoError(t, term.TransferTo(bubble.Minute(t), all[2].Path))
				require.Greater(t, bubble.Get(t, c.Leader(), "the lead").Token(), term.Token())
			}, zktest.WithVersion(version))
		})
	}
}
