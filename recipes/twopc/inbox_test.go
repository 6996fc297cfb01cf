// Inboxes that are long: how often they are listed, that all is offered once, and their bound.

package twopc_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// beginAll begins n transactions with one site.
func (w *world) beginAll(c *twopc.Coordinator, n int, site string) (txs []*twopc.Tx) {
	w.Helper()
	for i := range n {
		tx, err := c.Begin(w.Context(), fmt.Sprint("t", i), nil, site)
		require.NoError(w, err)
		txs = append(txs, tx)
	}
	return txs
}

// inboxReads are the listings of inboxes that the server answered, and about how many bytes that
// were.
func (w *world) inboxReads(names func() int) (count func() (listings, bytes int)) {
	w.Helper()
	var mu sync.Mutex
	listings, bytes := 0, 0
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if strings.HasPrefix(r.Path, path+"/inbox/a") && strings.Contains(fmt.Sprint(r.Op), "hildren") {
			mu.Lock()
			defer mu.Unlock()
			listings++
			bytes += names()
		}
		return zktest.Pass
	}))
	return func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return listings, bytes
	}
}

// A site lists its inbox when what it knows is used up, and while it has room, and not at each
// transaction that comes, or each of its own acknowledgements: with 2,000 that wait for it, or come
// while it is there. It hears of its own alone, oldest first.
func TestHowOftenAnInboxIsListed(t *testing.T) {
	t.Parallel()
	const n, entry = 2000, 60
	for name, c := range map[string]struct {
		away            bool
		listings, bytes int
	}{
		"it was away":  {true, 4, 4 * n * entry},
		"it was there": {false, 256 + 4, 5_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				coordinator := w.coordinator(w.Host("c"), twopc.WithVoteTimeout(time.Hour))
				b := w.site(w.Host("b"), "b")
				var site *twopc.Site
				var left atomic.Int64
				count := w.inboxReads(func() int { return int(left.Load()) * entry })
				if !c.away {
					site = w.site(w.Host("a"), "a")
				}
				for i := range n {
					_, err := coordinator.Begin(w.Context(), fmt.Sprint("t", i), nil, "a")
					require.NoError(w, err)
					left.Add(1)
					time.Sleep(time.Millisecond)
				}
				if c.away {
					site = w.site(w.Host("a"), "a")
				}
				for i := range n {
					p := bubble.Within(w, time.Second, site.Proposals())
					require.Equal(w, fmt.Sprint("t", i), p.ID())
					require.NoError(w, p.Commit(w.Context()))
					<-p.Decided()
					require.NoError(w, p.Ack(w.Context()))
					left.Add(-1)
				}
				bubble.Never(w, b.Proposals(), "not its own")
				listings, bytes := count()
				w.Logf("%d entries: %d listings, about %d bytes", n, listings, bytes)
				require.LessOrEqual(w, listings, c.listings)
				require.LessOrEqual(w, bytes, c.bytes)
			})
		})
	}
}

// More are open at a site than it has before it at a time. What there is no room for stays in
// ZooKeeper, and is offered as the window frees: all of them, none twice.
func TestWhatDoesNotFitTheWindowIsOfferedLater(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n, window = 1000, 256
		site := w.site(w.Host("a"), "a")
		txs := w.beginAll(w.coordinator(w.Host("c"), twopc.WithVoteTimeout(time.Hour)), n, "a")
		var open []*twopc.Proposal
		for i := range n {
			if len(open) == window {
				bubble.Never(w, site.Proposals(), "the window is full")
				bubble.Within(w, time.Minute, open[0].Decided())
				require.NoError(w, open[0].Ack(w.Context()))
				open = open[1:]
			}
			p := bubble.Within(w, time.Minute, site.Proposals())
			require.Equal(w, fmt.Sprint("t", i), p.ID())
			require.NoError(w, p.Commit(w.Context()))
			open = append(open, p)
		}
		for _, p := range open {
			bubble.Within(w, time.Minute, p.Decided())
			require.NoError(w, p.Ack(w.Context()))
		}
		for _, tx := range txs {
			bubble.Within(w, time.Minute, tx.Decided())
			require.Equal(w, twopc.Committed, tx.Outcome())
			require.NoError(w, tx.Ack(w.Context()))
		}
		require.Empty(w, w.nodes())
	})
}

// A whole window was offered and not received yet when somebody deletes all of it, and the actor
// panics: what comes next is offered all the same, and the application learns what became of the
// others.
func TestNothingIsDroppedBehindAFullWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const window = 256
		h := w.Host("c")
		c := w.coordinator(h, twopc.WithVoteTimeout(time.Hour))
		site := w.site(w.Host("a"), "a")
		w.beginAll(c, window, "a")
		time.Sleep(time.Minute) // all are offered
		require.NoError(w, h.DeleteAll(w.Context(), path+"/inbox/a"))
		require.NoError(w, h.DeleteAll(w.Context(), path+"/tx"))
		synctest.Wait()
		site.Crash("a bug")
		time.Sleep(time.Minute)
		for i := range 10 {
			_, err := c.Begin(w.Context(), fmt.Sprint("later", i), nil, "a")
			require.NoError(w, err)
		}
		later := 0
		for range window + 10 {
			p := bubble.Within(w, time.Minute, site.Proposals())
			if strings.HasPrefix(p.ID(), "later") {
				later++
				continue
			}
			bubble.Within(w, time.Minute, p.Done())
			require.ErrorIs(w, p.Err(), twopc.ErrGone)
			require.ErrorIs(w, p.Ack(w.Context()), twopc.ErrGone)
		}
		require.Equal(w, 10, later)
	})
}

// An inbox has a bound: Begin says that a site has no room, and nothing has begun. With room it
// begins again. A coordinator goes by the number that its last Begin has shown.
func TestAFullInboxIsBusy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("c")
		c := w.coordinator(h, twopc.WithVoteTimeout(time.Hour))
		for i := range 8190 {
			_, err := h.Create(w.Context(), fmt.Sprint(path, "/inbox/a/x", i), nil, session.Parents())
			require.NoError(w, err)
		}
		for i := range 2 {
			_, err := c.Begin(w.Context(), fmt.Sprint("t", i), nil, "a")
			require.NoError(w, err)
		}
		for range 2 {
			_, err := c.Begin(w.Context(), "more", nil, "b", "a")
			require.ErrorIs(w, err, twopc.ErrBusy)
			require.ErrorContains(w, err, `"a"`)
		}
		_, err := c.Begin(w.Context(), "elsewhere", nil, "b")
		require.NoError(w, err)
		require.NotContains(w, strings.Join(w.nodes(), " "), "more")
		require.NoError(w, h.Delete(w.Context(), path+"/inbox/a/x0", -1))
		_, err = c.Begin(w.Context(), "more", nil, "b", "a")
		require.NoError(w, err)
		_, err = c.Begin(w.Context(), "even more", nil, "a")
		require.ErrorIs(w, err, twopc.ErrBusy)
	})
}
