package fence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func connected(t testing.TB, servers []string) *session.Session {
	t.Helper()
	s, err := session.Open(bubble.Minute(t), servers)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
	return s
}

// take makes a contender by hand: fence knows no recipes.
func take(t testing.TB, s *session.Session) fence.Sequencer {
	t.Helper()
	path, err := s.Create(bubble.Minute(t), "/locks/a/_c_b7f2bb0e-3b1d-4a0f-8f0a-1c51b1a3f7aa-lock-", nil, session.Ephemeral(), session.Sequential(), session.Parents())
	require.NoError(t, err)
	stat, exists, err := s.Exists(bubble.Minute(t), path)
	require.NoError(t, err)
	require.True(t, exists)
	return fence.Sequencer{Path: s.Path(path), Mode: fence.Exclusive, Token: stat.Czxid, SessionID: stat.EphemeralOwner}
}

func TestCheckAndFollow(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		checkAndFollow(t, t.Session(), t.Session())
	})
}

func TestCheckAndFollowOnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3).Servers()
	for i := range servers { // the checker's server is the leader once
		checker := (i + 1) % len(servers)
		checkAndFollow(t, connected(t, servers[i:i+1]), connected(t, servers[checker:checker+1]))
	}
}

func checkAndFollow(t testing.TB, holder, checker *session.Session) {
	q := take(t, holder)
	require.NoError(t, fence.Check(bubble.Minute(t), checker, q))
	followed, err := fence.Follow(bubble.Minute(t), checker, q)
	require.NoError(t, err)
	require.NoError(t, followed.Err())

	path, _ := holder.Relative(q.Path)
	_, err = holder.Set(bubble.Minute(t), path, []byte("changed"), -1)
	require.NoError(t, err)
	require.NoError(t, fence.Check(bubble.Minute(t), checker, q), "data say nothing about the possession")

	require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
	require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, q), fence.ErrFenced)
	bubble.Closes(t, followed.Done(), "what followed the possession")
	require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
	_, err = fence.Follow(bubble.Minute(t), checker, q)
	require.ErrorIs(t, err, fence.ErrFenced)
}

func TestCheckRefusesWhatIsNotThePossession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		q := take(t, holder)
		for name, change := range map[string]func(*fence.Sequencer){
			"another session's":    func(q *fence.Sequencer) { q.SessionID++ },
			"a newer one's":        func(q *fence.Sequencer) { q.Token++ },
			"another znode's":      func(q *fence.Sequencer) { q.Path += "0" },
			"in a line unheard of": func(q *fence.Sequencer) { q.Path = "/nowhere/x" },
		} {
			other := q
			change(&other)
			require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, other), fence.ErrFenced, name)
		}
		q.Token--
		require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, q), fence.ErrFenced, "an older one's: of another znode of that name")
	})
}

func TestCheckRefusesBadInput(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithNamespace("/app"))
		q := take(t, s)
		require.Equal(t, "/app/locks/a", q.Path[:12])
		require.NoError(t, fence.Check(bubble.Minute(t), s, q))
		require.ErrorContains(t, fence.Check(bubble.Minute(t), nil, q), "nil session")
		require.ErrorIs(t, fence.Check(bubble.Minute(t), s, fence.Sequencer{}), fence.ErrInvalid)
		outside := q
		outside.Path = "/application/locks/a/x"
		require.ErrorIs(t, fence.Check(bubble.Minute(t), s, outside), session.ErrInvalidPath)
		_, err := fence.Follow(bubble.Minute(t), s, outside)
		require.ErrorIs(t, err, session.ErrInvalidPath)
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		cancel()
		require.ErrorIs(t, fence.Check(ctx, s, q), context.Canceled)
		require.NoError(t, s.Close(bubble.Minute(t)))
		require.ErrorIs(t, fence.Check(bubble.Minute(t), s, q), session.ErrClosed)
	})
}

// A server that lags behind still shows a possession that is over, and not yet one that has begun.
// Check asks it to catch up first. A leader, which is the second of two here, does not do so at a
// sync.
func TestCheckIsNotFooledByALaggingServer(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				holder, checker := t.SessionOn(1-lagging), t.SessionOn(lagging)
				q := take(t, holder)
				require.NoError(t, fence.Check(bubble.Minute(t), checker, q))
				t.Server.Lag(lagging, 100)
				path, _ := holder.Relative(q.Path)
				require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
				_, exists, err := checker.Exists(bubble.Minute(t), path)
				require.NoError(t, err)
				require.True(t, exists, "the server lags behind")
				require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, q), fence.ErrFenced)

				t.Server.Lag(lagging, 100)
				next := take(t, holder)
				require.NoError(t, fence.Check(bubble.Minute(t), checker, next), "nor does it deny one that has just begun")
				t.Server.Lag(lagging, 100)
				next = take(t, holder)
				followed, err := fence.Follow(bubble.Minute(t), checker, next)
				require.NoError(t, err)
				synctest.Wait()
				require.NoError(t, followed.Err())
			}, zktest.WithServers(2))
		})
	}
}

func TestFollowEndsWithItsContextAndItsSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		q := take(t, holder)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bubble.Minute(t))
		first, err := fence.Follow(ctx, checker, q)
		require.NoError(t, err)
		second, err := fence.Follow(bubble.Minute(t), checker, q)
		require.NoError(t, err)
		cancel(why)
		<-first.Done()
		require.ErrorIs(t, context.Cause(first), why)
		require.NoError(t, checker.Close(bubble.Minute(t)))
		<-second.Done()
		require.ErrorIs(t, context.Cause(second), session.ErrClosed)
	})
}

// While it is disconnected, the following session knows nothing. What happened meanwhile it hears
// of afterwards, in its next epoch if need be.
func TestFollowThroughDisconnectionAndExpiry(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		stands, falls := take(t, holder), take(t, holder)
		following := func(q fence.Sequencer) context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			t.Cleanup(cancel)
			followed, err := fence.Follow(ctx, checker, q)
			require.NoError(t, err)
			return followed
		}
		one, other := following(stands), following(falls)
		heal := t.Server.Partition(checker.Status().SessionID)
		t.Server.Expire(checker.Status().SessionID)
		path, _ := holder.Relative(falls.Path)
		require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
		<-time.After(10 * time.Minute)
		require.NoError(t, other.Err())
		heal()
		<-other.Done()
		require.ErrorIs(t, context.Cause(other), fence.ErrFenced)
		require.NoError(t, one.Err())
		t.Server.Expire(holder.Status().SessionID)
		<-one.Done()
		require.ErrorIs(t, context.Cause(one), fence.ErrFenced)
	})
}

// A session that may not read the znode could not tell when it is gone, and says so.
func TestFollowTellsWhenItCannotKnow(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		q := take(t, holder)
		path, _ := holder.Relative(q.Path)
		_, err := holder.SetACL(bubble.Minute(t), path, session.AnyoneACL(session.PermAdmin), -1)
		require.NoError(t, err)
		require.NoError(t, fence.Check(bubble.Minute(t), checker, q), "that it stands, ZooKeeper tells everybody")
		followed, err := fence.Follow(bubble.Minute(t), checker, q)
		require.NoError(t, err)
		<-followed.Done()
		require.ErrorIs(t, context.Cause(followed), session.ErrNoAuth)
	}, zktest.WithVersion("3.8.0")) // since 3.8.4 exists needs READ
}
