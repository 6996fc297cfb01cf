package fence_test

// Check and Follow ask ZooKeeper whether a possession is valid.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestMain(m *testing.M) { tier.Main(m) }

func inBubble(t *testing.T, test func(t *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test, opts...)
}

// take makes a contender.
func take(t testing.TB, s *session.Session) fence.Sequencer {
	t.Helper()
	return at(t, s, "/locks/a/_c_b7f2bb0e-3b1d-4a0f-8f0a-1c51b1a3f7aa-lock-", fence.Exclusive, "", session.Sequential())
}

func TestCheckAndFollow(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		checkAndFollow(t, t.Session(), t.Session())
	})
}

func TestCheckAndFollowOnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3).Servers()
	for i := range servers { // the checker's server is the leader once
		checker := (i + 1) % len(servers)
		checkAndFollow(t, bubble.Open(t, servers[i:i+1]), bubble.Open(t, servers[checker:checker+1]))
	}
}

func checkAndFollow(t testing.TB, holder, checker *session.Session) {
	q := take(t, holder)
	require.NoError(t, fence.Check(bubble.Minute(t), checker, q))
	followed := must(fence.Follow(bubble.Minute(t), checker, q))
	require.NoError(t, followed.Err())

	path, _ := holder.Relative(q.Path)
	must(holder.Set(bubble.Minute(t), path, []byte("changed"), -1))
	require.NoError(t, fence.Check(bubble.Minute(t), checker, q), "data say nothing about the possession")

	require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
	require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, q), fence.ErrFenced)
	bubble.Closes(t, followed.Done(), "what followed the possession")
	require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
	require.ErrorIs(t, errOf(fence.Follow(bubble.Minute(t), checker, q)), fence.ErrFenced)
}

// A server that lags behind still shows a possession that has ended, and not yet one that has
// begun. Check has the server catch up first. A leader (the second of the two servers here) does
// not catch up at a sync.
func TestCheckIsNotFooledByALaggingServer(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *bubble.World) {
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
				followed := must(fence.Follow(bubble.Minute(t), checker, next))
				synctest.Wait()
				require.NoError(t, followed.Err())
			}, zktest.WithServers(2))
		})
	}
}

func TestFollowEndsWithItsContextAndItsSession(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		q := take(t, holder)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bubble.Minute(t))
		first := must(fence.Follow(ctx, checker, q))
		second := must(fence.Follow(bubble.Minute(t), checker, q))
		cancel(why)
		<-first.Done()
		require.ErrorIs(t, context.Cause(first), why)
		require.NoError(t, checker.Close(bubble.Minute(t)))
		<-second.Done()
		require.ErrorIs(t, context.Cause(second), session.ErrClosed)
	})
}

// at makes an ephemeral znode, and its sequencer: fence knows no recipes.
func at(t testing.TB, s *session.Session, path string, mode fence.Mode, data string, opts ...session.CreateOption) fence.Sequencer {
	t.Helper()
	path = must(s.Create(bubble.Minute(t), path, []byte(data), append(opts, session.Ephemeral(), session.Parents())...))
	stat, _, err := s.Exists(bubble.Minute(t), path)
	require.NoError(t, err)
	return fence.Sequencer{Path: s.Path(path), Mode: mode, Token: stat.Czxid, SessionID: stat.EphemeralOwner}
}

// Names come again in the layout Simple, and below a parent that was removed while it had no
// contenders.
func TestAPossessionThatIsOverIsNotConfirmedByTheNextOfTheSameName(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]fence.Mode{"a": fence.Exclusive, "x-72057594037927936-0000000000": fence.Shared, "n_0000000000": fence.Exclusive} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *bubble.World) {
				holder, checker := t.Session(), t.Session()
				first := at(t, holder, "/locks/"+name, mode, "")
				require.NoError(t, fence.Check(bubble.Minute(t), checker, first))
				followed := must(fence.Follow(bubble.Minute(t), checker, first))
				must(holder.Multi(bubble.Minute(t), session.DeleteOp("/locks/"+name, -1), session.CreateOp("/locks/"+name, nil, session.Ephemeral())))
				require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, first), fence.ErrFenced)
				<-followed.Done()
				require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
				require.ErrorIs(t, errOf(fence.Follow(bubble.Minute(t), checker, first)), fence.ErrFenced)
			})
		})
	}
}

