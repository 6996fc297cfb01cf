package docs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The lines of java-recipes.md.
func TestJavaRecipes(t *testing.T) {
	t.Parallel()
	table(t, "java-recipes.md", map[string]line{
		"new WriteLock(zookeeper, dir, acl)": javaNewLock, "lock()": javaLock, "LockListener.lockAcquired()": javaLock, "LockListener.lockReleased()": javaUnlock,
		"unlock()": javaUnlock, "isOwner()": javaUnlock, "getId()": javaNewLock, "close()": javaClose,
		"retryOperation": javaRetry, "setRetryDelay": javaRetry, "ensurePathExists": javaEnsure,
		"new LeaderElectionSupport()": javaElection, "start()": javaElection, "stop()": javaStop, "getLeaderHostName()": javaElection, "addListener": javaStates,
		"START": javaStates, "OFFER": javaStates, "DETERMINE": javaStates, "READY": javaStates, "ELECTED": javaStates, "FAILED": javaFailed, "STOP": javaStop,
		"OFFER_START": javaStates, "OFFER_COMPLETE": javaStates, "DETERMINE_START": javaStates, "DETERMINE_COMPLETE": javaStates,
		"READY_START": javaStates, "READY_COMPLETE": javaStates, "ELECTED_START": javaStates, "ELECTED_COMPLETE": javaStates,
		"STOP_START": javaStop, "STOP_COMPLETE": javaStop,
		"new DistributedQueue(zookeeper, dir, acl)": javaQueue, "offer(data)": javaQueue, "element()": javaQueue, "peek()": javaQueue,
		"take()": javaTake, "remove()": javaRemove, "poll()": javaRemove,
	})
}

func javaNewLock(t *testing.T) {
	_, s := connected(t)
	l, err := lock.New(s, "/dir", lock.WithLayout(lock.JavaWriteLock))
	require.NoError(t, err)
	require.Regexp(t, `^/dir/x--?\d+-\d{10}$`, granted(t, l).Path())
}

func javaLock(t *testing.T) {
	_, s := connected(t)
	l := handle(t, s)
	l.Acquire()
	require.True(t, get(t, l.Acquired()).Valid())
}

func javaUnlock(t *testing.T) {
	srv, s := connected(t)
	l := handle(t, s)
	l.Acquire()
	g := get(t, l.Acquired())
	require.True(t, g.Valid())
	require.NoError(t, l.Release(t.Context()))
	get(t, g.Done())
	require.False(t, g.Valid())
	require.ErrorIs(t, g.Err(), session.ErrReleased)

	l.Acquire()
	g = get(t, l.Acquired())
	srv.Expire(s.Status().SessionID)
	get(t, g.Done())
	require.ErrorIs(t, g.Err(), session.ErrLost, "of which WriteLock says nothing")
}

func javaClose(t *testing.T) {
	_, s := connected(t)
	l := handle(t, s)
	l.Acquire()
	g := get(t, l.Acquired())
	require.NoError(t, l.Close(t.Context()))
	require.ErrorIs(t, g.Err(), session.ErrClosed)
}

// Nine repetitions of a read whose answer is lost each time: ten tries, in virtual time.
func javaRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		const delay = 500 * time.Millisecond
		s, err := session.Open(t.Context(), srv.Hosts(), session.WithDialer(srv.Dialer()), session.WithRetry(session.RetryGrowing(9, delay)))
		require.NoError(t, err)
		defer s.Close(context.Background())
		var tries []time.Time
		srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op != zktest.OpExists {
				return zktest.Pass
			}
			tries = append(tries, time.Now())
			return zktest.CutBefore
		})
		_, _, err = s.Exists(t.Context(), "/x")
		require.ErrorIs(t, err, session.ErrSuspended)
		require.Len(t, tries, 10)
		for i := 1; i < len(tries); i++ {
			require.GreaterOrEqual(t, tries[i].Sub(tries[i-1]), time.Duration(i-1)*delay)
		}
	})
}

func javaEnsure(t *testing.T) {
	_, s := connected(t)
	require.NoError(t, s.EnsurePath(t.Context(), "/a/b/c"))
	_, exists, err := s.Exists(t.Context(), "/a/b/c")
	require.NoError(t, err)
	require.True(t, exists)
}

func candidate(t *testing.T, s *session.Session, host string, opts ...election.Option) *election.Election {
	t.Helper()
	e, err := election.New(s, "/election", append(opts, election.WithID(host))...)
	require.NoError(t, err)
	return e
}

