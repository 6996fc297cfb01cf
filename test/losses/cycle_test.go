package losses_test

// Whole cycles of each kind and each layout, while requests and replies are lost and actors panic
// at any moment: the outcome is right, and nothing is left behind. And a server that was deposed as
// leader vouches for no waiter.

import (
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// contended returns the kinds whose contenders queue or race for a znode, and those of the layouts
// of other libraries. Items of queues and rounds of barriers have tests of their own.
func contended() map[string]kind {
	all := maps.Clone(kinds)
	delete(all, "queue item")
	delete(all, "passage")
	for _, l := range []lock.Layout{lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper, lock.Page} {
		all["lock as "+l.String()] = both(acquiring(exclusive(lock.WithLayout(l))))
	}
	for _, l := range []lock.Layout{lock.Simple, lock.JavaWriteLock} { // the znode's name does not tell whose it is
		all["lock with data as "+l.String()] = both(acquiring(exclusive(lock.WithLayout(l), lock.WithData([]byte("me")))))
	}
	for _, l := range []election.Layout{election.Curator, election.Kazoo, election.LeaderElectionSupport} {
		all["term as "+l.String()] = both(candidate(election.WithLayout(l), election.WithName("host")))
	}
	return all
}

// B02, B03, B04, B14, B27, B34, B39, B41, B48, B75: whichever request or reply of a whole cycle is
// lost.
func TestLostRepliesOfACycle(t *testing.T) {
	t.Parallel()
	for name, k := range contended() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.EachFate(t, func(bw *bubble.World, n int, strike func(s *session.Session)) {
				w := &world{World: bw}
				w.cycle(k, n, func(a *contender) { strike(a.host.Session) })
			}, bubble.Brisk()...)
		})
	}
}

// The actor panics at the n-th request. That request is served at once, or its reply is lost with
// the connection, or it takes a second.
func TestAPanicAtAnyMomentOfACycle(t *testing.T) {
	t.Parallel()
	for name, k := range contended() {
		if name == "write lock" {
			k.rival = k.one // as readers, b and the twin would hold together, once the writer has queued again behind both
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fate := range []zktest.Verdict{zktest.Pass, zktest.CutAfter, zktest.Delay(time.Second)} {
				for n, met := 1, true; met; n++ {
					inBubble(t, func(w *world) {
						var reached func() bool
						w.cycle(k, n, func(a *contender) {
							reached = w.AtKth(a.host.Session, n, func(*zktest.Request) zktest.Verdict { a.crash(); return fate }, zktest.OpSync)
						})
						met = reached()
					})
				}
			}
		})
	}
}

// cycle lets two contenders of one session, a and its twin, wait for b, hold one after the other,
// and give up. hit arranges the n-th fault of a.
func (w *world) cycle(k kind, n int, hit func(a *contender)) {
	w.Helper()
	host := w.Host("a")
	b, a, twin := k.rival(w, w.Host("b")), k.one(w, host), k.rival(w, host)
	b.want()
	bubble.Within(w, time.Second, b.won)
	hit(a)
	a.want()
	time.Sleep(time.Second)
	twin.want()
	time.Sleep(2 * time.Second)
	require.NoError(w, b.stop(bubble.Minute(w)), "n=%d", n)
	for range 2 {
		c, next, g := a, twin, (*grant)(nil)
		select {
		case g = <-a.won:
		case g = <-twin.won:
			c, next = twin, a
		case <-time.After(2 * time.Minute):
			w.Fatalf("n=%d: nobody holds\n%s", n, w.Server.Dump())
		}
		synctest.Wait()
		require.Empty(w, next.won, "n=%d", n)
		_, _ = g.Commit(w.Context(), session.SetOp("/losses", nil, -1)) // this request may be the one that is lost
		_ = c.stop(bubble.Minute(w))                                    // an error if the fault has ended the possession
		for len(c.won) > 0 {
			<-c.won // c has won again meanwhile
		}
	}
	b.want()
	bubble.Within(w, time.Minute, b.won)
	require.NoError(w, b.stop(bubble.Minute(w)), "n=%d", n)
	time.Sleep(3 * time.Second)
	for _, s := range w.Server.Sessions() {
		require.Empty(w, s.Ephemeral, "n=%d: something was left behind", n)
	}
	require.NotContains(w, w.Server.Dump(), path+"/held", "n=%d: the record of a holder that died was left behind", n)
}

// A departure is the transaction with which an instance of a lock with a delay gives up before it
// is granted: it deletes the instance's znode together with the lock's record.
//
//  1. The instance departs. The departure is lost, or the server puts it off.
//  2. The actor crashes. The next one deletes the znode, queues again, and is granted.
//  3. A rival queues behind it.
//
// A departure that came only now would delete the record of the possession, and the rival would not
// wait for that one's delay. After the crash a departure that was lost is not repeated.
func TestADepartureUnderWayBehindACrash(t *testing.T) {
	rows := map[string]zktest.Verdict{}
	for i := range 20 { // in another order each time: the recovery and the departure run side by side
		rows[fmt.Sprint("lost ", i)], rows[fmt.Sprint("put off ", i)] = zktest.CutBefore, zktest.Fail(zktest.ErrThrottled)
	}
	t.Parallel()
	bubble.EachRow(t, rows, crashedDeparture, bubble.Brisk()...)
}

