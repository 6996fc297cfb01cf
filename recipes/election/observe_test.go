package election_test

// What observers see of leaders and candidates, and what that costs.

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
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) { neverBack(t, rand.New(rand.NewPCG(seed, 45))) }, zktest.WithServers(3))
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
	seen := make(chan []election.Leadership, 1)
	watcher := candidate(t, watching, "watcher")
	states := watcher.Observe(ctx)
	go func() { // owned by the test, which receives what it collected
		var all []election.Leadership
		for l := range states {
			all = append(all, l)
		}
		seen <- all
	}()
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
			_ = all[who].Resign(bubble.Minute(t))
			all[who].Campaign()
		}
	}
	for i := range 3 {
		t.Server.Lag(i, 0)
	}
	<-time.After(time.Minute)
	truth, err := watcher.Current(bubble.Minute(t))
	require.NoError(t, err)
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

// An observer watches the leader, and while there is none the parent. Nothing is left of leaders
// that are gone, however many there have been, and nothing is asked while nothing happens.
func TestObserversLeaveNoWatchesBehind(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		watcher := candidate(t, s, "watcher")
		seen := watcher.Observe(t.Context())
		var term *election.Term
		for i := range 5 {
			if i > 0 {
				require.NoError(t, b.Resign(bubble.Minute(t)))
				bubble.Await(t, seen, "nobody leads", func(l election.Leadership) bool { return !l.Present })
			}
			term = leads(t, a)
			waits(t, b)
			bubble.Await(t, seen, "a leads", func(l election.Leadership) bool { return l.Token == term.Token() })
			require.NoError(t, a.Resign(bubble.Minute(t)))
			term = bubble.Get(t, b.Leader(), "b leads")
			bubble.Await(t, seen, "b leads", func(l election.Leadership) bool { return l.Token == term.Token() })
		}
		t.Server.ClearJournal()
		t.Server.Disconnect(s.Status().SessionID)
		<-time.After(time.Minute)
		var armed []string
		for _, q := range t.Server.Journal() {
			if q.Op == zktest.OpSetWatches { // with every reconnection the client says what it watches
				armed = append(armed, q.Paths...)
			}
		}
		require.Contains(t, armed, term.Path())
		require.LessOrEqual(t, len(armed), 3, "the parent's birth and its children: %v", armed)
		t.Server.ClearJournal()
		<-time.After(5 * time.Minute)
		for _, q := range t.Server.Journal() {
			require.False(t, q.SessionID == s.Status().SessionID && strings.HasPrefix(q.Path, path), "%+v", q)
		}
	})
}

// B75: one whose server lags behind is told what was settled before it asked.
func TestB75_CandidatesAreUpToDate(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		on := func(i int) *session.Session {
			s, err := session.Open(bubble.Minute(t), t.Server.Hosts()[i:i+1], session.WithDialer(t.Server.Dialer()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
			return s
		}
		a, watcher := candidate(t, on(1), "a"), candidate(t, on(0), "watcher")
		t.Server.Lag(0, 5)
		term := leads(t, a)
		require.Equal(t, []string{"a"}, line(t, watcher))
		require.NoError(t, term.Resign(bubble.Minute(t)))
		require.NoError(t, a.Resign(bubble.Minute(t)))
		require.Empty(t, line(t, watcher))
	}, zktest.WithServers(2))
}

