package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B32: ZooKeeper is down for longer than the sessions last, comes back, and the old znodes still
// stand. Nobody leads on an old one, and no two terms are ever valid at a time.
func TestB32_NobodyLeadsOnAnOldZnode(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]bool{"sessions kept": false, "sessions lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
				first := leads(t, a)
				waits(t, b)
				t.Server.Kill(0)
				bubble.Closes(t, first.Done(), "a's term ends by its own clock")
				require.ErrorIs(t, first.Err(), session.ErrUntrusted)
				<-time.After(5 * time.Minute)
				bubble.Never(t, a.Leader(), "nobody leads while nobody can know")
				bubble.Never(t, b.Leader(), "nobody leads while nobody can know")
				if lose {
					t.Server.LoseSessions()
				}
				require.NoError(t, t.Server.Restart(0))
				second := bubble.Get(t, merge(t, a.Leader(), b.Leader()), "somebody leads again")
				require.Greater(t, second.Token(), first.Token())
				require.NotEqual(t, first.Path(), second.Path())
				require.True(t, second.Valid())
				synctest.Wait()
				eventually(t, "both stand, and no znode is left over", func() bool { return len(line(t, a)) == 2 })
				bubble.Never(t, a.Leader(), "one leads")
				bubble.Never(t, b.Leader(), "one leads")
			})
		})
	}
}

// B33: candidates that reconnect together come to rest with few new znodes.
func TestB33_ReconnectionConverges(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var all []*election.Election
		for _, id := range []string{"a", "b", "c", "d"} {
			all = append(all, candidate(t, t.Session(), id))
		}
		first := leads(t, all[0])
		for _, e := range all[1:] {
			waits(t, e)
		}
		t.Server.Kill(0)
		bubble.Closes(t, first.Done(), "the term ends by its own clock")
		t.Server.ClearJournal()
		require.NoError(t, t.Server.Restart(0))
		bubble.Get(t, all[1].Leader(), "the next one leads: it has kept its place")
		<-time.After(5 * time.Minute)
		created := 0
		for _, q := range t.Server.Journal() {
			makes := q.Op == zktest.OpCreate || q.Op == zktest.OpCreate2
			for _, part := range q.Ops { // a transaction that only checks proves a quorum, and makes nothing
				makes = makes || part.Op == jute.OpCreate
			}
			if makes {
				created++
			}
		}
		require.LessOrEqual(t, created, 1, "only the one who lost its term makes a new znode")
		require.Len(t, line(t, all[0]), 4)
	})
}

// B34: the connection goes with the deletion of the old znode, and the session lives on. The znode
// goes all the same, and somebody leads.
func TestB34_ALostDeletionIsMadeUpFor(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]zktest.Verdict{"request lost": zktest.CutBefore, "reply lost": zktest.CutAfter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
				term := leads(t, a)
				waits(t, b)
				defer t.Server.Intercept(first(zktest.OpDelete, verdict))()
				require.NoError(t, a.Resign(bubble.Minute(t)), "confirmed all the same")
				require.ErrorIs(t, term.Err(), session.ErrReleased)
				bubble.Get(t, b.Leader(), "b leads")
				require.Equal(t, []string{"b"}, line(t, a))
			})
		})
	}
}

// first gives the first request of a kind a verdict.
func first(op zktest.Op, verdict zktest.Verdict) func(*zktest.Request) zktest.Verdict {
	done := false
	return func(q *zktest.Request) zktest.Verdict { // called by one connection at a time in these tests
		if done || q.Op != op {
			return zktest.Pass
		}
		done = true
		return verdict
	}
}

// B35: the parent is reaped while the only candidate is disconnected.
func TestB35_TheParentIsReapedWhileDisconnected(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := candidate(t, s, "a")
		first := leads(t, a)
		heal := t.Server.Partition(s.Status().SessionID)
		bubble.Closes(t, first.Done(), "the term")
		admin := t.Session()
		eventually(t, "the parent is gone", func() bool {
			_, exists, err := admin.Exists(bubble.Minute(t), path)
			require.NoError(t, err)
			return !exists
		})
		heal()
		second := bubble.Get(t, a.Leader(), "a leads again")
		require.Greater(t, second.Token(), first.Token())
	}, zktest.WithContainerCheck(time.Second))
}

// B36: the leader goes between the listing and the reading.
func TestB36_CurrentSkipsALeaderThatHasGone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sa := t.Session()
		a, b, reader := candidate(t, sa, "a"), candidate(t, t.Session(), "b"), candidate(t, t.Session(), "reader")
		term := leads(t, a)
		waits(t, b)
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == term.Path() {
				t.Server.Expire(sa.Status().SessionID)
			}
			return zktest.Pass
		})()
		l, err := reader.Current(bubble.Minute(t))
		require.NoError(t, err)
		require.Equal(t, "b", l.ID)
	})
}

// B37, by which a term that was lost is followed by another without a call by the application.
func TestB37_CampaignAndRunGoOnAfterExpiry(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := candidate(t, s, "a")
		a.Campaign()
		var last *election.Term
		for range 3 {
			term := bubble.Get(t, a.Leader(), "a leads")
			if last != nil {
				bubble.Closes(t, last.Done(), "the term before")
				require.ErrorIs(t, last.Err(), session.ErrLost)
				require.Greater(t, term.Token(), last.Token())
			}
			last = term
			t.Server.Expire(s.Status().SessionID)
		}
		require.NoError(t, a.Resign(bubble.Minute(t)))

		ctx, cancel := context.WithCancel(bubble.Minute(t))
		terms := 0
		err := a.Run(ctx, func(inner context.Context, term *election.Term) error {
			require.Greater(t, term.Token(), last.Token())
			last = term
			if terms++; terms == 3 {
				cancel()
			} else {
				t.Server.Expire(s.Status().SessionID)
			}
			bubble.Closes(t, inner.Done(), "the term's context")
			return context.Cause(inner)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, terms)
	})
}

