package zkconn_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

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
	t.Parallel()
	for name, answer := range map[string]func(q jute.Request) (jute.Reply, bool){
		"removed":  func(q jute.Request) (jute.Reply, bool) { return success(q), true },
		"fired":    func(jute.Request) (jute.Reply, bool) { return failure(jute.NoWatcher), true },
		"no reply": func(jute.Request) (jute.Reply, bool) { return jute.Reply{}, false },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				b.armAll()
				b.script(func() {
					b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
						if q.Op == jute.OpRemoveWatches {
							return answer(q)
						}
						return success(q), true
					}
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
		})
	}
}

// A server that does not know the operation says so, and is not asked again: what it watches stays
// in the table.
func TestServersThatLackRemovals(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.armAll()
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
				if q.Op == jute.OpRemoveWatches {
					return failure(jute.Unimplemented), true
				}
				return success(q), true
			}
		})
		require.NoError(b, b.Unwatch([]zkconn.Watch{{Path: "/data"}}), "such a server hangs up")
		require.ErrorIs(b, b.Unwatch([]zkconn.Watch{{Path: "/there"}}), zkconn.ErrUnsupported)
		require.Len(b, removals(v), 1)
		require.True(b, b.Watches(zkconn.Watch{Path: "/there"}))
	})
}

var errRefusal = errors.New("nobody is there")

// While there is no connection nothing needs to be asked.
func TestRemovalsWithoutAConnection(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.armAll()
		b.script(func() { b.refuse = func(string) error { return errRefusal } })
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
