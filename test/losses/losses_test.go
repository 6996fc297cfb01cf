package losses_test

// What ends a possession, whatever its kind: when its Done closes, what its Err says, when the
// rival is granted, and what becomes of the loser.

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// loss is a way to lose what is held. In a duel a holds and is to lose, and b is next.
type loss struct {
	servers int              // 0: one
	opts    []session.Option // of the loser
	strike  func(d *duel) (heal func())

	// What the loser's possession says.
	cause error   // what its Err is, besides ErrLost
	end   instant // when it ends

	// What follows: the loser is ended for good, or competes again in an epoch.
	next     instant // when the next contender is granted, without its kind's delay
	anyNext  bool    // the next contender may be the loser
	released bool    // the possession is released, so that no delay is kept
	ended    error   // why the loser does not compete again; nil: it does
	epoch    uint64  // in which it does
}

var losses = map[string]loss{
	"a partition": {
		strike: func(d *duel) func() { return d.a.host.Machine.Partition() },
		cause:  session.ErrUntrusted, end: trusted, next: expired, epoch: 2,
	},
	"a partition that the session outlives": {
		strike: func(d *duel) func() {
			heal := d.a.host.Machine.Partition()
			context.AfterFunc(d.held.Context(), heal)
			return nothing
		},
		cause: session.ErrUntrusted, end: trusted, next: healed, epoch: 1,
	},
	"a server that is frozen": {
		strike: func(d *duel) func() { d.Server.Stop(0); return func() { d.Server.Continue(0) } },
		cause:  session.ErrUntrusted, end: trusted, next: expired, epoch: 2,
		servers: 3,
	},
	"a server that has lost its leader, and answers": {
		strike: func(d *duel) func() { return d.Server.IsolateServer(0, time.Hour) },
		cause:  session.ErrUntrusted, end: trusted, next: expired, epoch: 2,
		servers: 3,
	},
	"no server for four seconds": {
		strike: func(d *duel) func() {
			d.Server.Kill(0)
			time.AfterFunc(4*time.Second, func() { _ = d.Server.Restart(0) }) // it binds to nothing
			return nothing
		},
		cause: session.ErrUntrusted, end: trusted, next: within(6 * time.Second), epoch: 1,
	},
	"nobody reaches a server for a minute": {
		strike: func(d *duel) func() {
			healA, healB := d.a.host.Machine.Partition(), d.b.host.Machine.Partition()
			time.AfterFunc(time.Minute, func() { healA(); healB() })
			return nothing
		},
		cause: session.ErrUntrusted, end: trusted, next: within(2 * time.Minute), anyNext: true, epoch: 2,
	},
	"servers that come back after a minute, and know no session": {
		strike: func(d *duel) func() {
			d.Server.Kill(0)
			d.Server.LoseSessions()
			time.AfterFunc(time.Minute, func() { _ = d.Server.Restart(0) }) // it binds to nothing
			return nothing
		},
		cause: session.ErrUntrusted, end: trusted, next: within(2 * time.Minute), anyNext: true, epoch: 2,
	},
	"servers that come back after a minute, and know all sessions": {
		strike: func(d *duel) func() {
			d.Server.Kill(0)
			time.AfterFunc(time.Minute, func() { _ = d.Server.Restart(0) }) // it binds to nothing
			return nothing
		},
		cause: session.ErrUntrusted, end: trusted, next: within(2 * time.Minute), anyNext: true, epoch: 1,
	},
	"a machine that slept": {
		strike: func(d *duel) func() { sleeps(d.a.host.Session, time.Minute); return nothing },
		cause:  session.ErrUntrusted, end: within(100 * time.Millisecond), next: within(100 * time.Millisecond), epoch: 1,
	},
	"an expiry that the server decides on": {
		strike: func(d *duel) func() { return d.takes(func() { d.Server.Expire(d.id) }) },
		cause:  session.ErrLost, end: within(time.Second), next: atOnce, epoch: 2, // the loser is told when it has reconnected
	},
	"another session in place of the own, without a word": {
		strike: func(d *duel) func() { return d.takes(func() { d.Server.ExpireSilently(d.id) }) },
		cause:  session.ErrLost, end: within(time.Second), next: atOnce, epoch: 2, // the loser is told when it has reconnected
	},
	"a lost connection, in a strict session": {
		strike: func(d *duel) func() { d.Server.Disconnect(d.id); return nothing },
		cause:  session.ErrSuspended, end: atOnce, next: within(time.Second), epoch: 1,
		opts: []session.Option{session.WithStrict()},
	},
	"the end of its session": {
		strike: func(d *duel) func() { require.NoError(d, d.a.host.Close(d.Context())); return nothing },
		cause:  session.ErrClosed, end: atOnce, next: atOnce, ended: session.ErrClosed,
	},
	"its own end": {
		strike: func(d *duel) func() { require.NoError(d, d.a.close(d.Context())); return nothing },
		cause:  session.ErrClosed, end: atOnce, next: atOnce, ended: session.ErrClosed, released: true,
	},
	"a panic": {
		strike: func(d *duel) func() { d.a.crash(); return nothing },
		cause:  session.ErrRestarted, end: atOnce, next: within(time.Second), epoch: 1,
	},
	"the deletion of its znode": {
		strike: func(d *duel) func() { return d.takes(d.deletes) },
		cause:  session.ErrDeleted, end: atOnce, next: atOnce, epoch: 1,
	},
	"the deletion of its znode, which it may not read any more, when it commits": { // ZooKeeper tells it nothing
		strike: func(d *duel) func() {
			d.refuse(d.held.Path())
			d.takes(d.deletes)
			_, err := d.held.Commit(d.Context(), session.SetOp("/", nil, -1))
			require.ErrorIs(d, err, session.ErrDeleted)
			return nothing
		},
		cause: session.ErrDeleted, end: atOnce, next: atOnce, epoch: 1,
	},
	"the deletion of its znode, where it may not queue again": {
		strike: func(d *duel) func() {
			for above, _ := znode.Split(d.held.Path()); above != "/"; above, _ = znode.Split(above) {
				d.refuse(above)
			}
			return d.takes(d.deletes)
		},
		cause: session.ErrDeleted, end: atOnce, next: atOnce, ended: session.ErrNoAuth,
	},
}

