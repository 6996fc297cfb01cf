package losses_test

// Faults that end no possession, whatever its kind; faults of a waiter, and whether the waiter
// loses its place; and states with the same transaction numbers in an ensemble that has lost its
// data.

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// harmless are faults that a possession outlasts.
var harmless = map[string]func(d *duel){
	"a lost connection":     func(d *duel) { d.Server.Disconnect(d.id) },
	"a partition of 2 s":    func(d *duel) { time.AfterFunc(2*time.Second, d.a.host.Machine.Partition()) },
	"no server for 1 s":     func(d *duel) { d.Server.Kill(0); time.Sleep(time.Second); require.NoError(d, d.Server.Restart(0)) },
	"its ACL is taken away": func(d *duel) { d.refuse(d.held.Path()) },
	"a connection lost with a reply on its way": func(d *duel) {
		d.Kth(d.a.host.Session, 1, zktest.CutAfter)
		_, err := d.held.Commit(d.Context(), session.CreateOp("/committed", nil))
		require.ErrorIs(d, err, session.ErrUnknownOutcome)
		_, there, err := d.admin.Exists(d.Context(), "/committed")
		require.NoError(d, err)
		require.True(d, there)
	},
}

func TestWhatEndsNoPossession(t *testing.T) {
	t.Parallel()
	for what, strike := range harmless {
		for name, k := range kinds {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					d := w.begin(k, 0, 17*time.Second)
					strike(d)
					time.Sleep(20 * time.Second)
					synctest.Wait()
					require.NoError(w, d.held.Err())
					require.True(w, d.held.Valid())
					require.Empty(w, d.b.won)
					require.EqualValues(w, 1, d.a.host.Status().Epoch)
					released := time.Now()
					require.NoError(w, d.a.stop(bubble.Minute(w)))
					next := bubble.Within(w, time.Second, d.b.won)
					require.Equal(w, released, next.at)
				})
			})
		}
	}
}

// misfortune is a fault of a waiter.
type misfortune struct {
	strike func(d *duel)
	again  bool   // the waiter's znode is lost: it queues again, behind the others
	epoch  uint64 // the waiter's, in the end
}

var misfortunes = map[string]misfortune{
	"a lost connection": {strike: func(d *duel) { d.Server.Disconnect(d.id) }, epoch: 1},
	"a partition that its session outlives": {
		strike: func(d *duel) { time.AfterFunc(4*time.Second, d.a.host.Machine.Partition()) }, epoch: 1,
	},
	"no server for four seconds": {
		strike: func(d *duel) { d.Server.Kill(0); time.Sleep(4 * time.Second); require.NoError(d, d.Server.Restart(0)) }, epoch: 1,
	},
	"a panic":                              {strike: func(d *duel) { d.a.crash() }, again: true, epoch: 1},
	"a partition":                          {strike: func(d *duel) { time.AfterFunc(20*time.Second, d.a.host.Machine.Partition()) }, again: true, epoch: 2},
	"the end of its session at the server": {strike: func(d *duel) { d.Server.Expire(d.id) }, again: true, epoch: 2},
	"the deletion of its znode": {
		strike: func(d *duel) {
			s, _ := d.Server.Session(d.id)
			for _, at := range s.Ephemeral {
				require.NoError(d, d.admin.Delete(d.Context(), at, -1))
			}
		},
		again: true, epoch: 1,
	},
}

// B07, B11, B12, B33, B40: holder holds, first waits, and second waits behind first. The fault
// strikes first. It is not granted what is held, and comes before second, or behind it if first's
// znode was lost.
func TestThePlaceOfOneWhoWaits(t *testing.T) {
	t.Parallel()
	for what, m := range misfortunes {
		for name, k := range kinds {
			if k.unordered || name == "passage" {
				continue // unordered kinds have no places, and a round needs all parties
			}
			if name == "write lock" {
				k.rival = k.one // two readers would hold together
			}
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) { w.waiter(k, m) })
			})
		}
	}
}

func (w *world) waiter(k kind, m misfortune) {
	holder, first, second := k.rival(w, w.Host("holder")), k.one(w, w.Host("first")), k.rival(w, w.Host("second"))
	for _, c := range []*contender{holder, first, second} {
		c.want()
		synctest.Wait()
	}
	held := bubble.Within(w, time.Second, holder.won)
	time.Sleep(17 * time.Second)
	synctest.Wait()
	m.strike(&duel{world: w, kind: k, a: first, admin: w.Host("admin"), id: first.host.Status().SessionID})
	time.Sleep(time.Minute)
	synctest.Wait()
	if m.again {
		first, second = second, first // in the order in which they are granted
	}
	if held.Err() == nil {
		require.Empty(w, first.won)
		require.Empty(w, second.won)
		require.NoError(w, holder.stop(bubble.Minute(w)))
	}
	before := bubble.Within(w, time.Second, first.won)
	synctest.Wait()
	require.Empty(w, second.won)
	require.NoError(w, first.stop(bubble.Minute(w)))
	next := bubble.Within(w, time.Second, second.won)
	require.Greater(w, before.Token(), held.Token())
	require.Greater(w, next.Token(), before.Token())
	require.Equal(w, m.epoch, max(first.host.Status().Epoch, second.host.Status().Epoch))
}

