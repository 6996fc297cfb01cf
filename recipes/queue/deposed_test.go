package queue_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// deposition is a leader that is deposed and wakes, a consumer on it that is shown its old tree,
// and another process elsewhere.
type deposition struct {
	*testing.T
	server *zktest.Server
	id     int64  // of the consumer's ZooKeeper session by then
	heal   func() // the network from the leader to it
	stale  *queue.Queue
	other  *queue.Queue
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
		put(d.T, d.other, "item")
		c := consumer(d.T, d.stale)
		return c, get(d.T, c.Items(), "an item")
	},
}

// waits has a consumer wait for an item that is given back when it hears nothing any more.
func (d *deposition) waits(opts ...queue.ConsumeOption) *queue.Consumer {
	put(d.T, d.other, "item")
	item := take(d.T, d.other)
	c := consumer(d.T, d.stale, opts...)
	nothing(d.T, c.Items(), "it is somebody else's")
	d.heal = d.server.PartitionOneWay(d.id, zktest.FromServer)
	require.NoError(d.T, item.Nack(patience(d.T)))
	return c
}

// claims has a consumer claim an item, and the answer lost.
func (d *deposition) claims() (*queue.Consumer, *queue.Item) {
	c := consumer(d.T, d.stale)
	synctest.Wait()
	var once atomic.Bool
	claimed := make(chan struct{}, 1)
	d.server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != d.id || r.Op != zktest.OpMulti || len(r.Ops) < 2 || once.Swap(true) {
			return zktest.Pass
		}
		claimed <- struct{}{}
		return zktest.Delay(time.Millisecond)
	})
	put(d.T, d.other, "item")
	get(d.T, claimed, "the claim")
	d.heal = d.server.PartitionOneWay(d.id, zktest.FromServer)
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
						synctest.Test(t, func(t *testing.T) {
							z := zktest.Start(t, zktest.WithServers(3), zktest.WithTick(tick), zktest.WithSeed(round+1),
								zktest.WithSessionTimeouts(time.Second, time.Minute))
							deposed(t, z, begin, acked, round)
						})
					}
				})
			}
		}
	}
}

func deposed(t *testing.T, z *zktest.Server, begin func(d *deposition) (*queue.Consumer, *queue.Item), acked bool, round uint64) {
	const timeout = 6 * time.Second
	on := func(server int) *session.Session {
		s, err := session.Open(patience(t), z.Hosts()[server:server+1], session.WithDialer(z.Dialer()), session.WithTimeout(timeout))
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close(patience(t)) })
		return s
	}
	stale := on(0)
	d := &deposition{T: t, heal: func() {}, server: z, id: stale.Status().SessionID, stale: newQueue(t, stale), other: newQueue(t, on(1))}
	time.Sleep(2*timeout + time.Duration(round)*700*time.Millisecond)
	c, had := begin(d)

	z.Depose(0)
	d.heal()
	rival := consumer(t, newQueue(t, on(2)))
	item := get(t, rival.Items(), "an item")
	if acked {
		require.NoError(t, item.Ack(patience(t)))
	}
	for _, alive := z.Session(d.id); alive; _, alive = z.Session(d.id) {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(round) * timeout / 7)
	synctest.Wait()
	z.Continue(0)
	if had != nil {
		require.False(t, had.Valid())
		require.ErrorIs(t, had.Ack(patience(t)), session.ErrLost)
	}
	select {
	case i := <-c.Items():
		t.Fatalf("%s is somebody else's, or was acknowledged: attempt %d, valid: %t", i.Data(), i.Attempt(), i.Valid())
	case <-time.After(10 * time.Second):
	}
	require.Equal(t, acked, !item.Valid())

	require.NoError(t, rival.Close(patience(t)))
	want := "item"
	if acked {
		want = "next"
		put(t, d.other, want)
	}
	i := get(t, c.Items(), "an item")
	require.Equal(t, want, string(i.Data()))
	require.True(t, i.Valid())
	require.EqualValues(t, 2, stale.Status().Epoch)
}
