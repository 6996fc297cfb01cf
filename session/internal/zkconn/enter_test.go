// A create with a listing behind it, in one trip.

package zkconn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

var place = zkconn.Entry{Path: "/line/lock-", Flags: jute.FlagEphemeralSequential, ACL: world, List: "/line"}

func TestAnEntryIsOneTrip(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		answerCreates(b, nil)
		resume := v.stopReading()
		require.NoError(b, b.Sync("/"))
		entered := bubble.Begin(func() zkconn.Entered {
			made, err := b.Enter(place)
			require.NoError(b, err)
			return made
		})
		pending(b, entered)
		resume()
		made := got(b, entered)
		require.Equal(b, "/line/lock-0000000005", made.Path)
		require.EqualValues(b, 77, made.Stat.Czxid)
		require.EqualValues(b, 7, made.Stat.EphemeralOwner)
		require.NoError(b, made.Err)
		require.Equal(b, []string{"lock-0000000005"}, made.Names)
		require.EqualValues(b, 1, made.Line.NumChildren)
		require.Equal(b, []jute.Op{jute.OpSync, jute.OpCreate2, jute.OpGetChildren2}, v.ops())
	})
}

func TestAListingThatFailsSaysNothingAgainstTheEntry(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		answerCreates(b, func(_ *visit, q jute.Request) (jute.Reply, bool, bool) {
			return failure(jute.NoAuth), true, q.Op == jute.OpGetChildren2
		})
		made, err := b.Enter(place)
		require.NoError(b, err)
		require.Equal(b, "/line/lock-0000000005", made.Path)
		require.ErrorIs(b, made.Err, zkconn.ErrNoAuth)

		answerCreates(b, func(v *visit, q jute.Request) (jute.Reply, bool, bool) {
			if q.Op == jute.OpGetChildren2 {
				v.hangUp()
			}
			return jute.Reply{}, false, q.Op == jute.OpGetChildren2
		})
		made, err = b.Enter(place)
		require.NoError(b, err)
		require.EqualValues(b, 77, made.Stat.Czxid)
		require.ErrorIs(b, made.Err, zkconn.ErrNoReply)
	})
}

// Others hang up without a word, and answer what they know. Twice, and they are taken at it; unless
// a create2 was answered before, for then it is the network.
func TestAServerThatHangsUpAtCreate2TwiceLacksIt(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"never heard of it": false, "had it before": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.connected()
				answerCreates(b, nil)
				if known {
					_, err := b.Enter(place)
					require.NoError(b, err)
				}
				answerCreates(b, func(v *visit, q jute.Request) (jute.Reply, bool, bool) {
					if q.Op == jute.OpCreate2 {
						v.hangUp()
					}
					return jute.Reply{}, false, q.Op == jute.OpCreate2
				})
				for range 2 {
					require.NoError(b, b.Sync("/"), "it answers others")
					_, err := b.Enter(place)
					require.ErrorIs(b, err, zkconn.ErrNoReply)
					time.Sleep(time.Second)
					b.connected()
				}
				made, err := b.Enter(place)
				if known {
					require.ErrorIs(b, err, zkconn.ErrNoReply)
					return
				}
				require.NoError(b, err)
				require.Zero(b, made.Stat)
			})
		})
	}
}

func TestAnEntryTakesThePlaceOfAnother(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		var results []jute.Result
		answerCreates(b, func(_ *visit, q jute.Request) (jute.Reply, bool, bool) {
			return jute.Reply{Results: results}, true, q.Op == jute.OpMulti
		})
		instead := place
		instead.Replace = "/line/lock-0000000004"
		failed := func(code jute.Code) jute.Result { return jute.Result{Op: jute.OpError, Err: code} }
		none := jute.Result{Op: jute.OpDelete}
		for name, c := range map[string]struct {
			results []jute.Result
			want    error
			missing bool
		}{
			"done":           {[]jute.Result{none, {Op: jute.OpCreate, Path: "/line/lock-0000000005"}}, nil, false},
			"gone":           {[]jute.Result{failed(jute.NoNode), failed(jute.RuntimeInconsistency)}, zkconn.ErrNoNode, true},
			"no line":        {[]jute.Result{failed(jute.OK), failed(jute.NoNode)}, zkconn.ErrNoNode, false},
			"no right":       {[]jute.Result{failed(jute.NoAuth), failed(jute.RuntimeInconsistency)}, zkconn.ErrNoAuth, false},
			"half an answer": {[]jute.Result{none}, zkconn.ErrNoReply, false},
		} {
			results = c.results
			made, err := b.Enter(instead)
			require.Equal(b, c.missing, made.Missing, name)
			require.ErrorIs(b, err, c.want, name)
			if err == nil {
				require.Equal(b, "/line/lock-0000000005", made.Path)
				require.Equal(b, []string{"lock-0000000005"}, made.Names)
			}
		}
		ask := v.asked()[0]
		require.Equal(b, jute.OpDelete, ask.Ops[0].Op)
		require.Equal(b, instead.Replace, ask.Ops[0].Path)
		require.EqualValues(b, -1, ask.Ops[0].Version)
		require.Equal(b, jute.OpCreate, ask.Ops[1].Op)
		require.Equal(b, instead.Path, ask.Ops[1].Path)
		require.Equal(b, jute.FlagEphemeralSequential, ask.Ops[1].Flags)
	})
}

// A network that takes nothing any more holds up the one whose frame is stuck, until the connection
// is given up; those behind him are free then.
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
		pending(b, stuck)
		pending(b, behind)
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		time.Sleep(timeout)
		require.ErrorIs(b, got(b, stuck), zkconn.ErrNoReply)
		require.ErrorIs(b, got(b, behind), zkconn.ErrNotSent)
		require.ErrorIs(b, got(b, sync), zkconn.ErrNotSent)
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		require.NoError(b, get())
		require.Equal(b, []jute.Op{jute.OpGetData}, b.visit(1).ops(), "and nothing of what was lost")
	})
}