// watched is a state that is watched over a loss of data: "one" makes it before, "two" after.
type watched struct {
	make  func(w *bubble.World, s *session.Session, who string)        // with the same number of transactions for both
	watch func(w *bubble.World, s *session.Session) (shows func() any) // shows returns what is seen now
	want  [2]any                                                       // what is seen before and after
}

func TestTheSameNumbersInAnotherHistoryAreNews(t *testing.T) {
	t.Parallel()
	create := func(w *bubble.World, s *session.Session, path, data string, opts ...session.CreateOption) {
		_, err := s.Create(bubble.Minute(w), path, []byte(data), opts...)
		require.NoError(w, err)
	}
	onlyData := func(w *bubble.World, s *session.Session, who string) { create(w, s, "/a", who) }
	for name, row := range map[string]watched{
		"data": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			return latest(s.WatchData(w.Context(), "/a"), func(d session.Data) any { return string(d.Bytes) })
		}, [2]any{"one", "two"}},
		"children": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", "")
			create(w, s, "/a/"+who, "")
		}, func(w *bubble.World, s *session.Session) func() any {
			return latest(s.WatchChildren(w.Context(), "/a"), func(c session.Children) any { return c.Names })
		}, [2]any{[]string{"one"}, []string{"two"}}},
		"a value": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			c, err := config.New(s, "/a", config.Text())
			require.NoError(w, err)
			return func() any { return c.Load().Value }
		}, [2]any{"one", "two"}},
		"a queue in which names come again": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", "")
			create(w, s, "/a/0123456789abcdef0123456789abcdef__lock__0000000000", who, session.Ephemeral())
		}, holder(lock.Kazoo), [2]any{"one", "two"}},
		"a lock that is one znode": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", who, session.Ephemeral())
		}, holder(lock.Simple), [2]any{"one", "two"}},
		"a barrier": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			b, err := barrier.New(s, "/a")
			require.NoError(w, err)
			var down atomic.Bool
			go func() { down.Store(b.Wait(w.Context()) == nil) }() // ends with the test
			return func() any { return down.Load() }
		}, [2]any{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) { sameNumbers(w, row) })
		})
	}
}

// holder shows the data of the holder of a lock.
func holder(layout lock.Layout) func(w *bubble.World, s *session.Session) func() any {
	return func(w *bubble.World, s *session.Session) func() any {
		l, err := lock.New(s, "/a", lock.WithLayout(layout))
		require.NoError(w, err)
		return latest(l.Observe(w.Context()), func(v lock.View) any {
			if len(v.Contenders) == 0 {
				return nil
			}
			return string(v.Contenders[0].Data)
		})
	}
}

// latest shows the state that was received last.
func latest[T any](states <-chan T, show func(T) any) func() any {
	var last any
	return func() any {
		for {
			select {
			case v := <-states:
				last = show(v)
			default:
				return last
			}
		}
	}
}

func sameNumbers(w *bubble.World, row watched) {
	var server atomic.Pointer[zktest.Server]
	server.Store(w.Server)
	dial := session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return server.Load().Dialer()(ctx, network, addr)
	})
	watcher := w.Session(dial, session.WithTimeout(6*time.Second)) // transaction 1
	row.make(w, w.Session(), "one")                                // from transaction 3 on
	shows := row.watch(w, watcher)
	time.Sleep(time.Second)
	require.Equal(w, row.want[0], shows())
	for range 100 {
		require.NoError(w, w.Server.Znodes(w).Set("/", nil))
	}
	require.NoError(w, watcher.SyncQuorum(bubble.Minute(w), "/"))

	other := zktest.Start(w)
	maker, err := session.Open(bubble.Minute(w), other.Hosts(), session.WithDialer(other.Dialer()))
	require.NoError(w, err)
	defer func() { _ = session.CloseWithin(maker, time.Minute) }()
	require.NoError(w, other.Znodes(w).Set("/", nil))
	row.make(w, maker, "two")
	server.Store(other)
	require.NoError(w, w.Server.Close())
	time.Sleep(20 * time.Second)
	require.ErrorIs(w, watcher.Status().Cause, session.ErrDataLoss)
	shows()
	synctest.Wait()
	require.Equal(w, row.want[1], shows())
}
