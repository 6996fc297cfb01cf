package queue_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// deposition is a leader that is deposed and wakes, a consumer on it that is shown its old tree,
// and another process elsewhere.
type deposition struct {
	*bubble.World
	id    int64  // of the consumer's ZooKeeper session by then
	heal  func() // the network from the leader to it
	stale *queue.Queue
	other *queue.Queue
}

// depositions are what the consumer has to do with the item by then: it returns the consumer, and
// what that was given.
var depositions = map[string]func(d *deposition) (*queue.Consumer, *queue.Item){
	// The old tree shows an item that is free. To claim it takes a transaction, and a leader that
	// was deposed answers none: this needs no trust.
	"it waits":               func(d *deposition) (*queue.Consumer, *queue.Item) { return d.waits(), nil },
	"it waits, at most once": func(d *deposition) (*queue.Consumer, *queue.Item) { return d.waits(queue.WithAutoAck()), nil },

	// The old tree shows the claim that it made and has not heard of, and to look for that is a
	// read.
	"it has claimed it": (*deposition).claims,

	"it has it": func(d *deposition) (*queue.Consumer, *queue.Item) {
		put(d, d.other, "item")
		c := consumer(d, d.stale)
		return c, bubble.Get(d, c.Items(), "an item")
	},
}

// waits has a consumer wait for an item that is given back when it hears nothing any more.
func (d *deposition) waits(opts ...queue.ConsumeOption) *queue.Consumer {
	put(d, d.other, "item")
	item := take(d, d.other)
	c := consumer(d, d.stale, opts...)
	bubble.Never(d, c.Items(), "it is somebody else's")
	d.heal = d.Server.PartitionOneWay(d.id, zktest.FromServer)
	require.NoError(d, item.Nack(bubble.Minute(d)))
	return c
}

// claims has a consumer claim an item, and the answer lost.
func (d *deposition) claims() (*queue.Consumer, *queue.Item) {
	c := consumer(d, d.stale)
	synctest.Wait()
	var once atomic.Bool
	claimed := make(chan struct{}, 1)
	d.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != d.id || r.Op != zktest.OpMulti || len(r.Ops) < 2 || once.Swap(true) {
			return zktest.Pass
		}
		claimed <- struct{}{}
		return zktest.Delay(time.Millisecond)
	})
	put(d, d.other, "item")
	bubble.Get(d, claimed, "the claim")
	d.heal = d.Server.PartitionOneWay(d.id, zktest.FromServer)
	time.Sleep(2 * time.Millisecond)
	return c, nil
}

// As with locks: the leader that a consumer is on stands still, the others elect another, the
// consumer's session ends, and a rival is given the item, and acknowledges it or does not. The old
// leader wakes, takes the consumer's session up again and shows it its old tree.
func TestADeposedLeaderThatWakesVouchesForNoConsumer(t *testing.T) {
	t.Parallel()
	for name, begin := range depositions {
		for _, tick := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
			for answer, acked := range map[string]bool{"acknowledged": true, "had": false} {
				t.Run(name+"/"+answer+"/"+tick.String(), func(t *testing.T) {
					t.Parallel()
					for round := range uint64(8) {
						bubble.Run(t, func(t *bubble.World) { deposed(t, begin, acked, round) },
							zktest.WithServers(3), zktest.WithTick(tick), zktest.WithSeed(round+1), zktest.WithSessionTimeouts(time.Second, time.Minute))
					}
				})
			}
		}
	}
}

func deposed(t *bubble.World, begin func(d *deposition) (*queue.Consumer, *queue.Item), acked bool, round uint64) {
	const timeout = 6 * time.Second
	on := func(server int) *session.Session { return t.SessionOn(server, session.WithTimeout(timeout)) }
	stale := on(0)
	d := &deposition{World: t, heal: func() {}, id: stale.Status().SessionID, stale: newQueue(t, stale), other: newQueue(t, on(1))}
	time.Sleep(2*timeout + time.Duration(round)*700*time.Millisecond)
	c, had := begin(d)

	t.Server.Depose(0)
	d.heal()
	rival := consumer(t, newQueue(t, on(2)))
	item := bubble.Get(t, rival.Items(), "an item")
	if acked {
		require.NoError(t, item.Ack(bubble.Minute(t)))
	}
	for _, alive := t.Server.Session(d.id); alive; _, alive = t.Server.Session(d.id) {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(round) * timeout / 7)
	synctest.Wait()
	t.Server.Continue(0)
	if had != nil {
		require.False(t, had.Valid())
		require.ErrorIs(t, had.Ack(bubble.Minute(t)), session.ErrLost)
	}
	select {
	case i := <-c.Items():
		t.Fatalf("%s is somebody else's, or was acknowledged: attempt %d, valid: %t", i.Data(), i.Attempt(), i.Valid())
	case <-time.After(10 * time.Second):
	}
	require.Equal(t, acked, !item.Valid())

	require.NoError(t, rival.Close(bubble.Minute(t)))
	want := "item"
	if acked {
		want = "next"
		put(t, d.other, want)
	}
	i := bubble.Get(t, c.Items(), "an item")
	require.Equal(t, want, string(i.Data()))
	require.True(t, i.Valid())
	require.EqualValues(t, 2, stale.Status().Epoch)
}
