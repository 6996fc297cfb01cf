package election_test

// Faults around a candidate: lost requests, errors, ended contexts. How a term is lost, and what
// reconnections keep, is in test/losses.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B37: a candidate ends, with the cause, by an error that campaigning again would not fix.
func TestB37_ATerminalFailureIsObservable(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		admin := t.Session()
		require.NoError(t, admin.EnsurePath(bubble.Minute(t), path))
		must(admin.SetACL(bubble.Minute(t), path, session.AnyoneACL(session.PermRead), -1))
		a := candidate(t, t.Session(), "a")
		states := a.ObserveStatus(bubble.Minute(t))
		_, err := a.Lead(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		require.NoError(t, a.Err(), "only the caller's candidacy has failed")
		a.Campaign()
		bubble.Closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), session.ErrNoAuth)
		var last election.Status
		for s := range states {
			last = s
		}
		require.Equal(t, election.Failed, last.State)
		_, err = a.Lead(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		require.ErrorIs(t, a.Run(bubble.Minute(t), idle), session.ErrNoAuth)
		require.NoError(t, a.Close(bubble.Minute(t)))
	})
}

// B46: a candidate campaigns before ZooKeeper can be reached.
func TestB46_ElectsOnceZooKeeperIsThere(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		t.Server.Kill(0)
		a := candidate(t, t.Unconnected(), "a")
		seen := a.Observe(t.Context())
		a.Campaign()
		require.Equal(t, election.Leadership{Stale: true}, bubble.Get(t, seen, "the leader is not known"))
		bubble.Await(t, a.ObserveStatus(bubble.Minute(t)), "a offers itself, as far as it knows", func(s election.Status) bool {
			return s == election.Status{State: election.Offering, Stale: true}
		})
		time.Sleep(10 * time.Minute)
		bubble.Never(t, a.Leader(), "no leader")
		require.NoError(t, t.Server.Restart(0))
		term := bubble.Get(t, a.Leader(), "a leads")
		require.True(t, sees(t, seen, term.Token()).Self)
	})
}

// B41: any one request or reply is lost, alone or with the connection. The leader proclaims and
// hands over all the same. (Whole cycles are in test/losses.)
func TestB41_AnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(s *session.Session)) {
		s, others := t.Session(), t.Session()
		strike(s)
		a, b, c := candidate(t, s, "a"), candidate(t, others, "b"), candidate(t, others, "c")
		term, last := queued(t, a, b, c)
		require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("here")))
		require.NoError(t, term.Ready(bubble.Minute(t)))
		l := must(b.Current(bubble.Minute(t)))
		require.Equal(t, election.Leadership{Present: true, Name: "a", Token: term.Token(), Data: []byte("here"), Ready: true}, l)
		require.NoError(t, term.TransferTo(bubble.Minute(t), last))
		require.ErrorIs(t, term.Err(), session.ErrReleased)
		require.Greater(t, bubble.Get(t, c.Leader(), "c leads").Token(), term.Token())
		require.Eventually(t, func() bool { return len(idsOf(t, c)) == 3 }, time.Minute, tick, "the others queue again")
		require.NoError(t, a.Break(bubble.Minute(t), must(b.Candidates(bubble.Minute(t)))[0], 0))
		require.Eventually(t, func() bool { return len(idsOf(t, c)) == 3 }, time.Minute, tick, "c queues again")
		require.NoError(t, a.Close(bubble.Minute(t)))
		require.Equal(t, []string{"b", "c"}, idsOf(t, c))
	})
}

// Each call returns promptly when its context ends, at any of its requests. What it was about is
// completed in the background, or not at all, and nothing is left.
func TestCancelAtAnyRequest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Proclaim", "TransferTo", "Withdraw", "Candidates", "Break"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, met := 1, true; met; k++ {
				require.Less(t, k, 50, "the call has an end")
				bubble.Run(t, func(t *bubble.World) {
					s := t.Session()
					a, b := candidate(t, s, "a"), candidate(t, t.Session(), "b")
					term := leads(t, a)
					waits(t, b)
					other := must(b.Candidates(bubble.Minute(t)))[1]
					calls := map[string]func(ctx context.Context) error{
						"Proclaim":   func(ctx context.Context) error { return term.Proclaim(ctx, []byte("x")) },
						"TransferTo": func(ctx context.Context) error { return term.TransferTo(ctx, other) },
						"Withdraw":   a.Withdraw,
						"Break":      func(ctx context.Context) error { return a.Break(ctx, other, 0) },
						"Candidates": func(ctx context.Context) error { _, err := a.Candidates(ctx); return err },
					}
					ctx, cancel := context.WithCancelCause(context.Background())
					defer cancel(nil)
					why := errors.New("never mind")
					reached := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
						cancel(why)
						return zktest.Delay(time.Second)
					})
					began := time.Now()
					err := calls[name](ctx)
					if met = reached(); !met {
						require.NoError(t, err)
					} else if require.Less(t, time.Since(began), time.Second, "k=%d", k); err != nil {
						require.ErrorIs(t, err, why)
					}
					require.NoError(t, a.Close(bubble.Minute(t)))
					require.Eventually(t, func() bool { return slices.Equal([]string{"b"}, idsOf(t, b)) }, time.Minute, tick, "nothing of a is left")
				})
			}
		})
	}
}

