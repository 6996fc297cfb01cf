package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
			bubble(t, func(t *testing.T, z *zktest.Server) { neverBack(t, z, rand.New(rand.NewPCG(seed, 45))) }, zktest.WithServers(3))
		})
	}
}

func neverBack(t *testing.T, z *zktest.Server, r *rand.Rand) {
	sessions := []*session.Session{connected(t, z), connected(t, z), connected(t, z)}
	watching := connected(t, z)
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
			_ = term.Proclaim(patience(t), []byte(fmt.Sprintf("%03d", i)))
		case <-time.After(time.Duration(r.IntN(2000)) * time.Millisecond):
		}
		switch r.IntN(6) {
		case 0:
			z.Expire(sessions[who].Status().SessionID)
		case 1:
			z.Disconnect(watching.Status().SessionID)
		case 2:
			z.Lag(r.IntN(3), r.IntN(4))
		case 3:
			z.Expire(watching.Status().SessionID)
		case 4:
			_ = all[who].Resign(patience(t))
			all[who].Campaign()
		}
	}
	for i := range 3 {
		z.Lag(i, 0)
	}
	<-time.After(time.Minute)
	truth, err := watcher.Current(patience(t))
	require.NoError(t, err)
	cancel()
	history := get(t, seen, "what was observed")
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

// An observer says so while it is cut off, and goes on by itself in whatever epoch.
func TestObserversTellStaleness(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a, watcher := candidate(t, connected(t, z), "a"), candidate(t, s, "watcher")
		first := leads(t, a)
		seen := watcher.Observe(patience(t))
		l := get(t, seen, "a leads")
		require.False(t, l.Stale)
		heal := z.Partition(s.Status().SessionID)
		stale := get(t, seen, "cut off")
		l.Stale = true
		require.Equal(t, l, stale)
		z.Expire(s.Status().SessionID)
		require.NoError(t, first.Resign(patience(t)))
		second := get(t, a.Leader(), "a leads again")
		nothing(t, seen, "cut off")
		heal()
		fresh := await(t, seen, "back", func(l election.Leadership) bool { return !l.Stale })
		if fresh.Token != second.Token() { // it may have been the first one's turn to be confirmed
			fresh = await(t, seen, "back", func(l election.Leadership) bool { return l.Token == second.Token() })
		}
		require.Equal(t, election.Leadership{Present: true, ID: "a", Token: second.Token()}, fresh)
	})
}

// An observer watches the leader, and while there is none the parent. Nothing is left of leaders
// that are gone, however many there have been, and nothing is asked while nothing happens.
func TestObserversLeaveNoWatchesBehind(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a, b := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "b")
		watcher := candidate(t, s, "watcher")
		seen := watcher.Observe(t.Context())
		var term *election.Term
		for i := range 20 {
			if i > 0 {
				require.NoError(t, b.Resign(patience(t)))
				await(t, seen, "nobody leads", func(l election.Leadership) bool { return !l.Present })
			}
			term = leads(t, a)
			waits(t, b)
			await(t, seen, "a leads", func(l election.Leadership) bool { return l.Token == term.Token() })
			require.NoError(t, a.Resign(patience(t)))
			term = get(t, b.Leader(), "b leads")
			await(t, seen, "b leads", func(l election.Leadership) bool { return l.Token == term.Token() })
		}
		z.ClearJournal()
		z.Disconnect(s.Status().SessionID)
		<-time.After(time.Minute)
		var armed []string
		for _, q := range z.Journal() {
			if q.Op == zktest.OpSetWatches { // with every reconnection the client says what it watches
				armed = append(armed, q.Paths...)
			}
		}
		require.Contains(t, armed, term.Path())
		require.LessOrEqual(t, len(armed), 3, "the parent's birth and its children: %v", armed)
		z.ClearJournal()
		<-time.After(5 * time.Minute)
		for _, q := range z.Journal() {
			require.False(t, q.SessionID == s.Status().SessionID && strings.HasPrefix(q.Path, path), "%+v", q)
		}
	})
}

// B75: one whose server lags behind is told what was settled before it asked.
func TestB75_CandidatesAreUpToDate(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		on := func(i int) *session.Session {
			s, err := session.Open(patience(t), z.Hosts()[i:i+1], session.WithDialer(z.Dialer()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close(patience(t)) })
			return s
		}
		a, watcher := candidate(t, on(0), "a"), candidate(t, on(1), "watcher")
		z.Lag(1, 5)
		term := leads(t, a)
		require.Equal(t, []string{"a"}, line(t, watcher))
		require.NoError(t, term.Resign(patience(t)))
		require.NoError(t, a.Resign(patience(t)))
		require.Empty(t, line(t, watcher))
	}, zktest.WithServers(2))
}