// B37, by which an error that standing again can't mend is told.
func TestB37_ATerminalFailureIsObservable(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		admin := t.Session()
		require.NoError(t, admin.EnsurePath(bubble.Minute(t), path))
		require.NoError(t, setACL(t, admin, session.PermRead))
		a := candidate(t, t.Session(), "a")
		standing := a.Standing(bubble.Minute(t))
		_, err := a.Lead(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		require.NoError(t, a.Err(), "a caller's failure is the caller's")
		a.Campaign()
		bubble.Closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), session.ErrNoAuth)
		var last election.Standing
		for s := range standing {
			last = s
		}
		require.Equal(t, election.Failed, last.Phase)
		_, err = a.Lead(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth, "it is over")
		require.ErrorIs(t, a.Run(bubble.Minute(t), idle), session.ErrNoAuth)
		require.NoError(t, a.Close(bubble.Minute(t)))
	})
}

func setACL(t testing.TB, s *session.Session, perms session.Perms) error {
	_, err := s.SetACL(bubble.Minute(t), path, session.AnyoneACL(perms), -1)
	return err
}

// B38: the term is lost before anybody has received it.
func TestB38_ADeadTermIsNeverDelivered(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a := candidate(t, s, "a")
		a.Campaign()
		standing := a.Standing(bubble.Minute(t))
		for range 5 {
			bubble.Await(t, standing, "it leads, and nobody listens", func(s election.Standing) bool { return s.Phase == election.Leading })
			t.Server.Expire(s.Status().SessionID)
			bubble.Await(t, standing, "it has lost", func(s election.Standing) bool { return s.Phase != election.Leading })
		}
		term := bubble.Get(t, a.Leader(), "a leads")
		require.NoError(t, term.Err())
		require.True(t, term.Valid())
		bubble.Never(t, a.Leader(), "the others were withdrawn")
	})
}

// B39: Close and the end of the caller's context come while the creation is under way.
func TestB39_CloseDuringTheCreationLeavesNothing(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		watcher := candidate(t, t.Session(), "watcher")
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpCreate || q.Op == zktest.OpCreate2 {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		defer remove()
		a.Campaign()
		ctx, cancel := context.WithTimeout(bubble.Minute(t), 500*time.Millisecond)
		defer cancel()
		_, err := b.Lead(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, a.Close(bubble.Minute(t)))
		require.NoError(t, b.Close(bubble.Minute(t)))
		require.Empty(t, line(t, watcher))
		<-time.After(time.Minute)
		require.Empty(t, line(t, watcher))
		bubble.Never(t, a.Leader(), "no term")
	})
}

// B40: the session of a candidate that waits dies. It is neither forgotten in the line nor takes
// itself for the leader.
func TestB40_AWaiterThatExpiresStandsAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sb := t.Session()
		a, b, c := candidate(t, t.Session(), "a"), candidate(t, sb, "b"), candidate(t, t.Session(), "c")
		first := leads(t, a)
		waits(t, b)
		waits(t, c)
		t.Server.Expire(sb.Status().SessionID)
		eventually(t, "b stands again, behind c", func() bool {
			ids := line(t, a)
			return len(ids) == 3 && ids[1] == "c" && ids[2] == "b"
		})
		bubble.Never(t, b.Leader(), "b waits")
		require.NoError(t, a.Resign(bubble.Minute(t)))
		second := bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b waits")
		require.NoError(t, c.Resign(bubble.Minute(t)))
		third := bubble.Get(t, b.Leader(), "b leads")
		require.Less(t, first.Token(), second.Token())
		require.Less(t, second.Token(), third.Token())
	})
}

// B44: requests that hang can't outlive the lease: a server that stops answering ends the term by
// the leader's own clock, and a follower that has lost its leader but answers pings does as well.
func TestB44_AHangingServerEndsTheTerm(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*zktest.Server) func(){
		"stopped":  func(z *zktest.Server) func() { z.Stop(0); return func() { z.Continue(0) } },
		"isolated": func(z *zktest.Server) func() { return z.Isolate() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a := candidate(t, s, "a")
				term := leads(t, a)
				<-time.After(time.Minute)
				require.True(t, term.Valid())
				began := time.Now()
				end := fault(t.Server)
				bubble.Closes(t, term.Done(), "the term")
				require.ErrorIs(t, term.Err(), session.ErrUntrusted)
				require.Less(t, time.Since(began), s.Status().Timeout)
				require.False(t, term.Valid())
				end()
				require.Greater(t, bubble.Get(t, a.Leader(), "a leads again").Token(), term.Token())
			})
		})
	}
}

// B46: started before ZooKeeper can be reached.
func TestB46_ElectsOnceZooKeeperIsThere(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		t.Server.Kill(0)
		a := candidate(t, t.Unconnected(), "a")
		seen := a.Observe(t.Context())
		a.Campaign()
		require.Equal(t, election.Leadership{Stale: true}, bubble.Get(t, seen, "nobody knows who leads"))
		bubble.Await(t, a.Standing(bubble.Minute(t)), "a stands, as far as it knows", func(s election.Standing) bool {
			return s == election.Standing{Phase: election.Offering, Stale: true}
		})
		<-time.After(10 * time.Minute)
		bubble.Never(t, a.Leader(), "nobody leads")
		require.NoError(t, t.Server.Restart(0))
		term := bubble.Get(t, a.Leader(), "a leads")
		l := bubble.Await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present })
		require.Equal(t, term.Token(), l.Token)
		require.True(t, l.Self)
	})
}