// B36: the leader goes between the listing and the read.
func TestB36_CurrentSkipsALeaderThatHasGone(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
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
		l := must(reader.Current(bubble.Minute(t)))
		require.Equal(t, "b", l.Name)
	})
}

// layout is a layout, with the end of a candidate's path.
type layout struct {
	layout election.Layout
	name   string
}

var layouts = map[string]layout{
	"Troupe":                {election.Troupe, `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-n_\d{10}$`},
	"Curator":               {election.Curator, `/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-latch-\d{10}$`},
	"Kazoo":                 {election.Kazoo, `/[0-9a-f]{32}__lock__\d{10}$`},
	"LeaderElectionSupport": {election.LeaderElectionSupport, `/n_\d{10}$`},
}

// A layout of another library has the ID alone in the znode, and refuses all that needs more.
func TestLayouts(t *testing.T) {
	for name, row := range layouts {
		require.Equal(t, name, row.layout.String())
	}
	eachRow(t, layouts, func(t *bubble.World, row layout) {
		s := t.Session()
		a, b := candidate(t, s, "host-1", election.WithLayout(row.layout)), candidate(t, s, "host-2", election.WithLayout(row.layout))
		term := leads(t, a)
		require.Regexp(t, "^"+path+row.name, term.Path())
		leader := must(candidate(t, t.Session(), "observer").Current(bubble.Minute(t)))
		require.Equal(t, election.Leadership{Present: true, Name: "host-1", Token: term.Token()}, leader)
		require.True(t, must(a.Current(bubble.Minute(t))).Self)
		if row.layout != election.Troupe {
			require.Equal(t, "host-1", content(t, term.Path()))
			waits(t, b)
			other := must(b.Candidates(bubble.Minute(t)))[1]
			before := t.Server.Dump()
			for _, err := range []error{
				term.Ready(bubble.Minute(t)), term.Proclaim(bubble.Minute(t), []byte("x")), term.TransferTo(bubble.Minute(t), other),
			} {
				require.ErrorIs(t, err, session.ErrUnsupported)
			}
			require.Equal(t, before, t.Server.Dump(), "nothing was changed")
			require.NoError(t, term.Err())
			require.NoError(t, b.Withdraw(bubble.Minute(t)))
		}
		require.NoError(t, a.Withdraw(bubble.Minute(t)))
		require.Empty(t, idsOf(t, a))
	})
}

// A term after a loss is logged with the time since. The log warns of a term that is not received
// while others wait, with the call site of Campaign, but not of one that lasts. (Package recipe has
// all about such warnings.)
func TestWhatTheLogSaysOfTerms(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var log bubble.Log
		e := candidate(t, t.Session(log.Option()), "a", election.WithUnreceivedWarning(time.Minute))
		require.NoError(t, t.Server.Znodes(t).Delete(leads(t, e).Path()))
		term := leads(t, e)
		require.Equal(t, 2, log.Count(`level=INFO msg="leadership is won"`))
		require.Equal(t, 1, log.Count(fmt.Sprintf(`"leadership is won" recipe=election path=%s id=a token=%d after=`, path, term.Token())))
		require.NoError(t, e.Withdraw(bubble.Minute(t)))
		require.Len(t, log.Warnings(path), 1, "of the loss")

		at := bubble.After(1)
		e.Campaign()
		synctest.Wait()
		candidate(t, t.Session(), "b").Campaign()
		time.Sleep(2 * time.Minute)
		require.Len(t, log.Warnings(path), 2)
		for _, part := range []string{"not received, and others wait", "waiting=1", at} {
			require.Contains(t, log.Warnings(path)[1], part)
		}
		bubble.Get(t, e.Leader(), "the term")
		time.Sleep(time.Hour)
		require.Len(t, log.Warnings(path), 2)
	})
}
