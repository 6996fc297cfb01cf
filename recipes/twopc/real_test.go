// Transactions on real servers; and what one costs. Helpers: world_test.go; model: history_test.go.

package twopc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// patience bounds each wait on real servers and a busy machine.
const patience = time.Minute

// abandon ends a session as a killed process does: its ZooKeeper session is left to expire.
func abandon(s *session.Session, e *ensemble.Ensemble) {
	for _, p := range e.Proxies() {
		p.Blackhole()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Close(ctx)
	for _, p := range e.Proxies() {
		p.Heal()
	}
}

func soon(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, patience, 10*time.Millisecond, what)
}

// The whole life of transactions on real servers, one and three: committed and aborted ones in both
// forms, a site and a coordinator that are killed and start again, and with three a server that is
// killed in between.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		for name, form := range forms {
			t.Run(fmt.Sprint(n, ", ", name), func(t *testing.T) {
				t.Parallel()
				lifeOnRealServers(t, ensemble.Start(t, n), form)
			})
		}
	}
}

func lifeOnRealServers(t *testing.T, e *ensemble.Ensemble, form []twopc.Option) {
	t.Helper()
	l := newModel()
	var all sync.WaitGroup
	names := []string{"a", "b", "c"}
	mortal := session.WithTimeout(8 * time.Second) // soon enough, and yet longer than a busy machine holds up who lives
	start := func(name string) *session.Session {
		s := bubble.Open(t, e.Proxied(), mortal)
		site, err := twopc.NewSite(s, path, name)
		require.NoError(t, err)
		l.serve(&all, name, site, names, func(id string) bool { return id[0] == 'y' || name != "b" })
		return s
	}
	admin := bubble.Open(t, e.Servers())
	var sites []*session.Session
	for _, name := range names {
		sites = append(sites, start(name))
		soon(t, name+" registers", func() bool {
			_, there, err := admin.Exists(t.Context(), path+"/alive/"+name)
			return err == nil && there
		})
	}
	lead := func() (*session.Session, *twopc.Coordinator) {
		s := bubble.Open(t, e.Proxied(), mortal)
		c, err := twopc.NewCoordinator(s, path, append([]twopc.Option{twopc.WithVoteTimeout(patience)}, form...)...)
		require.NoError(t, err)
		return s, c
	}
	hc, c := lead()
	begin := func(id string) *twopc.Tx {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		tx, err := c.Begin(ctx, id, []byte(id), names...)
		require.NoError(t, err)
		l.follow(&all, "leader", tx, names, always)
		return tx
	}
	for i := range 10 {
		yes, no := begin(fmt.Sprint("y", i)), begin(fmt.Sprint("n", i))
		<-yes.Done()
		<-no.Done()
		require.Equal(t, twopc.Committed, yes.Outcome(), yes.Reason())
		require.Equal(t, twopc.Aborted, no.Outcome())
		require.Equal(t, `site "b": no`, no.Reason())
	}
	if len(e.Servers()) > 1 {
		e.Kill(bubble.Leader(t, e))
	}
	begin("y-while-a-site-dies")
	abandon(sites[0], e)
	sites[0] = start("a")
	begin("y-while-the-coordinator-dies")
	abandon(hc, e)
	hc, c = lead()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	taken, err := c.Recover(ctx)
	require.NoError(t, err)
	for _, tx := range taken {
		l.follow(&all, "leader again", tx, names, always)
	}
	// A session that was lost with the leader is a death too, and may abort what comes right after
	// it; then it goes on.
	last := ""
	for i := 0; i < 10 && l.of(last) != twopc.Committed; i++ {
		last = fmt.Sprint("y-after-all-", i)
		<-begin(last).Done()
		soon(t, "the last one is decided everywhere", func() bool { return l.of(last) != twopc.Undecided })
	}
	soon(t, "nothing is left", func() bool {
		left, _, err := admin.Children(t.Context(), path+"/tx")
		return err == nil && len(left) == 0
	})
	require.Empty(t, l.complaints())
	require.NotEqual(t, twopc.Undecided, l.of("y-while-a-site-dies"))
	require.Equal(t, twopc.Committed, l.of(last))
	for _, s := range append(sites, hc) {
		require.NoError(t, s.Close(ctx))
	}
	all.Wait()
}

// cost counts the requests and watch events of one committed and acknowledged transaction of n
// sites, after a first one.
func cost(w *bubble.World, n int, form ...twopc.Option) (requests, events int) {
	w.Helper()
	c := newCoordinator(w, w.Host("c"), form...)
	var names []string
	var sites []*twopc.Site
	for i := range n {
		names = append(names, fmt.Sprint("s", i))
		sites = append(sites, newSite(w, w.Host(names[i]), names[i]))
	}
	round := func(id string) {
		tx := must(c.Begin(w.Context(), id, []byte("pay"), names...))
		var open []*twopc.Proposal
		for _, site := range sites {
			p := bubble.Within(w, time.Second, site.Proposals())
			require.NoError(w, p.VoteCommit(w.Context()))
			open = append(open, p)
		}
		bubble.Within(w, time.Second, tx.Decided())
		synctest.Wait()
		require.NoError(w, tx.Ack(w.Context()))
		for _, p := range open {
			require.NoError(w, p.Ack(w.Context()))
		}
		synctest.Wait()
		require.Empty(w, nodes(w))
	}
	round("first")
	w.Server.ClearJournal()
	round("second")
	for _, q := range w.Server.Journal() {
		events += q.Fired
		if q.Op != zktest.OpPing {
			requests++
		}
	}
	return requests, events
}

// The coordinator's form is linear in the number of sites; that of the peers is square.
func TestCosts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 8, 16} {
		inBothForms(t, func(w *bubble.World, form []twopc.Option) {
			requests, events := cost(w, n, form...)
			w.Logf("%d sites: %d requests, %d watch events", n, requests, events)
			if form == nil {
				require.LessOrEqual(w, requests, 12*n+8) // the order of reads makes a difference of a request or two
				require.LessOrEqual(w, events, 3*n+1)
				return
			}
			require.GreaterOrEqual(w, events, n*n)
			require.LessOrEqual(w, events, 2*n*n+4*n+1)
		})
	}
}

// A site that waits for proposals sends pings alone.
func TestASiteSendsNoSyncs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		for _, name := range []string{"a", "b", "c"} {
			newSite(w, w.Host(name), name)
		}
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for _, r := range w.Server.Journal() {
			require.Equal(w, zktest.OpPing, r.Op)
		}
	})
}
