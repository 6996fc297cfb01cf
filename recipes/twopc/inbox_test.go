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

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// beginAll begins n transactions with one site, several at a time.
func (w *world) beginAll(c *twopc.Coordinator, n int, site string) (txs []*twopc.Tx) {
	w.Helper()
	txs = make([]*twopc.Tx, n)
	var all sync.WaitGroup
	for k := range 10 {
		all.Go(func() {
			for i := k; i < n; i += 10 {
				tx, err := c.Begin(w.Context(), fmt.Sprint("t", i), nil, site)
				if err != nil {
					w.Error(err)
				}
				txs[i] = tx
			}
		})
	}
	all.Wait()
	return txs
}

// inboxReads are the listings of inboxes that the server answered, and about how many bytes that
// were.
func (w *world) inboxReads(names func() int) (count func() (listings, bytes int)) {
	w.Helper()
	var mu sync.Mutex
	listings, bytes := 0, 0
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if strings.HasPrefix(r.Path, path+"/inbox/") && strings.Contains(fmt.Sprint(r.Op), "hildren") {
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

// A site whose process was away comes back to 2,000 entries. It lists its inbox when what it knows
// is used up, and not at each of its own acknowledgements.
func TestAnInboxIsListedWhenWhatIsKnownIsUsedUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n = 2000
		h := w.Host("c")
		c := w.coordinator(h, twopc.WithVoteTimeout(time.Hour))
		w.beginAll(c, n, "a")
		var left atomic.Int64
		left.Store(n)
		count := w.inboxReads(func() int { return int(left.Load()) * 60 })
		seen := 0
		for p := range w.site(w.Host("a"), "a").Proposals() {
			require.NoError(w, p.Commit(w.Context()))
			<-p.Decided()
			require.NoError(w, p.Ack(w.Context()))
			left.Add(-1)
			if seen++; seen == n {
				break
			}
		}
		listings, bytes := count()
		w.Logf("%d entries: %d listings, about %d bytes", n, listings, bytes)
		require.LessOrEqual(w, listings, 4)
		require.LessOrEqual(w, bytes, 4*n*60)
	})
}

// The same while they come: a site that has many open does not list all of them at each that comes.
func TestListingsOfAnInboxThatFills(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n = 2000
		c := w.coordinator(w.Host("c"), twopc.WithVoteTimeout(time.Hour))
		site := w.site(w.Host("a"), "a")
		var came atomic.Int64
		count := w.inboxReads(func() int { return int(came.Load()) * 60 })
		for i := range n {
			_, err := c.Begin(w.Context(), fmt.Sprint("t", i), nil, "a")
			require.NoError(w, err)
			came.Add(1)
			time.Sleep(time.Millisecond)
		}
		for range n {
			p := bubble.Within(w, time.Second, site.Proposals())
			require.NoError(w, p.Commit(w.Context()))
			<-p.Decided()
			require.NoError(w, p.Ack(w.Context()))
			came.Add(-1)
		}
		listings, bytes := count()
		w.Logf("%d came: %d listings, about %d bytes", n, listings, bytes)
		require.LessOrEqual(w, listings, 256+4, "it lists while it has room")
		require.LessOrEqual(w, bytes, 5_000_000)
	})
}

// More are open at a site than it has before it at a time. What there is no room for stays in
// ZooKeeper, and is offered as the window frees: all of them, none twice.
func TestThreeThousandOpenAreAllOffered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n, window = 3000, 256
		c := w.coordinator(w.Host("c"), twopc.WithVoteTimeout(time.Hour))
		site := w.site(w.Host("a"), "a")
		txs := w.beginAll(c, n, "a")
		time.Sleep(time.Second)
		offered := map[string]bool{}
		var open []*twopc.Proposal
		for len(offered) < n {
			for range window - len(open) {
				if len(offered) == n {
					break
				}
				p := bubble.Within(w, time.Minute, site.Proposals())
				require.False(w, offered[p.ID()], "twice")
				offered[p.ID()] = true
				require.NoError(w, p.Commit(w.Context()))
				open = append(open, p)
			}
			bubble.Never(w, site.Proposals(), "the window is full")
			for _, p := range open[:len(open)/2] {
				bubble.Within(w, time.Minute, p.Decided())
				require.NoError(w, p.Ack(w.Context()))
			}
			open = open[len(open)/2:]
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

// An entry stands twice in an inbox: another client has made the second. The transaction is
// delivered once, and ends.
func TestAnEntryThatStandsTwice(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("c")
		c := w.coordinator(h)
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		for _, node := range w.nodes() {
			if strings.HasPrefix(node, path+"/inbox/") {
				_, err := h.Create(w.Context(), node[:len(node)-10]+"0000000900", nil)
				require.NoError(w, err)
			}
		}
		a := w.site(w.Host("a"), "a")
		p := bubble.Within(w, time.Second, a.Proposals())
		vote := bubble.Begin(func() error { return p.Commit(w.Context()) })
		require.NoError(w, bubble.Within(w, 30*time.Second, vote, "the vote is in ZooKeeper: %s", w.Server.Dump()))
		bubble.Within(w, time.Second, tx.Decided())
		bubble.Within(w, time.Minute, p.Decided(), "the one that was delivered first")
		require.NoError(w, p.Ack(w.Context()))
		require.NoError(w, a.Err())
	})
}
