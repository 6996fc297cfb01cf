// Contenders that wait for another of their own session, which is followed there: what others do to
// their znodes meanwhile.

package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// line is contenders of which one at a time may hold.
type line struct {
	*world
	mu      sync.Mutex
	holds   *lock.Grant
	order   []string // who has held
	running sync.WaitGroup
}

// waits has a contender wait, work for a millisecond and release.
func (n *line) waits(name string, l *lock.Lock) {
	n.running.Go(func() {
		g, err := l.Lock(n.Context())
		require.NoError(n, err)
		n.mu.Lock()
		if h := n.holds; h != nil && h.Valid() && g.Valid() {
			n.Errorf("%s is granted %s while %s is held", name, g.Path(), h.Path())
		}
		n.holds = g
		n.order = append(n.order, name)
		n.mu.Unlock()
		time.Sleep(time.Millisecond)
		_ = g.Release(n.Context()) // it may have been lost
	})
	synctest.Wait()
}

// before holds a lock while so many of the same session wait for it in a line.
func (w *world) before(h *bubble.Host, waiters int) (*lock.Grant, *line) {
	g, n := w.held(w.lock(h)), &line{world: w}
	for i := range waiters {
		n.waits(fmt.Sprint(i), w.lock(h))
	}
	return g, n
}

// slowed lets some requests of a session take a while.
func (n *line) slowed(h *bubble.Host, op zktest.Op) {
	id := h.Status().SessionID
	n.Cleanup(n.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && r.Op == op {
			return zktest.Delay(5 * time.Millisecond)
		}
		return zktest.Pass
	}))
}

// A waiter whose znode somebody deletes does not hold beside the rival behind it, however many of
// its session are ahead, and whichever of its requests are slow.
func TestAWaiterWithoutAZnodeIsNotGrantedByItsSession(t *testing.T) {
	t.Parallel()
	ways := map[string]func(ctx context.Context, admin *bubble.Host, path string) error{
		"deleted": func(ctx context.Context, admin *bubble.Host, path string) error { return admin.Delete(ctx, path, -1) },
		"broken": func(ctx context.Context, admin *bubble.Host, path string) error {
			return lock.Break(ctx, admin.Session, path, 0)
		},
	}
	for _, ahead := range []int{1, 2, 500} {
		for _, slow := range []zktest.Op{zktest.OpDelete, zktest.OpGetData, zktest.OpGetChildren2} {
			for way, strike := range ways {
				t.Run(fmt.Sprintf("%s with %d ahead, slow %v", way, ahead, slow), func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(w *world) {
						n := &line{world: w}
						h, rival := w.Host("a"), w.Host("b")
						first := w.held(w.lock(h))
						for i := range ahead - 1 {
							n.waits(fmt.Sprint(i), w.lock(h))
						}
						n.waits("struck", w.lock(h))
						n.waits("next", w.lock(h))
						n.waits("rival", w.lock(rival))
						all, err := w.lock(rival).Contenders(w.Context())
						require.NoError(w, err)
						n.slowed(h, slow)
						require.NoError(w, strike(w.Context(), rival, all[ahead].Path))
						synctest.Wait()
						require.NoError(w, first.Release(w.Context()))
						n.running.Wait()
						require.Len(w, n.order, ahead+2, "everybody had a turn")
						require.Equal(w, "struck", n.order[ahead+1], "at the end of the line, where its new znode is")
					})
				})
			}
		}
	}
}

// A waiter that was asked to give up is told when it is granted by its session, at the latest when
// its znode is read.
func TestAWaiterThatWasAskedToGiveUpIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		first := w.held(w.lock(h))
		second, third := w.queued(w.lock(h)), w.queued(w.lock(h))
		all, err := third.Contenders(w.Context())
		require.NoError(w, err)
		require.NoError(w, lock.Revoke(w.Context(), w.Host("b").Session, all[2].Path))
		require.NoError(w, first.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Second, second.Acquired()).Release(w.Context()))
		g := bubble.Within(w, time.Second, third.Acquired())
		bubble.Within(w, unwatched, g.Revoked())
		require.NoError(w, g.Release(w.Context()))
	})
}

// A writer that goes on as a reader has not released: the next writer of its session waits for that
// reader, though the writer's znode is gone.
func TestADowngradeIsNoRelease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		wrote := w.held(w.writer(h))
		next := w.queued(w.writer(h))
		reads, err := wrote.Downgrade(w.Context())
		require.NoError(w, err)
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-next.Acquired():
			require.Fail(w, "granted beside a reader")
		default:
		}
		require.NoError(w, reads.Release(w.Context()))
		g := bubble.Within(w, time.Second, next.Acquired())
		require.Greater(w, g.Token(), reads.Token())
	})
}

