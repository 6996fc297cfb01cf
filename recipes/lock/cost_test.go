// What docs/recipes/lock.md says about costs: an uncontended possession, a release with many in
// line (I8), what both allocate, and who asks for signs of life.

package lock_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest"
)

// asked counts what a session has asked for since the journal was cleared, but for pings: syncs,
// transactions that only check, and the rest.
func (w *world) asked(h *bubble.Host) (syncs, checks, others int) {
	synctest.Wait()
	for _, r := range w.Server.Journal() {
		switch {
		case r.SessionID != h.Status().SessionID || r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
		case r.Op == zktest.OpSync:
			syncs++
		case r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck:
			checks++
		default:
			others++
		}
	}
	return syncs, checks, others
}

// An uncontended possession costs what it has to, and no proof: the create is a write, and proves
// all that is needed. It is one request less if it is released before the znode's read is sent.
func TestWhatAnUncontendedPossessionCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build builder
		most  int
	}{
		"lock":      {(*world).lock, 4},   // create and list; read; delete
		"semaphore": {permits(1), 5},      // and the mark
		"simple":    {(*world).simple, 3}, // no list
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("a")
				l := c.build(w, h)
				require.NoError(w, w.held(l).Release(w.Context())) // the parent is made, and the limit known
				for i := range 5 {
					synctest.Wait()
					w.Server.ClearJournal()
					require.NoError(w, w.held(l).Release(w.Context()))
					syncs, checks, others := w.asked(h)
					require.Zero(w, syncs+checks)
					if i == 0 { // later the parent is gone
						require.Contains(w, []int{c.most - 1, c.most}, others)
					}
					time.Sleep(time.Hour)
				}
				w.granted(l)
				synctest.Wait()
				w.Server.ClearJournal()
				require.NoError(w, l.Close(w.Context()))
				_, _, others := w.asked(h)
				require.Equal(w, 1, others, "closing one that holds")
			})
		})
	}
}

// I8: a release wakes those who can proceed, and one more at most, however many are in line. Where
// there is no line, it wakes all, each of whom creates in vain, and looks, but for the winner.
func TestI8_WhatAReleaseCosts(t *testing.T) {
	t.Parallel()
	readersAround := func(w *world, h *bubble.Host, i int) *lock.Lock {
		if i == 20 {
			return w.writer(h)
		}
		return w.reader(h)
	}
	of := func(build builder) func(w *world, h *bubble.Host, i int) *lock.Lock {
		return func(w *world, h *bubble.Host, _ int) *lock.Lock { return build(w, h) }
	}
	for name, c := range map[string]struct {
		holder           builder
		waiter           func(w *world, h *bubble.Host, i int) *lock.Lock
		line, granted    int
		requests, events int
	}{
		"lock":                    {(*world).lock, of((*world).lock), 100, 1, 3, 3}, // the one behind who is granted lists, and reads its own znode
		"readers behind a writer": {(*world).writer, readersAround, 41, 20, 1 + 20, 1 + 20},
		"permits":                 {permits(3), of(permits(1)), 60, 3, 6 * (3 + 1), 2*3 + 3}, // each by its mark wakes itself and its successor
		"simple":                  {(*world).simple, of((*world).simple), 20, 1, 1 + 20 + 20, 1 + 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				g := w.held(c.holder(w, w.Host("holder")))
				hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
				var line []*lock.Lock
				for i := range c.line {
					line = append(line, w.queued(c.waiter(w, hosts[i%3], i)))
				}
				time.Sleep(time.Second) // in which they look ahead
				synctest.Wait()
				w.Server.ClearJournal()
				require.NoError(w, g.Release(w.Context()))
				time.Sleep(time.Second)
				synctest.Wait()
				requests, events := w.traffic()
				require.LessOrEqual(w, requests, c.requests)
				require.LessOrEqual(w, events, c.events)
				granted := 0
				for i, l := range line {
					select {
					case next := <-l.Acquired():
						granted++
						require.Greater(w, next.Token(), g.Token())
						require.True(w, i < c.granted || name == "simple", "out of turn")
					default:
					}
				}
				require.Equal(w, c.granted, granted)
			})
		})
	}
}

