// Contenders that wait behind another of their own session. The session tells them of its release;
// until then the machine's decisions are those of near.txt, late.txt and ahead.txt in
// recipes/internal/contend. Here are hand-overs between real sessions, and what they cost.

package lock_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest"
)

// work is for how long each of the workers holds.
const work = time.Millisecond

// workers contend, each once, and hold one at a time.
type workers struct {
	*bubble.World
	mu      sync.Mutex
	holds   *lock.Grant
	order   []string // who has held
	running sync.WaitGroup
}

// add has another worker wait, work and release.
func (n *workers) add(name string, l *lock.Lock) {
	n.running.Go(func() {
		g := held(n.World, l)
		n.mu.Lock()
		if h := n.holds; h != nil && h.Valid() && g.Valid() {
			n.Errorf("%s is granted %s while %s is held", name, g.Path(), h.Path())
		}
		n.holds, n.order = g, append(n.order, name)
		n.mu.Unlock()
		time.Sleep(work)
		_ = g.Release(n.Context()) // it may have been lost
	})
	synctest.Wait()
}

// behind adds this many workers of one session, "0", "1" and so on, behind a grant of that session.
func behind(w *bubble.World, h *bubble.Host, count int) (*lock.Grant, *workers) {
	g, n := held(w, newLock(h)), &workers{World: w}
	for i := range count {
		n.add(fmt.Sprint(i), newLock(h))
	}
	return g, n
}

// drain releases the grant before the workers, and returns how long it takes until all of them have
// had their turn, in order, and released.
func (n *workers) drain(g *lock.Grant, roundTrip time.Duration) time.Duration {
	n.Cleanup(n.Server.Host("a").Slow(roundTrip / 2))
	began := time.Now()
	require.NoError(n, g.Release(n.Context()))
	n.running.Wait()
	for i, name := range n.order {
		require.Equal(n, fmt.Sprint(i), name)
	}
	return time.Since(began)
}

// A waiter whose znode is deleted does not hold beside the rival behind it, however many of its
// session are ahead, and whichever of its requests are slow. It queues again at the end.
func TestAWaiterWithoutAZnodeIsNotGrantedByItsSession(t *testing.T) {
	type row struct {
		ahead  int
		slow   zktest.Op
		broken bool // by Break; otherwise deleted by hand
	}
	rows := map[string]row{}
	for _, ahead := range []int{1, 2, 500} {
		for _, slow := range []zktest.Op{zktest.OpDelete, zktest.OpGetData, zktest.OpGetChildren2} {
			for _, broken := range []bool{false, true} {
				rows[fmt.Sprintf("%d ahead, slow %v, broken %v", ahead, slow, broken)] = row{ahead, slow, broken}
			}
		}
	}
	eachRow(t, rows, func(w *bubble.World, row row) {
		h, rival := w.Host("a"), w.Host("b")
		first, n := behind(w, h, row.ahead-1)
		n.add("struck", newLock(h))
		n.add("next", newLock(h))
		n.add("rival", newLock(rival))
		struck := must(newLock(rival).Contenders(w.Context()))[row.ahead]
		w.Cleanup(fate(w, h, zktest.Delay(5*time.Millisecond), is(row.slow)))
		if row.broken {
			require.NoError(w, newLock(rival).Break(w.Context(), struck, 0))
		} else {
			require.NoError(w, w.Server.Znodes(w).Delete(struck.Path))
		}
		synctest.Wait()
		require.NoError(w, first.Release(w.Context()))
		n.running.Wait()
		require.Len(w, n.order, row.ahead+2, "each had its turn")
		require.Equal(w, "struck", n.order[row.ahead+1])
	})
}

// A hand-over within a session costs no listing, and does not wait for the deletion.
func TestAHandOverWithinASession(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		g, n := behind(w, h, 10)
		w.Server.ClearJournal()
		n.drain(g, 0)
		require.Len(w, n.order, 10)
		c := costOf(w, nil)
		require.Equal(w, 20, c.checks+c.others, "eleven deletions, and nine reads of the own znode")
		require.Equal(w, 10, c.events)

		g = held(w, newLock(h))
		next := queued(newLock(h))
		w.Cleanup(fate(w, h, zktest.Delay(time.Second), deletes))
		released := bubble.Begin(func() error { return g.Release(w.Context()) })
		synctest.Wait()
		require.Error(w, g.Err())
		require.Greater(w, bubble.Now(w, next.Acquired()).Token(), g.Token())
		require.NoError(w, bubble.Within(w, time.Minute, released))
	})
}

// A round trip may take nearly twice as long as the work, since the second behind the holder
// watches its own znode already.
func TestAHandOverWithinASessionDoesNotWaitForARoundTrip(t *testing.T) {
	const (
		count     = 10
		roundTrip = 3 * work / 2
		second    = roundTrip - work // of the workers: it alone is told only when the one ahead holds, and waits for its read
		last      = roundTrip        // of the last deletion
	)
	inBubble(t, func(w *bubble.World) {
		g, n := behind(w, w.Host("a"), count)
		require.Equal(w, count*work+second+last, n.drain(g, roundTrip))
	})
}

// A hundred possessions with a round trip of ten times the work. The session tells one waiter at
// first, then two, four and so on, to read its own znode. After six such waits the reads are ahead
// of the work.
const (
	longQueue  = 100
	longTrip   = 10 * work
	firstWait  = longTrip - work                                     // while one works
	laterWait  = longTrip - 2*work                                   // each of five, while two work
	queueTakes = longQueue*work + firstWait + 5*laterWait + longTrip // with the last deletion
)

