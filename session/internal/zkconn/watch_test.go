package zkconn_test

import (
	"fmt"
	"slices"
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
	b.script(func() {
		b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
			if q.Path == "/absent" {
				return failure(jute.NoNode), true
			}
			return success(q), true
		}
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

func TestWatchFlagIsOnTheWire(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.armAll()
		for _, q := range v.asked() {
			require.Equal(b, q.Path != "/unwatched", q.Watch, q.Path)
		}
	})
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

// B68: what changed while the connection was down is told, right after the Up.
func TestB68_WatchesAreArmedAgainBeforeUp(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.armAll()
		time.Sleep(time.Minute)
		b.script(func() {
			b.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
				if q.Op == jute.OpSetWatches {
					v.fire(jute.NodeDataChanged, "/data")
					v.fire(jute.NodeCreated, "/absent")
				}
				return success(q), true
			}
		})
		v.hangUp()
		synctest.Wait()
		data, birth, brood, zxid := rearmed(b.visit(1))
		require.ElementsMatch(b, []string{"/data", "/there"}, data)
		require.Equal(b, []string{"/absent"}, birth)
		require.Equal(b, []string{"/kids"}, brood)
		require.Equal(b, []int64{7}, zxid, "the last answer's")
		require.EqualValues(b, 7, b.visit(1).hello.LastZxidSeen)

		events := b.sink.all()
		require.IsType(b, zkconn.Down{}, events[1])
		require.Equal(b, []zkconn.Event{
			zkconn.Up{SessionID: 7, Timeout: timeout, Server: "a:1", Address: "a:1", Asked: last[zkconn.Up](b.sink).Asked},
			zkconn.Fired{Type: jute.NodeDataChanged, Path: "/data"},
			zkconn.Fired{Type: jute.NodeCreated, Path: "/absent"},
		}, events[2:])

		time.Sleep(time.Minute)
		b.visit(1).hangUp()
		synctest.Wait()
		data, birth, brood, _ = rearmed(b.visit(2))
		require.Equal(b, []string{"/there"}, data, "what fired is disarmed")
		require.Empty(b, birth)
		require.Equal(b, []string{"/kids"}, brood)
	})
}

func TestEventsDisarm(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		event               jute.EventType
		data, birth, brood  bool // armed before, on the same path
		lData, lBirth, lKid bool // left
	}{
		"created":          {event: jute.NodeCreated, birth: true},
		"changed":          {event: jute.NodeDataChanged, data: true, brood: true, lKid: true},
		"children changed": {event: jute.NodeChildrenChanged, data: true, brood: true, lData: true},
		"deleted":          {event: jute.NodeDeleted, data: true, brood: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				if c.data {
					_, _, err := b.Get("/p", true)
					require.NoError(b, err)
				}
				if c.brood {
					_, _, err := b.Children("/p", true)
					require.NoError(b, err)
				}
				if c.birth {
					b.script(func() {
						b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return failure(jute.NoNode), true }
					})
					_, _, err := b.Exists("/p", true)
					require.NoError(b, err)
					b.script(func() { b.answer = nil })
				}
				v.fire(c.event, "/p")
				time.Sleep(time.Minute)
				v.hangUp()
				synctest.Wait()
				data, birth, brood, _ := rearmed(b.visit(1))
				require.Equal(b, c.lData, slices.Contains(data, "/p"))
				require.Equal(b, c.lBirth, slices.Contains(birth, "/p"))
				require.Equal(b, c.lKid, slices.Contains(brood, "/p"))
			})
		})
	}
}

// H6: a server that refuses to arm the watches, or does not say, does not get the session.
func TestConnectionWithoutItsWatchesIsDropped(t *testing.T) {
	t.Parallel()
	refusal := map[string]func(q jute.Request) (jute.Reply, bool){
		"refused":    func(jute.Request) (jute.Reply, bool) { return failure(jute.SystemError), true },
		"unanswered": func(jute.Request) (jute.Reply, bool) { return jute.Reply{}, false },
	}
	for name, answer := range refusal {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				b.armAll()
				time.Sleep(time.Minute)
				b.script(func() {
					b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
						if q.Op == jute.OpSetWatches {
							return answer(q)
						}
						return success(q), true
					}
				})
				v.hangUp()
				time.Sleep(2*timeout/6 + 50*time.Millisecond)
				ups, _ := told[zkconn.Up](b.sink)
				require.Len(b, ups, 1)
				require.Greater(b, len(b.dialled()), 2, "it gave up and tried again")
				b.script(func() { b.answer = nil })
				time.Sleep(timeout)
				ups, _ = told[zkconn.Up](b.sink)
				require.Len(b, ups, 2)
			})
		})
	}
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
