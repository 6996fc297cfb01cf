// Long inboxes: how often they are listed, that all is offered once, the bound.
// Helpers: world_test.go.

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

// window is the number of transactions that a site has before it at a time.
const window = 256

// inboxReads counts the listings of the inbox that the server answers, and about how many bytes
// they have.
func inboxReads(w *bubble.World, names func() int) (count func() (listings, bytes int)) {
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

// A site lists its inbox when all known entries are taken and it has room, and not at each new
// transaction or acknowledgement: with 2,000 transactions that wait for it, or begin while it is
// there. It is offered its own alone, each once, oldest first, and never more than a window.
func TestHowOftenAnInboxIsListed(t *testing.T) {
	t.Parallel()
	const n, entry = 2000, 60 // transactions; about the bytes of an entry's name
	for name, c := range map[string]struct {
		away            bool
		listings, bytes int // at the most
	}{
		"it was away":  {true, 4, 4 * n * entry},
		"it was there": {false, window + 4, 5_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *bubble.World) {
				coordinator := newCoordinator(w, w.Host("c"), twopc.WithVoteTimeout(time.Hour))
				b := newSite(w, w.Host("b"), "b")
				var site *twopc.Site
				var left atomic.Int64
				count := inboxReads(w, func() int { return int(left.Load()) * entry })
				if !c.away {
					site = newSite(w, w.Host("a"), "a")
				}
				for i := range n {
					must(coordinator.Begin(w.Context(), fmt.Sprint("t", i), nil, "a"))
					left.Add(1)
					time.Sleep(time.Millisecond)
				}
				if c.away {
					site = newSite(w, w.Host("a"), "a")
				}
				var open []*twopc.Proposal
				for i := range n {
					if len(open) == window {
						bubble.Never(w, site.Proposals(), "the window is full")
						require.NoError(w, open[0].Ack(w.Context()))
						left.Add(-1)
						open = open[1:]
					}
					p := bubble.Within(w, time.Second, site.Proposals())
					require.Equal(w, fmt.Sprint("t", i), p.ID())
					require.NoError(w, p.VoteCommit(w.Context()))
					<-p.Decided()
					open = append(open, p)
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

// A whole window was offered and not received yet when another client deletes all of it, and the
// actor panics: later transactions are offered all the same, and the application learns that the
// others are gone.
func TestNothingIsDroppedBehindAFullWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		c := newCoordinator(w, h, twopc.WithVoteTimeout(time.Hour))
		site := newSite(w, w.Host("a"), "a")
		for i := range window {
			must(c.Begin(w.Context(), fmt.Sprint("t", i), nil, "a"))
		}
		time.Sleep(time.Minute) // all are offered
		require.NoError(w, h.DeleteAll(w.Context(), path+"/inbox/a"))
		require.NoError(w, h.DeleteAll(w.Context(), path+"/tx"))
		synctest.Wait()
		site.Crash("a bug")
		time.Sleep(time.Minute)
		for i := range 10 {
			must(c.Begin(w.Context(), fmt.Sprint("later", i), nil, "a"))
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

// An inbox has a bound: if it is full, Begin returns ErrBusy, and nothing has begun. When there is
// room, it begins again. A coordinator goes by the number that its last Begin has shown.
func TestAFullInboxIsBusy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		h := w.Host("c")
		c := newCoordinator(w, h, twopc.WithVoteTimeout(time.Hour))
		for i := range 8190 {
			must(h.Create(w.Context(), fmt.Sprint(path, "/inbox/a/x", i), nil, session.Parents()))
		}
		for i := range 2 {
			must(c.Begin(w.Context(), fmt.Sprint("t", i), nil, "a"))
		}
		for range 2 {
			_, err := c.Begin(w.Context(), "more", nil, "b", "a")
			require.ErrorIs(w, err, twopc.ErrBusy)
			require.ErrorContains(w, err, `"a"`)
		}
		_, err := c.Begin(w.Context(), "elsewhere", nil, "b")
		require.NoError(w, err)
		require.NotContains(w, strings.Join(nodes(w), " "), "more")
		require.NoError(w, h.Delete(w.Context(), path+"/inbox/a/x0", -1))
		must(c.Begin(w.Context(), "more", nil, "b", "a"))
		_, err = c.Begin(w.Context(), "even more", nil, "a")
		require.ErrorIs(w, err, twopc.ErrBusy)
	})
}