func TestALongQueueWithinASessionWaitsForFewRoundTrips(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		g, n := behind(w, w.Host("a"), longQueue)
		require.Equal(w, queueTakes, n.drain(g, longTrip))
		require.Len(w, n.order, longQueue)
	})
}

// Every other waiter gives up and queues again, at the end. It no longer comes behind the contender
// that it followed before, and the queue takes as long as one that none has left.
func TestAQueueThatWasLeftAndJoinedAgainWaitsForFewRoundTrips(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		g, n := behind(w, h, 0)
		var again []*lock.Lock
		for i := range longQueue / 2 {
			again = append(again, queued(newLock(h)))
			n.add(fmt.Sprint(i), newLock(h))
		}
		for i, l := range again {
			require.NoError(w, l.Withdraw(w.Context()))
			n.add(fmt.Sprint(longQueue/2+i), l)
		}
		require.Equal(w, queueTakes, n.drain(g, longTrip))
	})
}

// The znode of the fourth is deleted after the fourth was told that the second holds. It queues
// again, behind the third as before, and is told once more when the third holds.
func TestAWaiterThatComesAgainDoesNotWaitForARoundTrip(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		g := held(w, newLock(h))
		second, third, fourth := queued(newLock(h)), queued(newLock(h)), queued(newLock(h))
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, second.Acquired())
		require.NoError(w, w.Server.Znodes(w).Delete(must(fourth.Contenders(w.Context()))[2].Path))
		synctest.Wait()
		require.NoError(w, g.Release(w.Context()))
		g = bubble.Within(w, time.Second, third.Acquired())
		w.Cleanup(w.Server.Host("a").Slow(5 * time.Millisecond))
		time.Sleep(time.Second)
		released := bubble.Begin(func() error { return g.Release(w.Context()) })
		require.NoError(w, bubble.Now(w, fourth.Acquired()).Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Second, released))
	})
}

// A reader does not wait for a writer whose znode was deleted, though that writer of its session
// waits for readers still, and has not heard of its end.
func TestAReaderDoesNotWaitForAWriterThatIsGone(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		held(w, reader(other))
		held(w, reader(other))
		gone, next := queued(writer(h)), queued(reader(h))
		all := must(gone.Contenders(w.Context()))
		require.Len(w, all, 4)
		require.NoError(w, newLock(other).Break(w.Context(), all[2], 0))
		bubble.Within(w, time.Minute, next.Acquired(), "no writer is ahead")
	})
}

// Contenders that join at one time share listings, which are sent behind their creates; so they do
// when they queue again after an expiry. The first create is slow, since one that is sent behind a
// listing would be answered behind it, and need another.
func TestContendersThatComeTogetherListTogether(t *testing.T) {
	const (
		slow   = 5 * time.Millisecond
		ahead  = 20 * time.Millisecond // of waiting: then a contender lists again, to look ahead
		counts = ahead + 2*slow        // so listings count for so long
		most   = 3                     // behind the first create, behind those that were answered first, behind the others
		count  = 100
	)
	eachRow(t, map[string]bool{"in the first epoch": false, "in the second": true}, func(w *bubble.World, expires bool) {
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
					return zktest.Delay(slow)
				}
			case zktest.OpGetChildren2:
				if time.Since(began) < counts {
					listings++
				}
				return zktest.Delay(slow)
			}
			return zktest.Pass
		}))
		for range count {
			newLock(h).Acquire()
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
		defer mu.Unlock()
		require.Equal(w, count, creates)
		require.LessOrEqual(w, listings, most)
	})
}

// A contender that was released and that servers show again is in the way of all until its session
// comes to stand right behind it, or next but one in the locks that look ahead. Then each has a
// turn.
func TestAContenderThatStandsAgainIsInNobodysWay(t *testing.T) {
	type row struct {
		build  builder
		rivals int // between the contender and the next of its session
	}
	kazoo := func(h *bubble.Host, _ ...lock.Option) *lock.Lock { return newLock(h, lock.WithLayout(lock.Kazoo)) }
	eachRow(t, map[string]row{
		"exclusive": {newLock, 0}, "exclusive, next but one": {newLock, 1}, "delayed": {delayed, 0}, "delayed, next but one": {delayed, 1},
		"shared": {writer, 0}, "kazoo": {kazoo, 0},
	}, func(w *bubble.World, row row) {
		n, h, rival := &workers{World: w}, w.Host("a"), w.Host("b")
		first := held(w, row.build(h))
		lost := false
		remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if lost || !deletes(r) {
				return zktest.Pass
			}
			lost = true
			return zktest.Fail(zktest.ErrNoNode)
		})
		require.NoError(w, first.Release(w.Context()))
		remove()
		for i := range row.rivals {
			n.add(fmt.Sprint("rival ", i), row.build(rival))
		}
		n.add("own", row.build(h))
		done := bubble.Begin(func() bool { n.running.Wait(); return true })
		bubble.Get(w, done, "each has a turn")
		require.Len(w, n.order, row.rivals+1)
	})
}

// However long a queue within a session is, and however far it has moved, at most 64 of it watch
// their own znodes beside the holder's when it does not move: longest in package session.
func TestAQueueThatDoesNotMoveKeepsFewWatches(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		g, _ := behind(w, h, 140)
		last := queued(newLock(h))
		for range 140 {
			queued(newLock(h))
		}
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Minute, last.Acquired())
		time.Sleep(time.Second)
		watches := kept(w, h).Watches
		require.Greater(w, watches, 32, "more and more of those who wait are told")
		require.LessOrEqual(w, watches, 65)
	})
}
