package line_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestFollowUntilItIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		other := connected(t, z)
		a := stand(t, other, "a")
		states := line.Follow(patience(t), s, a)
		d := get(t, states)
		require.True(t, d.Exists && !d.Stale)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, other.Status().SessionID, d.Stat.EphemeralOwner)
		_, err := other.Set(patience(t), a, []byte("b"), -1)
		require.NoError(t, err)
		require.Equal(t, "b", string(get(t, states).Bytes))
		require.NoError(t, other.Delete(patience(t), a, -1))
		require.False(t, get(t, states).Exists)
		_, open := <-states
		require.False(t, open)

		require.False(t, get(t, line.Follow(patience(t), s, a)).Exists, "it was gone already")
	})
}

func TestFollowTellsStalenessAndGoesOnInTheNextEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		other := connected(t, z)
		a := stand(t, other, "a")
		states := line.Follow(t.Context(), s, a)
		require.False(t, get(t, states).Stale)
		heal := z.Partition(s.Status().SessionID)
		d := get(t, states)
		require.True(t, d.Stale && d.Exists)
		_, err := other.Set(patience(t), a, []byte("b"), -1)
		require.NoError(t, err)
		z.Expire(s.Status().SessionID)
		<-time.After(10 * time.Minute)
		heal()
		for d.Stale {
			d = get(t, states)
		}
		require.Equal(t, "b", string(d.Bytes))
		z.Expire(other.Status().SessionID)
		require.False(t, get(t, states).Exists)
	})
}

// What can't be read is said to be there, once, and is read again, with pauses.
func TestFollowTriesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server, s *session.Session) {
		a := stand(t, s, "a")
		tries := 0
		defer z.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrNoAuth)
				}
			}
			return zktest.Pass
		})()
		states := line.Follow(patience(t), s, a)
		require.Equal(t, line.Sight{Data: session.Data{Exists: true}, Unread: true}, get(t, states))
		d := get(t, states)
		require.True(t, d.Exists && !d.Unread)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, 8, tries)
	})
}

func TestFollowEndsWithItsContextAndItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, _ *zktest.Server, s *session.Session) {
		a := stand(t, s, "a")
		ctx, cancel := context.WithCancel(patience(t))
		states := line.Follow(ctx, s, a)
		get(t, states)
		cancel()
		_, open := <-states
		require.False(t, open)
		states = line.Follow(patience(t), s, a)
		require.NoError(t, s.Close(patience(t)))
		for range states { // until it closes
		}
		_, open = <-line.Follow(patience(t), s, a)
		require.False(t, open)
	})
}