// A leader whose znode this session may not read is there all the same, on each version: somebody
// leads, and it is not known who. The next one is seen as ever.
func TestALeaderThatMayNotBeReadIsObserved(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				err := t.Session().EnsurePath(bubble.Minute(t), path)
				require.NoError(t, err)
				hidden := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "hidden")
				term, err := hidden.Lead(bubble.Minute(t))
				require.NoError(t, err)
				watching := t.Session()
				watcher := candidate(t, watching, "watcher")
				states := watcher.Observe(bubble.Minute(t))
				seen := bubble.Get(t, states, "a leader that may not be read")
				require.True(t, seen.Present && seen.Unread && !seen.Self && !seen.Stale && seen.ID == "" && seen.Token == 0, "%+v", seen)
				now, err := watcher.Current(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, seen, now)
				other := bubble.Get(t, candidate(t, t.Session(bob), "another").Observe(bubble.Minute(t)), "one that may be read")
				require.Equal(t, term.Token(), other.Token)

				t.Server.Disconnect(watching.Status().SessionID)
				require.True(t, bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.Stale }).Unread)
				require.True(t, bubble.Await(t, states, "a state", func(l election.Leadership) bool { return !l.Stale }).Unread)

				next := candidate(t, t.Session(bob), "next") // it has to read whom it waits for
				next.Campaign()
				synctest.Wait()
				require.NoError(t, hidden.Close(bubble.Minute(t)))
				time.Sleep(10 * time.Second)
				seen = bubble.Await(t, states, "a state", func(l election.Leadership) bool { return l.ID == "next" })
				require.True(t, seen.Present && !seen.Unread)
			}, zktest.WithVersion(version))
		})
	}
}

// What was seen in an epoch is stale in the next until it was read there.
func TestALeaderIsStaleUntilItIsReadInTheNewEpoch(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		term, err := candidate(t, t.Session(), "leader").Lead(bubble.Minute(t))
		require.NoError(t, err)
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

// A candidate whose znode may not be read is one without ID and data, on each version. The lead
// can't be handed over to it, since nothing tells that it still stands, but past it.
func TestCandidatesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				a := candidate(t, t.Session(), "a")
				term, err := a.Lead(bubble.Minute(t))
				require.NoError(t, err)
				bob := session.WithAuth("digest", []byte("bob:hunter2"))
				b := candidate(t, t.Session(bob, session.WithACL(session.AuthACL(session.PermAll)...)), "b")
				c := candidate(t, t.Session(bob), "c")
				b.Campaign()
				synctest.Wait()
				c.Campaign()
				synctest.Wait()
				all, err := a.Candidates(bubble.Minute(t))
				require.NoError(t, err)
				require.Len(t, all, 3)
				require.True(t, all[0].Self && all[0].Leading && !all[0].Unread)
				require.True(t, all[1].Unread && !all[1].Self && !all[1].Leading && all[1].ID == "")
				require.True(t, !all[2].Unread && all[2].ID == "c")
				require.ErrorIs(t, term.TransferTo(bubble.Minute(t), all[1].Path), session.ErrNoAuth)
				require.NoError(t, term.Err(), "it stands")
				require.NoError(t, term.TransferTo(bubble.Minute(t), all[2].Path))
				require.Greater(t, bubble.Get(t, c.Leader(), "the lead").Token(), term.Token())
			}, zktest.WithVersion(version))
		})
	}
}

// What docs/recipes/election.md says about costs.
func TestCosts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sa, sb, sw := t.Session(), t.Session(), t.Session()
		require.NoError(t, sw.EnsurePath(bubble.Minute(t), path))
		a, b, watcher := candidate(t, sa, "a"), candidate(t, sb, "b"), candidate(t, sw, "watcher")
		seen := watcher.Observe(t.Context())
		require.False(t, bubble.Get(t, seen, "nobody").Present)

		t.Server.ClearJournal()
		leads(t, a)
		requests, fired := asked(t.Server, sa)
		require.LessOrEqual(t, requests, 3, "standing alone and winning")
		require.True(t, bubble.Await(t, seen, "a leads", func(l election.Leadership) bool { return l.Present }).Present)
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 3, "the observer finds the first leader")
		require.Equal(t, 1, fired, "the observer is told")

		waits(t, b)
		synctest.Wait()
		t.Server.ClearJournal()
		require.NoError(t, a.Resign(bubble.Minute(t)))
		term := bubble.Get(t, b.Leader(), "b leads")
		bubble.Await(t, seen, "b leads", func(l election.Leadership) bool { return l.Token == term.Token() })
		synctest.Wait()
		requests, _ = asked(t.Server, sa)
		require.Equal(t, 1, requests, "resigning")
		requests, _ = asked(t.Server, sb)
		require.Zero(t, requests, "the next one knows already that it is next")
		requests, _ = asked(t.Server, sw)
		require.LessOrEqual(t, requests, 2, "the observer finds the next leader")
	})
}

// asked counts a session's requests, signs of life aside, and the watch events that all requests
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
