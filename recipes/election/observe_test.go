package election_test

// Observers of leaders and candidates, and the costs.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B45: through changes of leaders, disconnections, expiries and servers that lag behind, observers
// see tokens that never fall, and data that never go back, and in the end the truth.
func TestB45_ObserversNeverGoBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *bubble.World) { neverBack(t, rand.New(rand.NewPCG(seed, 45))) }, zktest.WithServers(3))
		})
	}
}

func neverBack(t *bubble.World, r *rand.Rand) {
	sessions := []*session.Session{t.Session(), t.Session(), t.Session()}
	watching := t.Session()
	all := make([]*election.Election, len(sessions))
	for i, s := range sessions {
		all[i] = candidate(t, s, fmt.Sprint("candidate ", i))
		all[i].Campaign()
	}
	ctx, cancel := context.WithCancel(context.Background())
	watcher := candidate(t, watching, "watcher")
	states := watcher.Observe(ctx)
	seen := bubble.Begin(func() (all []election.Leadership) {
		for l := range states {
			all = append(all, l)
		}
		return all
	})
	for i := range 40 {
		who := r.IntN(len(all))
		select {
		case term := <-all[who].Leader():
			_ = term.Proclaim(bubble.Minute(t), []byte(fmt.Sprintf("%03d", i)))
		case <-time.After(time.Duration(r.IntN(2000)) * time.Millisecond):
		}
		switch r.IntN(6) {
		case 0:
			t.Server.Expire(sessions[who].Status().SessionID)
		case 1:
			t.Server.Disconnect(watching.Status().SessionID)
		case 2:
			t.Server.Lag(r.IntN(3), r.IntN(4))
		case 3:
			t.Server.Expire(watching.Status().SessionID)
		case 4:
			_ = all[who].Withdraw(bubble.Minute(t))
			all[who].Campaign()
		}
	}
	for i := range 3 {
		t.Server.Lag(i, 0)
	}
	<-time.After(time.Minute)
	truth := must(watcher.Current(bubble.Minute(t)))
	cancel()
	history := bubble.Get(t, seen, "what was observed")
	last := election.Leadership{}
	for _, l := range history {
		if l.Present {
			require.GreaterOrEqual(t, l.Token, last.Token)
			if l.Token == last.Token && len(last.Data) > 0 {
				require.GreaterOrEqual(t, string(l.Data), string(last.Data))
			}
			last = l
		}
	}
	require.Equal(t, truth, history[len(history)-1])
}

// An observer watches the leader, and the parent while there is none. It leaves no watches on
// former leaders, and asks for nothing while nothing happens.
func TestObserversLeaveNoWatchesBehind(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		seen := candidate(t, s, "watcher").Observe(t.Context())
		for range 5 {
			term := leads(t, a)
			waits(t, b)
			sees(t, seen, term.Token())
			require.NoError(t, a.Withdraw(bubble.Minute(t)))
			sees(t, seen, bubble.Get(t, b.Leader(), "b leads").Token())
			require.LessOrEqual(t, t.Watches(s), 3, "the leader; the parent's birth and its children")
			require.NoError(t, b.Withdraw(bubble.Minute(t)))
			sees(t, seen, 0)
		}
		leads(t, a)
		t.Server.Disconnect(s.Status().SessionID)
		time.Sleep(time.Minute)
		require.Contains(t, []int{1, 2, 3}, t.Watches(s))
		t.Server.ClearJournal()
		time.Sleep(5 * time.Minute)
		for _, q := range t.Server.Journal() {
			require.False(t, q.SessionID == s.Status().SessionID && strings.HasPrefix(q.Path, path), "%+v", q)
		}
	})
}

// B75: a session whose server lags behind reads the state from before its call.
func TestB75_CandidatesAreUpToDate(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, watcher := candidate(t, t.SessionOn(1), "a"), candidate(t, t.SessionOn(0), "watcher")
		t.Server.Lag(0, 5)
		leads(t, a)
		require.Equal(t, []string{"a"}, idsOf(t, watcher))
		require.NoError(t, a.Withdraw(bubble.Minute(t)))
		require.Empty(t, idsOf(t, watcher))
	}, zktest.WithServers(2))
}