// deletes has another client delete the holder's znode.
func (d *duel) deletes() {
	require.NoError(d, d.admin.Delete(d.Context(), d.held.Path(), -1))
}

// refuse takes all rights at a znode away from the holder, and leaves them to the rival and admin.
func (d *duel) refuse(path string) {
	d.Helper()
	_, err := d.admin.SetACL(d.Context(), path, session.AuthACL(session.PermAll), -1)
	require.NoError(d, err)
}

// B01, B02, B13, B15, B25, B31, B32, B37.
func TestLosses(t *testing.T) {
	t.Parallel()
	for what, l := range losses {
		for name, k := range kinds {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				for row, why := range k.deviates { // a part of a name in losses
					if strings.Contains(what, row) {
						t.Log(why)
						return
					}
				}
				inBubble(t, func(w *world) { w.loses(k, l, 17*time.Second) }, zktest.WithServers(max(l.servers, 1)))
			})
		}
	}
}

func (w *world) loses(k kind, l loss, pause time.Duration) {
	d := w.begin(k, max(l.servers, 1)-1, pause, l.opts...)
	d.kind.unordered = k.unordered || l.anyNext && !k.asks
	heal := l.strike(d)
	d.ends(l)
	heal()
	if l.ended != nil {
		require.ErrorIs(w, d.ended(), l.ended)
		return
	}
	d.again(l.epoch)
}

// ends checks how the holder loses, and when the rival wins.
func (d *duel) ends(l loss) {
	d.Helper()
	bubble.Within(d, time.Minute, d.held.Done())
	l.end.check(d, "the end", time.Now())
	require.False(d, d.held.Valid())
	require.ErrorIs(d, d.held.Err(), session.ErrLost)
	require.ErrorIs(d, d.held.Err(), l.cause)
	require.Equal(d, d.held.Err(), context.Cause(d.held.Context()))
	_, err := d.held.Commit(d.Context(), session.SetOp("/", nil, -1))
	require.ErrorIs(d, err, session.ErrLost)
	d.loser = d.a.host
	if s, alive := d.Server.Session(d.id); alive {
		d.lapse = s.Expires
	}
	next := d.next()
	if !l.released {
		l.next = l.next.later(d.kind.delay)
	}
	l.next.check(d, "the next", next.at)
	if next.possession != nil {
		require.Greater(d, next.Token(), d.held.Token())
		require.True(d, next.Valid())
	}
}

// next waits for the next possession: the rival's or, of an unordered kind, that of a or b, which
// are swapped if it is a's.
func (d *duel) next() *grant {
	d.Helper()
	if !d.kind.unordered {
		return bubble.Within(d, 2*time.Minute, d.b.won)
	}
	select {
	case g := <-d.a.won:
		d.a, d.b = d.b, d.a
		return g
	case g := <-d.b.won:
		return g
	case <-time.After(2 * time.Minute):
		d.Fatal("nobody is next")
		return nil
	}
}

// ended returns the error with which the loser ended, or was refused; nil if it still competes.
func (d *duel) ended() error {
	if d.kind.asks {
		d.a.want()
	}
	select {
	case err := <-d.a.refused:
		return err
	case <-d.a.ended.Done():
		return d.a.ended.Err()
	case <-time.After(time.Minute):
		return nil
	}
}

// again checks that the loser has queued again, behind the rival, and holds after it.
func (d *duel) again(epoch uint64) {
	d.Helper()
	if d.kind.asks {
		d.a.want()
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	require.Empty(d, d.a.won)
	lost := d.held
	require.NoError(d, d.b.stop(bubble.Minute(d)))
	d.held = bubble.Within(d, time.Minute, d.a.won)
	require.Greater(d, d.held.Token(), lost.Token())
	require.Equal(d, epoch, d.loser.Status().Epoch)
	require.False(d, lost.Valid())
}

// B05, B06, B44: the faults that no client is told of, at two dozen instants each that are drawn to
// the nanosecond, of a first epoch and of epochs after an expiry.
func TestSilentLossesAtAnyInstant(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"a partition", "a server that is frozen", "a server that has lost its leader, and answers"} {
		for name, k := range kinds {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(6) {
					inBubble(t, func(w *world) { w.losesOften(k, losses[what], rand.New(rand.NewPCG(seed, 6))) },
						zktest.WithServers(max(losses[what].servers, 1)), zktest.WithSeed(seed+1))
				}
			})
		}
	}
}

func (w *world) losesOften(k kind, l loss, rng *rand.Rand) {
	pause := func() time.Duration { return time.Duration(rng.Int64N(int64(20 * time.Second))) }
	d := w.begin(k, max(l.servers, 1)-1, pause())
	for epoch := range uint64(4) {
		heal := l.strike(d)
		d.ends(l)
		heal()
		d.again(epoch + 2)
		d.b.want()
		d.waits(pause())
	}
}
