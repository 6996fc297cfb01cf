package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
			bubble(t, func(t *testing.T, z *zktest.Server) {
				a, b := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "b")
				first := leads(t, a)
				waits(t, b)
				z.Kill(0)
				closes(t, first.Done(), "a's term ends by its own clock")
				require.ErrorIs(t, first.Err(), session.ErrUntrusted)
				<-time.After(5 * time.Minute)
				nothing(t, a.Leader(), "nobody leads while nobody can know")
				nothing(t, b.Leader(), "nobody leads while nobody can know")
				if lose {
					z.LoseSessions()
				}
				require.NoError(t, z.Restart(0))
				second := get(t, merge(t, a.Leader(), b.Leader()), "somebody leads again")
				require.Greater(t, second.Token(), first.Token())
				require.NotEqual(t, first.Path(), second.Path())
				require.True(t, second.Valid())
				synctest.Wait()
				eventually(t, "both stand, and no znode is left over", func() bool { return len(line(t, a)) == 2 })
				nothing(t, a.Leader(), "one leads")
				nothing(t, b.Leader(), "one leads")
			})
		})
	}
}

// B33: candidates that reconnect together come to rest with few new znodes.
func TestB33_ReconnectionConverges(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		var all []*election.Election
		for _, id := range []string{"a", "b", "c", "d"} {
			all = append(all, candidate(t, connected(t, z), id))
		}
		first := leads(t, all[0])
		for _, e := range all[1:] {
			waits(t, e)
		}
		z.Kill(0)
		closes(t, first.Done(), "the term ends by its own clock")
		z.ClearJournal()
		require.NoError(t, z.Restart(0))
		get(t, all[1].Leader(), "the next one leads: it has kept its place")
		<-time.After(5 * time.Minute)
		created := 0
		for _, q := range z.Journal() {
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
			bubble(t, func(t *testing.T, z *zktest.Server) {
				a, b := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "b")
				term := leads(t, a)
				waits(t, b)
				defer z.Intercept(first(zktest.OpDelete, verdict))()
				require.NoError(t, a.Resign(patience(t)), "confirmed all the same")
				require.ErrorIs(t, term.Err(), session.ErrReleased)
				get(t, b.Leader(), "b leads")
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
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a := candidate(t, s, "a")
		first := leads(t, a)
		heal := z.Partition(s.Status().SessionID)
		closes(t, first.Done(), "the term")
		admin := connected(t, z)
		eventually(t, "the parent is gone", func() bool {
			_, exists, err := admin.Exists(patience(t), path)
			require.NoError(t, err)
			return !exists
		})
		heal()
		second := get(t, a.Leader(), "a leads again")
		require.Greater(t, second.Token(), first.Token())
	}, zktest.WithContainerCheck(time.Second))
}

// B36: the leader goes between the listing and the reading.
func TestB36_CurrentSkipsALeaderThatHasGone(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		sa := connected(t, z)
		a, b, reader := candidate(t, sa, "a"), candidate(t, connected(t, z), "b"), candidate(t, connected(t, z), "reader")
		term := leads(t, a)
		waits(t, b)
		defer z.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == term.Path() {
				z.Expire(sa.Status().SessionID)
			}
			return zktest.Pass
		})()
		l, err := reader.Current(patience(t))
		require.NoError(t, err)
		require.Equal(t, "b", l.ID)
	})
}

// B37, by which a term that was lost is followed by another without a call by the application.
func TestB37_CampaignAndRunGoOnAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a := candidate(t, s, "a")
		a.Campaign()
		var last *election.Term
		for range 3 {
			term := get(t, a.Leader(), "a leads")
			if last != nil {
				closes(t, last.Done(), "the term before")
				require.ErrorIs(t, last.Err(), session.ErrLost)
				require.Greater(t, term.Token(), last.Token())
			}
			last = term
			z.Expire(s.Status().SessionID)
		}
		require.NoError(t, a.Resign(patience(t)))

		ctx, cancel := context.WithCancel(patience(t))
		terms := 0
		err := a.Run(ctx, func(inner context.Context, term *election.Term) error {
			require.Greater(t, term.Token(), last.Token())
			last = term
			if terms++; terms == 3 {
				cancel()
			} else {
				z.Expire(s.Status().SessionID)
			}
			closes(t, inner.Done(), "the term's context")
			return context.Cause(inner)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, terms)
	})
}

