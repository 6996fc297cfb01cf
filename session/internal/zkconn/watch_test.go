// Watches: armed, disarmed by events, armed again on the next connection, removed. Several reads in
// one trip, and a contender's create with its listing. Helpers: helper_test.go.

package zkconn_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
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
	require.NoError(b, errOf(b.Get("/data", true)))
	_, exists, err := b.Exists("/there", true)
	require.NoError(b, err)
	require.True(b, exists)
	_, exists, err = b.Exists("/absent", true)
	require.NoError(b, err)
	require.False(b, exists)
	require.NoError(b, errOf(b.Children("/kids", true)))
	require.ErrorIs(b, errOf(b.Get("/absent", true)), zkconn.ErrNoNode)
	require.ErrorIs(b, errOf(b.Children("/absent", true)), zkconn.ErrNoNode)
	require.NoError(b, errOf(b.Get("/unwatched", false)))
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
			require.NoError(b, errOf(b.Get(path, true)))
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

// A removal names the server's two kinds, and the watch is not armed again, whatever the answer.
func TestRemovedWatchesAreNotArmedAgain(t *testing.T) {
	each(t, map[string]func(*visit, jute.Request) (jute.Reply, bool){
		"removed":  func(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), true },
		"fired":    refuses(jute.NoWatcher),
		"no reply": answersNothing,
	}, func(b *bench, answer func(*visit, jute.Request) (jute.Reply, bool)) {
		v := b.connected()
		b.armAll()
		b.answers(except(jute.OpRemoveWatches, answer))
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

// shelf has the znodes of the scripted server: the sizes of their data by path.
type shelf map[string]int

// read is the server's reply to a read, and its part in a multiRead.
func (s shelf) read(q jute.Request) jute.Result {
	size, found := s[q.Path]
	switch {
	case !found:
		return jute.Result{Op: jute.OpError, Err: jute.NoNode}
	case q.Op == jute.OpGetChildren:
		return jute.Result{Op: q.Op, Names: []string{"child of " + q.Path}}
	}
	return jute.Result{Op: q.Op, Data: make([]byte, size), Stat: jute.Stat{Version: int32(size)}}
}

func (s shelf) answer(_ *visit, q jute.Request) (jute.Reply, bool) {
	switch q.Op {
	case jute.OpGetData, jute.OpGetChildren:
		r := s.read(q)
		return jute.Reply{Err: r.Err, Data: r.Data, Stat: r.Stat, Names: r.Names}, true
	case jute.OpMultiRead:
		var p jute.Reply
		for _, part := range q.Ops {
			p.Results = append(p.Results, s.read(part))
		}
		return p, true
	}
	return success(q), true
}

// except is a server that answers one operation in another way.
func (s shelf) except(op jute.Op, answer func(*visit, jute.Request) (jute.Reply, bool)) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(v *visit, q jute.Request) (jute.Reply, bool) {
		if q.Op == op {
			return answer(v, q)
		}
		return s.answer(v, q)
	}
}

// queries have an outcome of each kind, and these are the results on this shelf.
var (
	few     = shelf{"/a": 1, "/b": 2}
	queries = []zkconn.Query{{Path: "/a"}, {Path: "/b", Children: true}, {Path: "no path"}, {Path: "/none"}, {Path: "/none", Children: true}, {Path: "/b"}}
	finds   = []zkconn.Found{
		{Data: make([]byte, 1), Stat: zkconn.Stat{Version: 1}},
		{Names: []string{"child of /b"}},
		{Err: zkconn.ErrInvalidPath},
		{Err: zkconn.ErrNoNode},
		{Err: zkconn.ErrNoNode},
		{Data: make([]byte, 2), Stat: zkconn.Stat{Version: 2}},
	}
)

// readAll makes the queries, and checks the results.
func (b *bench) readAll() {
	b.Helper()
	found, err := b.MultiRead(queries)
	require.NoError(b, err)
	for i := range found {
		found[i].Stat = zkconn.Stat{Version: found[i].Stat.Version} // times are not of interest
	}
	require.Equal(b, finds, found)
}

var singles = []jute.Op{jute.OpGetData, jute.OpGetChildren, jute.OpGetData, jute.OpGetChildren, jute.OpGetData}

func TestAMultiReadIsOneRequest(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.readAll()
		require.Equal(b, []jute.Op{jute.OpMultiRead}, v.ops())
		for _, queries := range [][]zkconn.Query{nil, {{Path: ""}}} {
			found, err := b.MultiRead(queries)
			require.NoError(b, err)
			require.Len(b, found, len(queries))
		}
		require.Len(b, v.ops(), 1, "there was nothing to ask")
		var many []zkconn.Query
		for i := range 130 {
			many = append(many, zkconn.Query{Path: fmt.Sprint("/", i)})
		}
		found, err := b.MultiRead(many)
		require.NoError(b, err)
		require.Len(b, found, 130)
		var paths []string
		for _, q := range v.asked()[1:] {
			require.Equal(b, jute.OpMultiRead, q.Op)
			require.LessOrEqual(b, len(q.Ops), 64)
			for _, part := range q.Ops {
				require.False(b, part.Watch)
				paths = append(paths, part.Path)
			}
		}
		require.True(b, slices.EqualFunc(many, paths, func(q zkconn.Query, path string) bool { return q.Path == path }), "in order")
	}, func(f *fake, _ *zkconn.Config) { f.answer = few.answer })
}

