package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
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

// An observer says so while it is cut off, and goes on by itself in whatever epoch.
func TestObserversTellStaleness(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, watcher := candidate(t, t.Session(), "a"), candidate(t, s, "watcher")
		first := leads(t, a)
		seen := watcher.Observe(bubble.Minute(t))
		l := bubble.Get(t, seen, "a leads")
		require.False(t, l.Stale)
		heal := t.Server.Partition(s.Status().SessionID)
		stale := bubble.Get(t, seen, "cut off")
		l.Stale = true
		require.Equal(t, l, stale)
		t.Server.Expire(s.Status().SessionID)
		require.NoError(t, first.Resign(bubble.Minute(t)))
		second := bubble.Get(t, a.Leader(), "a leads again")
		bubble.Never(t, seen, "cut off")
		heal()
		fresh := bubble.Await(t, seen, "back", func(l election.Leadership) bool { return !l.Stale })
		if fresh.Token != second.Token() { // it may have been the first one's turn to be confirmed
			fresh = bubble.Await(t, seen, "back", func(l election.Leadership) bool { return l.Token == second.Token() })
		}
		require.Equal(t, election.Leadership{Present: true, ID: "a", Token: second.Token()}, fresh)
	})
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
		for i := range 20 {
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