// What is handed over within a session costs no listing, and the next does not wait for the
// deletion.
func TestAHandOverWithinASession(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g, n := w.before(h, 10)
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		n.running.Wait()
		require.Equal(w, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, n.order)
		synctest.Wait()
		requests, events := w.traffic()
		require.Equal(w, 20, requests, "eleven deletions, and nine reads of the own znode")
		require.Equal(w, 10, events)

		g = w.held(w.lock(h))
		next := w.queued(w.lock(h))
		w.Cleanup(w.deaf(h, zktest.Delay(time.Second)))
		released := bubble.Begin(func() error { return g.Release(w.Context()) })
		synctest.Wait()
		require.Error(w, g.Err())
		began := time.Now()
		token := bubble.Within(w, time.Second, next.Acquired()).Token()
		require.Zero(w, time.Since(began))
		require.Greater(w, token, g.Token())
		require.NoError(w, bubble.Within(w, time.Minute, released))
	})
}

// A round trip may take nearly twice as long as the work: whoever is two places behind who holds
// watches its own znode already.
func TestAHandOverWithinASessionDoesNotWaitForARoundTrip(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g, n := w.before(h, 10)
		w.Cleanup(w.Server.Host("a").Slow(750 * time.Microsecond))
		began := time.Now()
		require.NoError(w, g.Release(w.Context()))
		n.running.Wait()
		require.Equal(w, 12*time.Millisecond, time.Since(began), "a millisecond each, half a one as the second had no such notice, and the last deletion")
	})
}

// Where a round trip takes ten times as long as the work, more and more of those who wait watch
// their own znodes in the time of one.
func TestALongLineWithinASessionWaitsForFewRoundTrips(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g, n := w.before(h, 100)
		w.Cleanup(w.Server.Host("a").Slow(5 * time.Millisecond))
		began := time.Now()
		require.NoError(w, g.Release(w.Context()))
		n.running.Wait()
		require.Equal(w, 159*time.Millisecond, time.Since(began), "a millisecond each; six waits for reads, the first of 9 ms and the others of 8, beside the work of those who were granted; the last deletion")
		require.Len(w, n.order, 100)
	})
}

// Every other one of those who wait gives up, and queues again: at the end of the line, so it no
// longer comes behind the contender that it followed before.
func TestALineThatWasLeftAndJoinedAgainWaitsForFewRoundTrips(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g, n := w.before(h, 0)
		var again []*lock.Lock
		for i := range 50 {
			again = append(again, w.queued(w.lock(h)))
			n.waits(fmt.Sprint(i), w.lock(h))
		}
		for i, l := range again {
			require.NoError(w, l.Release(w.Context()))
			n.waits(fmt.Sprint(50+i), l)
		}
		w.Cleanup(w.Server.Host("a").Slow(5 * time.Millisecond))
		began := time.Now()
		require.NoError(w, g.Release(w.Context()))
		n.running.Wait()
		require.Equal(w, 159*time.Millisecond, time.Since(began), "as in a line that nobody has left")
		for i, name := range n.order {
			require.Equal(w, fmt.Sprint(i), name)
		}
	})
}

// Somebody deletes the znode of the fourth after that was told that the second holds. It queues
// again, behind the third as before, and is told once more when the third holds.
func TestAWaiterThatComesAgainDoesNotWaitForARoundTrip(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g := w.held(w.lock(h))
		second, third, fourth := w.queued(w.lock(h)), w.queued(w.lock(h)), w.queued(w.lock(h))
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, second.Acquired())
		all, err := fourth.Contenders(w.Context())
		require.NoError(w, err)
		require.NoError(w, w.Server.Delete(all[2].Path))
		synctest.Wait()
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, third.Acquired())
		w.Cleanup(w.Server.Host("a").Slow(5 * time.Millisecond))
		time.Sleep(time.Second)
		released := bubble.Begin(func() error { return g.Release(w.Context()) })
		began := time.Now()
		g = bubble.Within(w, time.Second, fourth.Acquired())
		require.Zero(w, time.Since(began))
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Second, released))
	})
}

// An exclusive lock behind holders of a semaphore waits for all of them, also if the last one is of
// its own session and leaves first.
func TestAnExclusiveLockWaitsForEveryHolderOfASemaphoreBeforeIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		first := w.held(w.semaphore(other, 2))
		second := w.held(w.semaphore(h, 2))
		alone := w.queued(w.lock(h))
		require.NoError(w, second.Release(w.Context()))
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case g := <-alone.Acquired():
			require.False(w, g.Valid() && first.Valid(), "an exclusive lock is held beside a semaphore's permit")
		default:
		}
		require.NoError(w, first.Release(w.Context()))
		bubble.Within(w, time.Second, alone.Acquired())
	})
}

// A reader need not wait for a writer that somebody has removed from the line, though that writer
// waits for readers still, and has not heard of it.
func TestAReaderDoesNotWaitForAWriterThatIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		w.held(w.reader(other))
		w.held(w.reader(other))
		writer := w.queued(w.writer(h))
		reader := w.queued(w.reader(h))
		all, err := writer.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, all, 4)
		require.NoError(w, lock.Break(w.Context(), other.Session, all[2].Path, 0))
		bubble.Within(w, time.Minute, reader.Acquired(), "nobody is ahead that a reader waits for")
	})
}