// A server that does not know multiRead says so. Then single requests are sent, in one write, and
// multiRead is not asked for again.
func TestServersThatLackMultiReadAreAskedSingly(t *testing.T) {
	each(t, map[string]jute.Code{"says so": jute.Unimplemented, "can't read it": jute.MarshallingError, "takes it for something else": jute.OK}, func(b *bench, code jute.Code) {
		v := b.connected()
		b.answers(few.except(jute.OpMultiRead, refuses(code)))
		b.readAll()
		require.Equal(b, append([]jute.Op{jute.OpMultiRead}, singles...), v.ops())
		b.readAll()
		if code == jute.Unimplemented {
			require.Equal(b, singles, v.ops()[len(singles)+1:], "it is not asked again")
		}
	})
}

// A reply that is too large as a whole is asked for in parts; a part that is too large fails alone.
func TestAMultiReadThatIsTooLargeFailsInPart(t *testing.T) {
	const most = 16 << 10 // of a reply
	inBubble(t, func(b *bench) {
		b.connected()
		queries := []zkconn.Query{{Path: "/half"}, {Path: "/more"}, {Path: "/whole"}, {Path: "/none"}}
		found, err := b.MultiRead(queries)
		require.NoError(b, err)
		require.Len(b, found[0].Data, most/2)
		require.Len(b, found[1].Data, most/2)
		require.ErrorIs(b, found[2].Err, zkconn.ErrTooLarge)
		require.ErrorIs(b, found[3].Err, zkconn.ErrNoNode)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.MaxPacket = most / 16
		f.answer = shelf{"/half": most / 2, "/more": most / 2, "/whole": most}.answer
	})
}

var contender = zkconn.Entry{Path: "/queue/lock-", Flags: jute.FlagEphemeralSequential, ACL: world, List: "/queue"}

func TestAnEntryIsOneTrip(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(except(jute.OpGetChildren2, func(*visit, jute.Request) (jute.Reply, bool) {
			return jute.Reply{Names: []string{"lock-0000000005"}}, true
		}))
		resume := v.stopReading()
		require.NoError(b, b.Sync("/"))
		entered := bubble.Begin(func() zkconn.Entered {
			made, err := b.Enter(contender)
			require.NoError(b, err)
			return made
		})
		bubble.Never(b, entered)
		resume()
		made := bubble.Now(b, entered)
		require.Equal(b, "/queue/lock-0000000005", made.Path)
		require.EqualValues(b, 77, made.Stat.Czxid)
		require.EqualValues(b, 7, made.Stat.EphemeralOwner)
		require.NoError(b, made.Err)
		require.Equal(b, []string{"lock-0000000005"}, made.Names)
		require.Equal(b, []jute.Op{jute.OpSync, jute.OpCreate2, jute.OpGetChildren2}, v.ops())
	})
}

func TestAListingThatFailsSaysNothingAgainstTheEntry(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.answers(except(jute.OpGetChildren2, refuses(jute.NoAuth)))
		made, err := b.Enter(contender)
		require.NoError(b, err)
		require.Equal(b, "/queue/lock-0000000005", made.Path)
		require.ErrorIs(b, made.Err, zkconn.ErrNoAuth)

		b.answers(except(jute.OpGetChildren2, hangsUp))
		made, err = b.Enter(contender)
		require.NoError(b, err)
		require.EqualValues(b, 77, made.Stat.Czxid)
		require.ErrorIs(b, made.Err, zkconn.ErrNoReply)
	})
}

// A network that takes nothing any more holds up the request whose frame is stuck, until the
// connection is given up; the requests behind it are free then.
func TestRequestsBehindAStuckFrameAreNotSent(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		resume := v.stopReading()
		defer resume()
		require.NoError(b, b.Sync("/"))
		get := func() error { _, _, err := b.Get("/a", true); return err }
		stuck := bubble.Begin(get)
		synctest.Wait()
		behind := bubble.Begin(get)
		sync := bubble.Begin(func() error { return b.Sync("/") })
		bubble.Never(b, stuck)
		bubble.Never(b, behind)
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		time.Sleep(timeout)
		require.ErrorIs(b, bubble.Now(b, stuck), zkconn.ErrNoReply)
		require.ErrorIs(b, bubble.Now(b, behind), zkconn.ErrNotSent)
		require.ErrorIs(b, bubble.Now(b, sync), zkconn.ErrNotSent)
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		require.NoError(b, get())
		require.Equal(b, []jute.Op{jute.OpGetData}, b.visit(1).ops(), "and nothing of what was lost")
	})
}
