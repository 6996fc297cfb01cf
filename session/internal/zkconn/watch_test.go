// Watches: armed, disarmed by events, armed again on the next connection, removed.

package zkconn_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// armAll arms a watch of each kind, on /data (Get), /there and /absent (Exists), /kids (Children).
func (b *bench) armAll() {
	b.Helper()
	b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
		if q.Path == "/absent" {
			return failure(jute.NoNode), true
		}
		return success(q), true
	})
	_, _, err := b.Get("/data", true)
	require.NoError(b, err)
	_, exists, err := b.Exists("/there", true)
	require.NoError(b, err)
	require.True(b, exists)
	_, exists, err = b.Exists("/absent", true)
	require.NoError(b, err)
	require.False(b, exists)
	_, _, err = b.Children("/kids", true)
	require.NoError(b, err)
	_, _, err = b.Get("/absent", true)
	require.ErrorIs(b, err, zkconn.ErrNoNode)
	_, _, err = b.Children("/absent", true)
	require.ErrorIs(b, err, zkconn.ErrNoNode)
	_, _, err = b.Get("/unwatched", false)
	require.NoError(b, err)
}

// rearmed is what the client asked to be armed again on a connection.
func rearmed(v *visit) (data, birth, brood []string, zxid []int64) {
	for _, q := range v.asked() {
		if q.Op == jute.OpSetWatches {
			data, birth, brood = append(data, q.DataW...), append(birth, q.ExistW...), append(brood, q.ChildW...)
			zxid = append(zxid, q.Zxid)
		}
	}
	return data, birth, brood, zxid
}

func TestEventsAreToldInWireOrder(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		var want []zkconn.Event
		for i := range 100 {
			ev := zkconn.Fired{Type: jute.EventType(i%4 + 1), Path: fmt.Sprintf("/%d", i)}
			want = append(want, ev)
			v.fire(ev.Type, ev.Path)
		}
		v.fire(-1, "")
		v.fire(99, "/x")
		synctest.Wait()
		require.Equal(b, want, b.sink.all()[1:])
		require.Equal(b, "NodeDeleted", jute.NodeDeleted.String())
	})
}

func TestManyWatchesAreArmedInBatches(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		want := map[string]bool{}
		for i := range 3000 {
			path := fmt.Sprintf("/%0100d", i)
			_, _, err := b.Get(path, true)
			require.NoError(b, err)
			want[path] = true
		}
		time.Sleep(time.Minute)
		v.hangUp()
		synctest.Wait()
		data, _, _, zxids := rearmed(b.visit(1))
		require.Equal(b, []int64{3000, 3000, 3000}, zxids)
		for _, path := range data {
			delete(want, path)
		}
		require.Empty(b, want)
	})
}

// removals are what the client asked to be removed on a connection: kind by path.
func removals(v *visit) map[string]int32 {
	all := make(map[string]int32)
	for _, q := range v.asked() {
		if q.Op == jute.OpRemoveWatches {
			all[q.Path] = q.Kind
		}
	}
	return all
}

// What is removed is named by the server's two kinds, and is not armed again, whatever became of
// the answer.
func TestRemovedWatchesAreNotArmedAgain(t *testing.T) {
	each(t, map[string]func(q jute.Request) (jute.Reply, bool){
		"removed":  func(q jute.Request) (jute.Reply, bool) { return success(q), true },
		"fired":    func(jute.Request) (jute.Reply, bool) { return failure(jute.NoWatcher), true },
		"no reply": func(jute.Request) (jute.Reply, bool) { return jute.Reply{}, false },
	}, func(b *bench, answer func(q jute.Request) (jute.Reply, bool)) {
		v := b.connected()
		b.armAll()
		b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpRemoveWatches {
				return answer(q)
			}
			return success(q), true
		})
		require.True(b, b.Watches(zkconn.Watch{Path: "/absent"}))
		require.NoError(b, b.Unwatch([]zkconn.Watch{{Path: "/data"}, {Path: "/absent"}, {Path: "/kids", Children: true}}))
		require.False(b, b.Watches(zkconn.Watch{Path: "/absent"}))
		require.Equal(b, map[string]int32{"/data": 2, "/absent": 2, "/kids": 1}, removals(v))
		v.hangUp()
		time.Sleep(time.Minute)
		data, birth, brood, _ := rearmed(b.visit(1))
		require.Equal(b, []string{"/there"}, data)
		require.Empty(b, birth)
		require.Empty(b, brood)
	})
}

// While there is no connection nothing needs to be asked.
func TestRemovalsWithoutAConnectionAskNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.armAll()
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		v.hangUp()
		synctest.Wait()
		require.NoError(b, b.Unwatch([]zkconn.Watch{{Path: "/data"}, {Path: "/there"}, {Path: "/kids", Children: true}}))
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Minute)
		data, birth, brood, _ := rearmed(b.visit(1))
		require.Empty(b, data)
		require.Equal(b, []string{"/absent"}, birth)
		require.Empty(b, brood)
		require.NoError(b, b.Close(b.Context()))
		require.ErrorIs(b, b.Unwatch([]zkconn.Watch{{Path: "/absent"}}), zkconn.ErrEnded)
	})
}