func javaElection(t *testing.T) {
	_, s := connected(t)
	e := candidate(t, s, "host-1", election.WithLayout(election.LeaderElectionSupport))
	_, err := e.Current(t.Context())
	require.ErrorIs(t, err, election.ErrNoLeader)
	e.Campaign()
	term := get(t, e.Leader())
	require.Regexp(t, `^/election/n_\d{10}$`, term.Path())
	leader, err := e.Current(t.Context())
	require.NoError(t, err)
	require.Equal(t, "host-1", leader.ID)
}

// Every state, in the order in which they come: the server is slow, so that none is replaced before
// it is received.
func javaStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		open := func() *session.Session {
			s, err := session.Open(t.Context(), srv.Hosts(), session.WithDialer(srv.Dialer()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close(context.Background()) })
			return s
		}
		first, second := candidate(t, open(), "first"), candidate(t, open(), "second")
		first.Campaign()
		term := get(t, first.Leader())
		defer srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect || r.Op == zktest.OpPing {
				return zktest.Pass
			}
			return zktest.Delay(100 * time.Millisecond)
		})()
		var seen []election.Standing
		listener := second.Standing(t.Context())
		phase := func() election.Standing {
			s := get(t, listener)
			seen = append(seen, s)
			return s
		}
		require.Equal(t, election.Idle, phase().Phase)
		second.Campaign()
		for phase().Phase != election.Waiting {
		}
		require.Equal(t, 1, seen[len(seen)-1].Ahead)
		require.NoError(t, term.Resign(t.Context()))
		for phase().Phase != election.Leading {
		}
		require.Equal(t, "second", func() string { <-second.Leader(); return second.ID() }())
		var phases []election.Phase
		for _, s := range seen {
			phases = append(phases, s.Phase)
		}
		phases = slices.Compact(phases)
		require.Equal(t, []election.Phase{election.Idle, election.Offering, election.Determining, election.Waiting}, phases[:4])
		if phases[4] == election.Determining { // anew, if it could not be sure that nobody else is ahead
			phases = slices.Delete(phases, 4, 5)
		}
		require.Equal(t, []election.Phase{election.Leading}, phases[4:])
	})
}

func javaFailed(t *testing.T) {
	_, s := connected(t)
	_, err := s.Create(t.Context(), "/election", nil, session.NodeACL(session.AnyoneACL(session.PermRead)...))
	require.NoError(t, err)
	e := candidate(t, s, "host")
	listener := e.Standing(t.Context())
	e.Campaign()
	until(t, listener, func(s election.Standing) bool { return s.Phase == election.Failed })
	_, open := <-listener
	require.False(t, open)
	require.ErrorIs(t, e.Err(), session.ErrNoAuth)
}

func javaStop(t *testing.T) {
	_, s := connected(t)
	e := candidate(t, s, "host")
	listener := e.Standing(t.Context())
	e.Campaign()
	term := get(t, e.Leader())
	require.NoError(t, e.Resign(t.Context()))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	e.Campaign()
	term = get(t, e.Leader())
	require.NoError(t, e.Close(t.Context()))
	require.ErrorIs(t, term.Err(), session.ErrClosed)
	until(t, listener, func(s election.Standing) bool { return s.Phase == election.Stopped })
	_, open := <-listener
	require.False(t, open)
}

func javaQueue(t *testing.T) {
	_, s := connected(t)
	q, err := queue.New(s, "/queue")
	require.NoError(t, err)
	_, err = q.Peek(t.Context())
	require.ErrorIs(t, err, queue.ErrEmpty)
	_, err = q.Put(t.Context(), []byte("first"))
	require.NoError(t, err)
	_, err = q.PutAll(t.Context(), [][]byte{[]byte("second"), []byte("third")})
	require.NoError(t, err)
	head, err := q.Peek(t.Context())
	require.NoError(t, err)
	require.Equal(t, "first", string(head.Data))
}

func javaTake(t *testing.T) {
	_, s := connected(t)
	q, err := queue.New(s, "/queue")
	require.NoError(t, err)
	taken := make(chan *queue.Item, 1)
	go func() {
		i, err := q.Take(t.Context())
		if err != nil {
			t.Error(err)
		}
		taken <- i
	}()
	_, err = q.Put(t.Context(), []byte("first"))
	require.NoError(t, err)
	item := get(t, taken)
	require.Equal(t, "first", string(item.Data()))
	require.NoError(t, item.Ack(t.Context()))
	_, err = q.Peek(t.Context())
	require.ErrorIs(t, err, queue.ErrEmpty)
}

func javaRemove(t *testing.T) {
	_, s := connected(t)
	q, err := queue.New(s, "/queue")
	require.NoError(t, err)
	none := errors.New("nothing in time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, none)
	defer cancel()
	_, err = q.Take(ctx)
	require.ErrorIs(t, err, none)
}