// A writer whose znode was deleted before it was watched, and which learns of that when it is to be
// downgraded, is gone for those of its session that wait for it, too.
func TestAWriterThatIsGoneWhenItIsDowngradedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		wrote := w.held(w.writer(h))
		next := w.queued(w.writer(h))
		require.NoError(w, w.Server.Delete(wrote.Path()))
		_, err := wrote.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrDeleted)
		bubble.Within(w, time.Minute, next.Acquired(), "nobody is ahead")
	})
}

// Those that join a line at one time share a listing, which is sent after their creates. If the
// session expires meanwhile, they do the same in the next. The first create waits until all are
// sent, since one that is sent behind a listing is answered behind it, and wants another. Listings
// count for 30 ms: who has waited for 20 ms looks ahead, and lists for that.
func TestWhoComesTogetherListsTogether(t *testing.T) {
	t.Parallel()
	for _, expires := range []bool{false, true} {
		inBubble(t, func(w *world) {
			h := w.Host("a")
			require.NoError(w, h.EnsurePath(w.Context(), path))
			var mu sync.Mutex
			var began time.Time
			creates, listings := 0, 0
			w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				mu.Lock()
				defer mu.Unlock()
				switch r.Op {
				case zktest.OpCreate2:
					if creates++; creates == 1 {
						began = time.Now()
						return zktest.Delay(5 * time.Millisecond)
					}
				case zktest.OpGetChildren2:
					if time.Since(began) < 30*time.Millisecond {
						listings++
					}
					return zktest.Delay(5 * time.Millisecond)
				}
				return zktest.Pass
			}))
			var all []*lock.Lock
			for range 100 {
				l := w.lock(h)
				l.Acquire()
				all = append(all, l)
			}
			if expires {
				time.Sleep(12 * time.Millisecond)
				mu.Lock()
				creates, listings = 0, 0
				mu.Unlock()
				w.Server.Expire(h.Status().SessionID)
			}
			time.Sleep(5 * time.Second)
			mu.Lock()
			created, listed := creates, listings
			mu.Unlock()
			require.Equal(w, 100, created)
			require.LessOrEqual(w, listed, 3, "right behind the first create, behind those that were answered first, and behind the others")
			for range all {
				for _, l := range all {
					select {
					case g := <-l.Acquired():
						require.NoError(w, g.Release(w.Context()))
						require.NoError(w, l.Close(w.Context()))
					default:
					}
				}
				synctest.Wait()
			}
			require.Zero(w, w.nodes())
		})
	}
}

// A released contender that servers show again is in everybody's way until its session comes to
// stand right behind it; then everybody has a turn. Who looks ahead, as exclusive locks do, may
// stand next but one.
func TestAContenderThatStandsAgainIsInNobodysWay(t *testing.T) {
	t.Parallel()
	kinds := map[string]builder{
		"exclusive": (*world).lock,
		"shared":    (*world).writer,
		"delayed":   func(w *world, h *bubble.Host, _ ...lock.Option) *lock.Lock { return w.delayed(h) },
		"kazoo": func(w *world, h *bubble.Host, _ ...lock.Option) *lock.Lock {
			return w.lock(h, lock.WithLayout(lock.Kazoo))
		},
	}
	for kind, lockOf := range kinds {
		for others := range map[bool]int{true: 2, false: 1}[kind == "exclusive" || kind == "delayed"] {
			t.Run(fmt.Sprintf("%s, others between: %d", kind, others), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					n, h, rival := &line{world: w}, w.Host("a"), w.Host("b")
					first := w.held(lockOf(w, h))
					lost := false
					remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
						if lost || r.Op != zktest.OpDelete && (r.Op != zktest.OpMulti || kind != "delayed") {
							return zktest.Pass
						}
						lost = true
						return zktest.Fail(zktest.ErrNoNode)
					})
					require.NoError(w, first.Release(w.Context()))
					remove()
					for i := range others {
						n.waits(fmt.Sprint("rival ", i), lockOf(w, rival))
					}
					n.waits("own", lockOf(w, h))
					done := make(chan struct{})
					go func() { n.running.Wait(); close(done) }() // ends with the line
					bubble.Closes(w, done, "everybody has a turn")
					require.Len(w, n.order, others+1)
				})
			})
		}
	}
}

// However long a line within a session is, and however long it has moved: when it stands still, at
// most 64 of it watch their own znodes beside who holds.
func TestALineThatStandsStillKeepsFewWatches(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		g, _ := w.before(h, 140)
		last := w.queued(w.lock(h))
		for range 140 {
			w.queued(w.lock(h))
		}
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Minute, last.Acquired())
		time.Sleep(time.Second)
		watches := w.kept(h).Watches
		require.Greater(w, watches, 32, "more and more of those who wait are told")
		require.LessOrEqual(w, watches, 65)
	})
}