func crashedDeparture(w *bubble.World, fate zktest.Verdict) {
	h := w.Host("a", session.WithTrustMargin(4500*time.Millisecond))
	delayed := func(h *bubble.Host) *lock.Lock { return must(lock.New(h.Session, path, lock.WithDelay(delay))) }
	l, rival, id := delayed(h), delayed(w.Host("b")), h.Status().SessionID
	const tooSlow = 1600 * time.Millisecond // more than the trust that is left of the timeout of 6 s less the margin: no grant
	var slow, wrote, refused, granted atomic.Bool
	var repeated atomic.Int64
	lost := make(chan struct{}, 1)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		departure := r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpDelete
		switch {
		case r.SessionID != id || r.Op == zktest.OpConnect || r.Op == zktest.OpPing:
			return zktest.Pass
		case departure && !granted.Load():
			select {
			case lost <- struct{}{}:
			default:
			}
			return fate
		case departure:
			repeated.Add(1)
			return zktest.Pass
		case r.Op == zktest.OpMulti && !wrote.Swap(true): // the token is written into the record
			slow.Store(true)
		case r.Op == zktest.OpGetData && !refused.Swap(true): // the znode can't be watched, so the instance departs; may come before the token
			return zktest.Fail(zktest.ErrNoAuth)
		}
		if slow.Load() {
			return zktest.Delay(tooSlow)
		}
		return zktest.Pass
	}))
	l.Acquire()
	bubble.Within(w, time.Minute, lost)
	slow.Store(false)
	panics(l, "instance")()
	g := bubble.Within(w, time.Minute, l.Acquired())
	granted.Store(true)
	rival.Acquire()
	time.Sleep(time.Minute)
	require.NoError(w, g.Err())
	bubble.Never(w, rival.Acquired(), "beside the holder")
	if fate == zktest.CutBefore {
		require.Zero(w, repeated.Load())
	}
	require.NoError(w, l.Withdraw(w.Context()))
	require.NoError(w, bubble.Within(w, time.Second, rival.Acquired()).Release(w.Context()))
	require.NoError(w, rival.Close(w.Context()))
	require.NotContains(w, w.Server.Dump(), "/_c_")
	require.NotContains(w, w.Server.Dump(), path+"/held")
}

const (
	deposedTimeout = 6 * time.Second
	// A session that is said to have expired, in which something was under way, is taken for gone
	// after twice the timeout and two ticks. A session that wasn't told of a tick assumes half of
	// its timeout. It asks again after a pause of at most five seconds.
	deposedGone = 2*(deposedTimeout+deposedTimeout/2) + 5*time.Second
)

// Seen on a real ensemble:
//
//  1. The leader that the waiter is connected to freezes. The holder releases; the waiter is not told.
//  2. The other servers elect a leader, which ends the waiter's session. A rival is granted.
//  3. The old leader wakes and takes the waiter's session up again. In its old tree the waiter is
//     next, and it answers the waiter's sync alone.
//
// The waiter must not be granted.
func TestADeposedLeaderThatWakesVouchesForNoWaiter(t *testing.T) {
	t.Parallel()
	all := contended()
	all["multi lock on two sessions"] = kind{one: onTwoSessions, rival: both(acquiring(exclusive())).one}
	for name, k := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range 8 {
				tick := []time.Duration{500 * time.Millisecond, 2 * time.Second}[round%2]
				inBubble(t, func(w *world) { w.deposed(k, round) }, zktest.WithServers(3), zktest.WithTick(tick), zktest.WithSeed(uint64(round)+1))
			}
		})
	}
}

// onTwoSessions makes a multi lock whose first lock is on another session than the host's. After
// the second lock nothing is written, so only the trust of the host's session can prevent a false
// grant.
func onTwoSessions(w *world, h *bubble.Host) *contender {
	other := w.HostOn("other", w.Server.Hosts()[2:], session.WithTimeout(deposedTimeout))
	first, second := must(lock.New(other.Session, "/losses/a")), must(lock.New(h.Session, path))
	return calls(w, as(h, second, "instance"), must(lock.NewMulti(first, second)).Lock)
}

// deposed plays the steps of TestADeposedLeaderThatWakesVouchesForNoWaiter. Each round has other
// instants for the freeze and the waking.
func (w *world) deposed(k kind, round int) {
	on := func(name string, server int) *bubble.Host {
		return w.HostOn(name, w.Server.Hosts()[server:server+1], session.WithTimeout(deposedTimeout))
	}
	holder, waiter, rival := k.rival(w, on("holder", 1)), k.one(w, on("waiter", 0)), k.rival(w, on("rival", 2))
	for _, c := range []*contender{holder, waiter, rival} {
		c.want()
		synctest.Wait()
	}
	bubble.Within(w, time.Second, holder.won)
	id := waiter.host.Status().SessionID
	time.Sleep(2*deposedTimeout + time.Duration(round)*700*time.Millisecond)
	synctest.Wait()

	heal := w.Server.PartitionOneWay(id, zktest.FromServer) // the waiter gets no event of the release
	require.NoError(w, holder.stop(bubble.Minute(w)))
	w.Server.Depose(0)
	heal()
	granted := bubble.Within(w, 4*deposedTimeout, rival.won)
	for _, alive := w.Server.Session(id); alive; _, alive = w.Server.Session(id) { // it has ended before the rival's grant, but for layouts whose names have no number
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(round) * deposedTimeout / 7)
	synctest.Wait()
	w.Server.Continue(0)
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if len(waiter.won) == 0 {
		require.True(w, granted.Valid())
		require.NoError(w, rival.stop(bubble.Minute(w)))
		bubble.Within(w, deposedGone, waiter.won)
	}
	require.False(w, granted.Valid())
	require.EqualValues(w, 2, waiter.host.Status().Epoch)
}