// B37, by which an error that standing again can't mend is told.
func TestB37_ATerminalFailureIsObservable(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		admin := connected(t, z)
		require.NoError(t, admin.EnsurePath(patience(t), path))
		require.NoError(t, setACL(t, admin, session.PermRead))
		a := candidate(t, connected(t, z), "a")
		standing := a.Standing(patience(t))
		_, err := a.Lead(patience(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		require.NoError(t, a.Err(), "a caller's failure is the caller's")
		a.Campaign()
		closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), session.ErrNoAuth)
		var last election.Standing
		for s := range standing {
			last = s
		}
		require.Equal(t, election.Failed, last.Phase)
		_, err = a.Lead(patience(t))
		require.ErrorIs(t, err, session.ErrNoAuth, "it is over")
		require.ErrorIs(t, a.Run(patience(t), idle), session.ErrNoAuth)
		require.NoError(t, a.Close(patience(t)))
	})
}

func setACL(t *testing.T, s *session.Session, perms session.Perms) error {
	_, err := s.SetACL(patience(t), path, session.AnyoneACL(perms), -1)
	return err
}

// B38: the term is lost before anybody has received it.
func TestB38_ADeadTermIsNeverDelivered(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a := candidate(t, s, "a")
		a.Campaign()
		standing := a.Standing(patience(t))
		for range 5 {
			await(t, standing, "it leads, and nobody listens", func(s election.Standing) bool { return s.Phase == election.Leading })
			z.Expire(s.Status().SessionID)
			await(t, standing, "it has lost", func(s election.Standing) bool { return s.Phase != election.Leading })
		}
		term := get(t, a.Leader(), "a leads")
		require.NoError(t, term.Err())
		require.True(t, term.Valid())
		nothing(t, a.Leader(), "the others were withdrawn")
	})
}

// B39: Close and the end of the caller's context come while the creation is under way.
func TestB39_CloseDuringTheCreationLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		watcher := candidate(t, connected(t, z), "watcher")
		a, b := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "b")
		remove := z.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpCreate || q.Op == zktest.OpCreate2 {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		defer remove()
		a.Campaign()
		ctx, cancel := context.WithTimeout(patience(t), 500*time.Millisecond)
		defer cancel()
		_, err := b.Lead(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, a.Close(patience(t)))
		require.NoError(t, b.Close(patience(t)))
		require.Empty(t, line(t, watcher))
		<-time.After(time.Minute)
		require.Empty(t, line(t, watcher))
		nothing(t, a.Leader(), "no term")
	})
}

// B40: the session of a candidate that waits dies. It is neither forgotten in the line nor takes
// itself for the leader.
func TestB40_AWaiterThatExpiresStandsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		sb := connected(t, z)
		a, b, c := candidate(t, connected(t, z), "a"), candidate(t, sb, "b"), candidate(t, connected(t, z), "c")
		first := leads(t, a)
		waits(t, b)
		waits(t, c)
		z.Expire(sb.Status().SessionID)
		eventually(t, "b stands again, behind c", func() bool {
			ids := line(t, a)
			return len(ids) == 3 && ids[1] == "c" && ids[2] == "b"
		})
		nothing(t, b.Leader(), "b waits")
		require.NoError(t, a.Resign(patience(t)))
		second := get(t, c.Leader(), "c leads")
		nothing(t, b.Leader(), "b waits")
		require.NoError(t, c.Resign(patience(t)))
		third := get(t, b.Leader(), "b leads")
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
			bubble(t, func(t *testing.T, z *zktest.Server) {
				s := connected(t, z)
				a := candidate(t, s, "a")
				term := leads(t, a)
				<-time.After(time.Minute)
				require.True(t, term.Valid())
				began := time.Now()
				end := fault(z)
				closes(t, term.Done(), "the term")
				require.ErrorIs(t, term.Err(), session.ErrUntrusted)
				require.Less(t, time.Since(began), s.Status().Timeout)
				require.False(t, term.Valid())
				end()
				require.Greater(t, get(t, a.Leader(), "a leads again").Token(), term.Token())
			})
		})
	}
}

// B46: started before ZooKeeper can be reached.
func TestB46_ElectsOnceZooKeeperIsThere(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		z.Kill(0)
		a := candidate(t, open(t, z), "a")
		seen := a.Observe(t.Context())
		a.Campaign()
		require.Equal(t, election.Leadership{Stale: true}, get(t, seen, "nobody knows who leads"))
		await(t, a.Standing(patience(t)), "a stands, as far as it knows", func(s election.Standing) bool {
			return s == election.Standing{Phase: election.Offering, Stale: true}
		})
		<-time.After(10 * time.Minute)
		nothing(t, a.Leader(), "nobody leads")
		require.NoError(t, z.Restart(0))
		term := get(t, a.Leader(), "a leads")
		l := await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present })
		require.Equal(t, term.Token(), l.Token)
		require.True(t, l.Self)
	})
}
