package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// lines are the kinds of locks, by how one side of each is made: who holds first, who waits for it,
// and who wants it too.
var lines = map[string]func(w *world, h *bubble.Host, part string) *lock.Lock{
	"exclusive":            func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.lock(h) },
	"delay":                func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.lock(h, lock.WithDelay(time.Second)) },
	"simple":               func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.lock(h, lock.WithLayout(lock.Simple)) },
	"write":                func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.writer(h) },
	"semaphore":            func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(2)) },
	"semaphore of one":     func(w *world, h *bubble.Host, _ string) *lock.Lock { return w.semaphore(h, 1) },
	"read between writers": readBetween,
}

func readBetween(w *world, h *bubble.Host, part string) *lock.Lock {
	if part == "waiter" {
		return w.reader(h)
	}
	return w.writer(h)
}

// Seen on a real ensemble. The holder releases, and the waiter does not hear of it, since the
// leader that it is connected to stands still. The others elect another, the new leader ends the
// waiter's session, a rival is granted. The old leader wakes, takes the waiter's session up again,
// shows it its old tree, in which it is first, and answers its sync alone. The waiter must not be
// granted.
func TestADeposedLeaderThatWakesVouchesForNoWaiter(t *testing.T) {
	t.Parallel()
	for name, line := range lines {
		for _, tick := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
			t.Run(name+"/"+tick.String(), func(t *testing.T) {
				t.Parallel()
				for round := range uint64(8) {
					inBubble(t, func(w *world) { w.deposed(line, round) },
						zktest.WithServers(3), zktest.WithTick(tick), zktest.WithSeed(round+1))
				}
			})
		}
	}
}

func (w *world) deposed(line func(w *world, h *bubble.Host, part string) *lock.Lock, round uint64) {
	ha, hb, hc := w.onThree()
	holder, waiter, rival := line(w, ha, "holder"), line(w, hb, "waiter"), line(w, hc, "rival")
	w.granted(holder)
	w.queued(waiter)
	w.queued(rival)
	var granted *lock.Grant
	w.wakes(hb, round, func() { require.NoError(w, holder.Release(w.Context())) }, func() { granted = bubble.Within(w, 4*deposedTimeout, rival.Acquired()) })
	alone(w, granted, waiter.Acquired())
	require.NoError(w, rival.Release(w.Context()))
	bubble.Within(w, 2*deposedTimeout, waiter.Acquired())
	require.EqualValues(w, 2, hb.Status().Epoch)
}

const deposedTimeout = 6 * time.Second

// onThree are a holder, a waiter and a rival. The waiter is on the server that leads.
func (w *world) onThree() (holder, waiter, rival *bubble.Host) {
	on := func(name string, server int) *bubble.Host {
		return w.HostOn(name, w.Server.Hosts()[server:server+1], session.WithTimeout(deposedTimeout))
	}
	return on("holder", 1), on("waiter", 0), on("rival", 2)
}

// wakes deposes the leader, that the waiter is on, and lets it wake. It hears of what release does
// and passes no word of it on; granted waits for what comes of that elsewhere.
func (w *world) wakes(waiter *bubble.Host, round uint64, release, granted func()) {
	before := id(waiter)
	time.Sleep(2*deposedTimeout + time.Duration(round)*700*time.Millisecond)
	synctest.Wait()

	heal := w.Server.PartitionOneWay(before, zktest.FromServer) // the event of the release gets no further than the leader
	release()
	w.Server.Depose(0)
	heal()
	granted()
	for _, alive := w.Server.Session(before); alive; _, alive = w.Server.Session(before) { // by the grant, but where names have no number
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(round) * deposedTimeout / 7)
	synctest.Wait()
	w.Server.Continue(0)
}

// alone fails if the waiter is granted while the rival holds.
func alone[G possession](w *world, granted possession, waiter <-chan G) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	select {
	case g := <-waiter:
		require.False(w, granted.Valid(), "two hold at once: %d and %d", granted.Token(), g.Token())
	case <-ctx.Done():
		require.True(w, granted.Valid())
	}
}

// possession is a grant of one lock, or of several.
type possession interface {
	Valid() bool
	Token() int64
}

func id(h *bubble.Host) int64 { return h.Status().SessionID }
