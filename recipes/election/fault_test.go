package election_test

// What goes wrong around a candidate: lost requests, errors, ended contexts, reconnections. How a
// term is lost: test/losses.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

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

func setACL(t testing.TB, s *session.Session, perms int32) error {
	_, err := s.SetACL(bubble.Minute(t), path, session.AnyoneACL(perms), -1)
	return err
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

// Whatever request or reply is lost, alone or with the connection, and whichever one it is: the
// leader says what it has to say and hands over. (Whole cycles: test/losses.)
func TestB41_AnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, _ int, strike func(s *session.Session)) {
		s := w.Session()
		strike(s)
		handOver(w, s)
	})
}

// handOver makes a leader of a session and has it hand over to the last of three others.
func handOver(t *bubble.World, s *session.Session) {
	others := t.Session()
	a, b, c := candidate(t, s, "a"), candidate(t, others, "b"), candidate(t, others, "c")
	term := leads(t, a)
	waits(t, b)
	waits(t, c)
	require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("here")))
	require.NoError(t, term.Ready(bubble.Minute(t)))
	l, err := b.Current(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, election.Leadership{Present: true, ID: "a", Token: term.Token(), Data: []byte("here"), Ready: true}, l)
	candidates, err := b.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[2].Path))
	require.ErrorIs(t, term.Err(), session.ErrReleased)
	next := bubble.Get(t, c.Leader(), "c leads")
	require.Greater(t, next.Token(), term.Token())
	eventually(t, "the others stand again", func() bool { return len(line(t, c)) == 3 })
	require.NoError(t, a.Close(bubble.Minute(t)))
	require.Equal(t, []string{"c", "b"}, line(t, c))
}

// Every call that waits returns promptly when its context ends, at whatever request it was, and
// whether that is ever answered or not. What it was about is done in the background, or not at all,
// and nothing is left over.
func TestCancelAtAnyRequest(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx context.Context, a *election.Election, term *election.Term, other string) error{
		"Proclaim": func(ctx context.Context, _ *election.Election, term *election.Term, _ string) error {
			return term.Proclaim(ctx, []byte("x"))
		},
		"TransferTo": func(ctx context.Context, _ *election.Election, term *election.Term, to string) error {
			return term.TransferTo(ctx, to)
		},
		"StandDown": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error {
			return a.Resign(ctx)
		},
		"Candidates": func(ctx context.Context, a *election.Election, _ *election.Term, _ string) error {
			_, err := a.Candidates(ctx)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, more := 1, true; more; k++ {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					more = false
					bubble.Run(t, func(t *bubble.World) {
						s := t.Session()
						a, b := candidate(t, s, "a"), candidate(t, t.Session(), "b")
						term := leads(t, a)
						waits(t, b)
						candidates, err := b.Candidates(bubble.Minute(t))
						require.NoError(t, err)
						more = cancelled(t, s, k, func(ctx context.Context) error { return call(ctx, a, term, candidates[1].Path) })
						require.NoError(t, a.Close(bubble.Minute(t)))
						eventually(t, "nothing of a is left", func() bool { return slices.Equal([]string{"b"}, line(t, b)) })
					})
				})
				require.Less(t, k, 50, "the call has an end")
			}
		})
	}
}

// cancelled ends the context of a call at its k-th request, which is answered a second later; false
// if it did not have that many.
func cancelled(t *bubble.World, s *session.Session, k int, call func(ctx context.Context) error) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("never mind")
	met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
		cancel(why)
		return zktest.Delay(time.Second)
	})
	began := time.Now()
	err := call(ctx)
	if !met() {
		cancel(nil)
		require.NoError(t, err)
		return false
	}
	require.Less(t, time.Since(began), time.Second, "promptly")
	if err != nil {
		require.ErrorIs(t, err, why)
	}
	return true
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

// written is what a candidate's znode is called, by layout.
var written = map[election.Layout]string{
	election.Troupe:                `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-n_\d{10}$`,
	election.Curator:               `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-latch-\d{10}$`,
	election.Kazoo:                 `/[0-9a-f]{32}__lock__\d{10}$`,
	election.LeaderElectionSupport: `/n_\d{10}$`,
}

// foreign are the layouts of others.
var foreign = []election.Layout{election.Curator, election.Kazoo, election.LeaderElectionSupport}

func TestWhatALayoutWrites(t *testing.T) {
	t.Parallel()
	for layout, pattern := range written {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				e := candidate(t, s, "host-1", election.WithLayout(layout))
				term := leads(t, e)
				require.Regexp(t, "^"+path+pattern, term.Path())
				data, _, err := s.Get(bubble.Minute(t), term.Path())
				require.NoError(t, err)
				if layout != election.Troupe {
					require.Equal(t, "host-1", string(data), "the ID, for others to read")
				}
				leader, err := candidate(t, t.Session(), "observer").Current(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, election.Leadership{Present: true, ID: "host-1", Token: term.Token()}, leader)
				leader, err = e.Current(bubble.Minute(t))
				require.NoError(t, err)
				require.True(t, leader.Self)
				require.NoError(t, e.Resign(bubble.Minute(t)))
				require.Empty(t, line(t, e))
			})
		})
	}
}

func TestWhatALayoutHasNoRoomFor(t *testing.T) {
	t.Parallel()
	for _, layout := range foreign {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a, b := candidate(t, s, "a", election.WithLayout(layout)), candidate(t, s, "b", election.WithLayout(layout))
				term := leads(t, a)
				waits(t, b)
				candidates, err := b.Candidates(bubble.Minute(t))
				require.NoError(t, err)
				before := t.Server.Dump()
				require.ErrorIs(t, term.Ready(bubble.Minute(t)), session.ErrUnsupported)
				require.ErrorIs(t, term.Proclaim(bubble.Minute(t), []byte("x")), session.ErrUnsupported)
				require.ErrorIs(t, term.TransferTo(bubble.Minute(t), candidates[1].Path), session.ErrUnsupported)
				require.Equal(t, before, t.Server.Dump(), "nothing was changed")
				require.NoError(t, term.Err())
			})
		})
	}
}

// A term that nobody receives is logged if others wait for it, with the place where Campaign was
// called; one that lasts is not.
func TestATermThatNobodyReceivesIsLogged(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		log := new(bubble.Log)
		e := candidate(t, t.Session(log.Option()), "a", election.WithWarnAfter(time.Minute))
		term, err := e.Lead(bubble.Minute(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, term.Resign(bubble.Minute(t)))
		synctest.Wait()
		require.Empty(t, log.Warnings(path))
		at := bubble.After(1)
		e.Campaign()
		time.Sleep(2 * time.Minute)
		require.Empty(t, log.Warnings(path), "nobody waits for it")
		candidate(t, t.Session(), "b").Campaign()
		time.Sleep(9 * time.Minute)
		require.Len(t, log.Warnings(path), 1)
		require.Contains(t, log.Warnings(path)[0], "not received, and others wait")
		require.Contains(t, log.Warnings(path)[0], "waiting=1")
		require.Contains(t, log.Warnings(path)[0], at)
		bubble.Get(t, e.Leader(), "the term")
	})
}
