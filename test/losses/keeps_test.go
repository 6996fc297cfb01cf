package losses_test

// What ends no possession, whatever its kind; and what befalls one who waits, and whether its place
// is lost by that.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
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

// misfortune befalls one who waits.
type misfortune struct {
	strike func(d *duel)
	again  bool   // its znode is lost: it stands again, behind the others
	epoch  uint64 // in the end
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

// B07, B11, B12, B40: one holds, one waits, and another one behind it. The one that waits is never
// granted what is held, and comes before the other one, or behind it if its znode was lost.
func TestThePlaceOfOneWhoWaits(t *testing.T) {
	t.Parallel()
	for what, m := range misfortunes {
		for name, k := range kinds {
			if k.unordered || name == "passage" {
				continue // there is no order: who asks first is first, and a round needs all
			}
			if name == "write lock" {
				k.rival = k.one // readers are in nobody's way but a writer's
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
		first, second = second, first
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