// A leader whose znode this session may not read is reported as one, without an ID, on each
// version. The next leader is reported as usual.
func TestALeaderThatMayNotBeReadIsObserved(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(t *bubble.World) {
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				require.NoError(t, t.Session().EnsurePath(bubble.Minute(t), path))
				hidden := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "hidden")
				term := must(hidden.Lead(bubble.Minute(t)))
				watching := t.Session()
				watcher := candidate(t, watching, "watcher")
				states := watcher.Observe(bubble.Minute(t))
				seen := bubble.Get(t, states, "a leader that may not be read")
				require.Equal(t, election.Leadership{Present: true, Unread: true}, seen)
				require.Equal(t, seen, must(watcher.Current(bubble.Minute(t))))
				sees(t, candidate(t, t.Session(bob), "another").Observe(bubble.Minute(t)), term.Token())

				t.Server.Disconnect(watching.Status().SessionID)
				for _, stale := range []bool{true, false} {
					require.True(t, bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.Stale == stale }).Unread)
				}
				next := candidate(t, t.Session(bob), "next") // it has to read the candidate ahead
				next.Campaign()
				synctest.Wait()
				require.NoError(t, hidden.Close(bubble.Minute(t)))
				time.Sleep(10 * time.Second)
				seen = bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.Name == "next" })
				require.True(t, seen.Present && !seen.Unread)
			}, zktest.WithVersion(version))
		})
	}
}

// A leader that was read in one epoch is stale in the next until it is read there.
func TestALeaderIsStaleUntilItIsReadInTheNewEpoch(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		term := must(candidate(t, t.Session(), "leader").Lead(bubble.Minute(t)))
		watching := t.Session()
		states := candidate(t, watching, "watcher").Observe(bubble.Minute(t))
		require.False(t, bubble.Get(t, states, "the leader").Stale)
		var asked time.Time
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Path != term.Path() {
				return zktest.Pass
			}
			asked = time.Now()
			return zktest.Delay(time.Second)
		}))
		t.Server.Expire(watching.Status().SessionID)
		require.True(t, bubble.Get(t, states, "a state").Stale)
		require.False(t, bubble.Get(t, states, "another").Stale)
		require.Equal(t, time.Second, time.Since(asked))
	})
}

// A candidate whose znode may not be read is listed without ID and data, on each version.
// Leadership cannot be transferred to it, since nothing shows that it still exists, but past it.
func TestCandidatesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(t *bubble.World) {
				a := candidate(t, t.Session(), "a")
				term := must(a.Lead(bubble.Minute(t)))
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				b := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "b")
				c := candidate(t, t.Session(bob), "c")
				for _, e := range []*election.Election{b, c} {
					e.Campaign()
					synctest.Wait()
				}
				all := must(a.Candidates(bubble.Minute(t)))
				require.Len(t, all, 3)
				require.True(t, all[0].Self && all[0].Leading && !all[0].Unread)
				require.True(t, all[1].Unread && !all[1].Self && !all[1].Leading && all[1].Name == "")
				require.True(t, !all[2].Unread && all[2].Name == "c")
				require.ErrorIs(t, term.TransferTo(bubble.Minute(t), all[1]), session.ErrNoAuth)
				require.NoError(t, term.Err(), "it goes on")
				require.NoError(t, term.TransferTo(bubble.Minute(t), all[2]))
				require.Greater(t, bubble.Get(t, c.Leader(), "the lead").Token(), term.Token())
			}, zktest.WithVersion(version))
		})
	}
}

// The costs that docs/recipes/election.md states.
func TestCosts(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		sa, sb, sw := t.Session(), t.Session(), t.Session()
		require.NoError(t, sw.EnsurePath(bubble.Minute(t), path))
		a, b, watcher := candidate(t, sa, "a"), candidate(t, sb, "b"), candidate(t, sw, "watcher")
		seen := watcher.Observe(t.Context())
		require.False(t, bubble.Get(t, seen, "no leader").Present)

		t.Server.ClearJournal()
		leads(t, a)
		requests, fired := asked(t.Server, sa)
		require.LessOrEqual(t, requests, 3, "to win alone")
		require.True(t, bubble.Await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present }).Present)
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 3, "the observer finds the first leader")
		require.Equal(t, 1, fired, "the observer is told")

		waits(t, b)
		synctest.Wait()
		t.Server.ClearJournal()
		require.NoError(t, a.Withdraw(bubble.Minute(t)))
		term := bubble.Get(t, b.Leader(), "b leads")
		sees(t, seen, term.Token())
		synctest.Wait()
		requests, _ = asked(t.Server, sa)
		require.Equal(t, 1, requests, "resigning")
		requests, _ = asked(t.Server, sb)
		require.Zero(t, requests, "the next one knows already that it is next")
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 2, "the observer finds the next leader")
	})
}

// asked counts a session's requests, pings and syncs aside, and the watch events that all requests
// caused.
func asked(z *zktest.Server, s *session.Session) (requests, fired int) {
	synctest.Wait()
	for _, q := range z.Journal() {
		fired += q.Fired
		if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing && q.Op != zktest.OpSync {
			requests++
		}
	}
	return requests, fired
}
