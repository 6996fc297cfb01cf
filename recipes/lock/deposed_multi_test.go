package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// several are ways in which several locks are wanted at once.
var several = map[string]struct {
	held, rival    []string
	waiter, beside []string // on the session that is shown the old tree, and on another one
}{
	"the first is waited for": {held: []string{"/m/a"}, waiter: []string{"/m/a", "/m/b"}, rival: []string{"/m/a", "/m/b"}},
	"the last is":             {held: []string{"/m/b"}, waiter: []string{"/m/a", "/m/b"}, rival: []string{"/m/a", "/m/b"}},
	"all are":                 {held: []string{"/m/a", "/m/b"}, waiter: []string{"/m/a", "/m/b"}, rival: []string{"/m/a", "/m/b"}},

	// Here nothing is to be written after the last grant, so that it is trust alone that keeps it
	// from being one.
	"the last is, and the others are on a session that stands": {
		held: []string{"/m/c"}, beside: []string{"/m/a"}, waiter: []string{"/m/c"}, rival: []string{"/m/b", "/m/c"},
	},
}

// The same with several locks at once: the waiter is to have all of them, or none.
func TestADeposedLeaderThatWakesVouchesForNoneOfSeveral(t *testing.T) {
	t.Parallel()
	for name := range several {
		for _, tick := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
			t.Run(name+"/"+tick.String(), func(t *testing.T) {
				t.Parallel()
				for round := range uint64(8) {
					inBubble(t, func(w *world) { w.deposedOfSeveral(name, round) },
						zktest.WithServers(3), zktest.WithTick(tick), zktest.WithSeed(round+1))
				}
			})
		}
	}
}

func (w *world) deposedOfSeveral(way string, round uint64) {
	ha, hb, hc := w.onThree()
	hd := w.HostOn("beside", w.Server.Hosts()[2:], session.WithTimeout(deposedTimeout))
	paths := several[way]
	first, _ := w.multi(ha, paths.held...)
	held, err := first.Lock(w.Context())
	require.NoError(w, err)
	_, parts := w.multi(hb, paths.waiter...)
	for _, path := range paths.beside {
		parts = append(parts, w.at(hd, path))
	}
	waiter := w.wanted(parts)
	_, parts = w.multi(hc, paths.rival...)
	rival := w.wanted(parts)
	var granted *lock.MultiGrant
	w.wakes(hb, round, func() { require.NoError(w, held.Release(w.Context())) }, func() { granted = bubble.Within(w, 4*deposedTimeout, rival) })
	alone(w, granted, waiter)
	require.NoError(w, granted.Release(w.Context()))
	g := bubble.Within(w, 2*deposedTimeout, waiter)
	require.True(w, g.Valid())
	require.EqualValues(w, 2, hb.Status().Epoch)
}

// wanted waits for all locks in the background.
func (w *world) wanted(locks []*lock.Lock) <-chan *lock.MultiGrant {
	w.Helper()
	m, err := lock.NewMulti(locks...)
	require.NoError(w, err)
	got := make(chan *lock.MultiGrant, 1)
	go func() {
		g, err := m.Lock(w.Context())
		if err != nil {
			w.Error(err)
			return
		}
		got <- g
	}()
	synctest.Wait()
	return got
}