// A writer that goes on as a reader has another znode, whose data has the token.
func TestAReaderThatTookItsOwnPlaceAsAWriterKeepsItsToken(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		writer := at(t, holder, "/locks/a/w", fence.Exclusive, "")
		reader := at(t, holder, "/locks/a/r", fence.Shared, fmt.Sprintf("placed %d\nmine", writer.Token))
		reader.Token = writer.Token
		require.NoError(t, fence.Check(bubble.Minute(t), checker, reader))
		followed := must(fence.Follow(bubble.Minute(t), checker, reader))
		must(holder.Set(bubble.Minute(t), "/locks/a/r", fmt.Appendf(nil, "unlock\nplaced %d\nmine", writer.Token), -1))
		require.NoError(t, fence.Check(bubble.Minute(t), checker, reader), "it is asked to give up, and has not")
		require.NoError(t, followed.Err())
		must(holder.Set(bubble.Minute(t), "/locks/a/r", nil, -1))
		require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, reader), fence.ErrFenced)
		<-followed.Done()
		reader.Mode = fence.Exclusive
		require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, reader), fence.ErrFenced)
	})
}

// A process that may not read a holder's znode can check the possession all the same, on each
// version of ZooKeeper, until the possession ends; but not if the znode's name may come again.
func TestCheckWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(t *bubble.World) {
				holder, reader := t.Session(), t.Session()
				hide := func(path string) {
					must(holder.SetACL(bubble.Minute(t), path, session.AnyoneACL(session.PermDelete), -1))
				}
				q := take(t, holder)
				hide(q.Path)
				require.NoError(t, fence.Check(bubble.Minute(t), reader, q))
				require.NoError(t, holder.Delete(bubble.Minute(t), q.Path, -1))
				require.ErrorIs(t, fence.Check(bubble.Minute(t), reader, q), fence.ErrFenced)

				q = at(t, holder, "/locks/simple", fence.Exclusive, "")
				id := reader.Status().SessionID
				heal := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict { // it is hidden before it is read
					if r.SessionID == id && r.Op != zktest.OpPing {
						return zktest.Delay(time.Second)
					}
					return zktest.Pass
				})
				followed := must(fence.Follow(bubble.Minute(t), reader, q))
				hide(q.Path)
				<-followed.Done()
				heal()
				require.ErrorIs(t, context.Cause(followed), session.ErrNoAuth, "Follow cannot tell when the possession has ended")
				if err := fence.Check(bubble.Minute(t), reader, q); version == "3.8.0" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, session.ErrNoAuth, "what cannot be known is told")
				}
			}, zktest.WithVersion(version))
		})
	}
}

// The checker's server is the leader, which answers a sync by itself, and may carry out a
// transaction later than the follower to which the holder is connected. If Check made a sync alone,
// some of a thousand rounds would fail, more on a busy machine.
func TestCheckAtTheLeaderIsNotStale(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	zk := ensemble.Start(t, 3)
	leader := zk.Leader()
	require.NotEqual(t, -1, leader)
	follower := (leader + 1) % 3
	holder, checker := bubble.Open(t, zk.Servers()[follower:follower+1]), bubble.Open(t, zk.Servers()[leader:leader+1])
	denied, confirmed := 0, 0
	const rounds = 1000
	for range rounds {
		q := take(t, holder)
		if fence.Check(bubble.Minute(t), checker, q) != nil {
			denied++
		}
		path, _ := holder.Relative(q.Path)
		require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
		if fence.Check(bubble.Minute(t), checker, q) == nil {
			confirmed++
		}
	}
	require.Zero(t, denied, "of %d possessions were denied though they are held", rounds)
	require.Zero(t, confirmed, "of %d possessions were confirmed though their end had been answered", rounds)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func errOf[T any](_ T, err error) error { return err }