// What is allocated for a possession and for a hand-over, by the server of the tests too. A message
// more, a channel, a copy of a request or effects that grow as they are made show here. With the
// race detector a sync.Pool forgets things at random, so there the mean is some 380, give or take
// one; without it, the count is exact.
func TestWhatAPossessionAllocates(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	mostAlone, mostTwo := 130.0, 345.0 // 128, and 341 for two possessions
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		mostAlone, mostTwo = 155, 395
	}
	inBubble(t, func(w *world) {
		one, next := w.lock(w.Host("a")), w.lock(w.Host("b"))
		alone := testing.AllocsPerRun(200, func() { require.NoError(w, w.held(one).Release(w.Context())) })
		require.LessOrEqual(w, alone, mostAlone)
		handedOver := testing.AllocsPerRun(200, func() {
			first, second := w.held(one), make(chan *lock.Grant)
			go func() { second <- w.held(next) }()
			synctest.Wait()
			require.NoError(w, first.Release(w.Context()))
			require.NoError(w, (<-second).Release(w.Context()))
			synctest.Wait()
		})
		require.LessOrEqual(w, handedOver, mostTwo)
	})
}

// Who holds and who is next keep the trust that they need at once. The third in line, and all
// behind, ask for nothing.
func TestOnlyTheHolderAndTheNextInLineAskForSignsOfLife(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var hosts []*bubble.Host
		var locks []*lock.Lock
		for _, name := range []string{"holder", "next", "third", "fourth", "fifth"} {
			h := w.Host(name)
			hosts, locks = append(hosts, h), append(locks, w.queued(w.lock(h, lock.WithWarnAfter(0))))
		}
		grant := bubble.Within(w, time.Second, locks[0].Acquired())
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		for i, h := range hosts {
			syncs, checks, others := w.asked(h)
			require.Zero(w, checks, i)
			require.Zero(w, others, i)
			if i < 2 {
				require.InDelta(w, 600, syncs, 5, "one a second, a sixth of the timeout")
			} else {
				require.Zero(w, syncs, "number %d in line", i+1)
			}
		}

		w.Server.ClearJournal()
		require.NoError(w, grant.Release(w.Context()))
		second := bubble.Within(w, time.Second, locks[1].Acquired())
		_, checks, others := w.asked(hosts[1])
		require.Zero(w, checks, "who was next is granted without another trip")
		require.Zero(w, others)

		synctest.Wait() // the third looks ahead
		w.Server.ClearJournal()
		require.NoError(w, second.Release(w.Context()))
		bubble.Within(w, time.Second, locks[2].Acquired())
		_, checks, others = w.asked(hosts[2])
		require.Zero(w, checks, "nor who has become next since then")
		require.Zero(w, others)
	})
}

// Locks that are taken and released at one time share requests. None of them waits for that where a
// round trip is long, and none long.
func TestLocksOfOneTimeShareRequests(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{100 * time.Microsecond, 5 * time.Millisecond} {
		inBubble(t, func(w *world) {
			w.Cleanup(w.Server.Host("a").Slow(latency))
			h := w.Host("a")
			var locks []*lock.Lock
			for i := range 64 {
				locks = append(locks, w.at(h, fmt.Sprintf("%s/%d", path, i)))
				require.NoError(w, w.held(locks[i]).Release(w.Context()))
			}
			for range 3 {
				w.Server.ClearJournal()
				began := time.Now()
				var running sync.WaitGroup
				for _, l := range locks {
					running.Go(func() {
						g, err := l.Lock(w.Context())
						require.NoError(w, err)
						require.NoError(w, g.Release(w.Context()))
					})
				}
				running.Wait()
				took := time.Since(began)
				requests, _ := w.traffic()
				if latency > time.Millisecond {
					require.Equal(w, 4*latency, took)
					require.LessOrEqual(w, requests, 192)
				} else {
					require.LessOrEqual(w, took, 4*latency+time.Millisecond)
					require.LessOrEqual(w, requests, 48, "by themselves, they cost 192")
				}
			}
		})
	}
}
