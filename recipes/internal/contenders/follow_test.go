package contenders_test

// One contender that is followed until it is gone.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestFollowUntilItIsGone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := stand(t, other, "a")
		states := contenders.Follow(bubble.Minute(t), s, a)
		d := bubble.Get(t, states)
		require.True(t, d.Exists && !d.Stale)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, other.Status().SessionID, d.Stat.EphemeralOwner)
		_, err := other.Set(bubble.Minute(t), a, []byte("b"), -1)
		require.NoError(t, err)
		require.Equal(t, "b", string(bubble.Get(t, states).Bytes))
		require.NoError(t, other.Delete(bubble.Minute(t), a, -1))
		require.False(t, bubble.Get(t, states).Exists)
		_, open := <-states
		require.False(t, open)

		require.False(t, bubble.Get(t, contenders.Follow(bubble.Minute(t), s, a)).Exists, "it was gone already")
	})
}

func TestFollowTellsStalenessAndGoesOnInTheNextEpoch(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := stand(t, other, "a")
		states := contenders.Follow(t.Context(), s, a)
		require.False(t, bubble.Get(t, states).Stale)
		heal := t.Server.Partition(s.Status().SessionID)
		d := bubble.Get(t, states)
		require.True(t, d.Stale && d.Exists)
		_, err := other.Set(bubble.Minute(t), a, []byte("b"), -1)
		require.NoError(t, err)
		t.Server.Expire(s.Status().SessionID)
		<-time.After(10 * time.Minute)
		heal()
		for d.Stale {
			d = bubble.Get(t, states)
		}
		require.Equal(t, "b", string(d.Bytes))
		t.Server.Expire(other.Status().SessionID)
		require.False(t, bubble.Get(t, states).Exists)
	})
}

// What can't be read is said to be there, once, and is read again, with pauses.
func TestFollowTriesAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := stand(t, s, "a")
		tries := 0
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrNoAuth)
				}
			}
			return zktest.Pass
		})()
		states := contenders.Follow(bubble.Minute(t), s, a)
		require.Equal(t, contenders.Observation{Data: session.Data{Exists: true}, Unread: true}, bubble.Get(t, states))
		d := bubble.Get(t, states)
		require.True(t, d.Exists && !d.Unread)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, 8, tries)
	})
}

func TestFollowEndsWithItsContextAndItsSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := stand(t, s, "a")
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		states := contenders.Follow(ctx, s, a)
		bubble.Get(t, states)
		cancel()
		_, open := <-states
		require.False(t, open)
		states = contenders.Follow(bubble.Minute(t), s, a)
		require.NoError(t, s.Close(bubble.Minute(t)))
		for range states { // until it closes
		}
		_, open = <-contenders.Follow(bubble.Minute(t), s, a)
		require.False(t, open)
	})
}
