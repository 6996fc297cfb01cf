package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// client puts or takes, and writes down what it asked and was answered.
type client struct {
	*recorder
	t     testing.TB
	no    int
	queue *queue.Queue
	work  time.Duration // that an item takes, at most
	rng   *rand.Rand
}

// produces puts n items, now and then several together, at most as many as told. (To the model
// these are puts at the same time, in any order.)
func (c *client) produces(ctx context.Context, n, most int) {
	for k := 0; k < n; {
		var batch [][]byte
		for range min(max(c.rng.IntN(6)-2, 1), most, n-k) {
			batch = append(batch, fmt.Appendf(nil, "%d-%d", c.no, k))
			k++
		}
		priority, from := c.rng.IntN(3)-1, c.now()
		_, err := c.queue.PutAll(ctx, batch, queue.WithPriority(priority))
		for _, d := range batch {
			a := act{do: opPut, item: string(d), priority: priority}
			switch {
			case err == nil:
				c.did(c.no, a, from)
			case errors.Is(err, session.ErrUnknownOutcome):
				c.may(c.no, a, from)
			default:
				c.t.Errorf("put %s: %v", d, err)
			}
		}
		time.Sleep(time.Duration(c.rng.Int64N(int64(time.Second))))
	}
}

// consumes receives what next delivers, works on it for a while, and acknowledges it or gives it
// back, until there is no more.
func (c *client) consumes(ctx context.Context, next func() *queue.Item) {
	for {
		from := c.now()
		i := next()
		if i == nil {
			return
		}
		a := act{do: opReceive, item: string(i.Data()), priority: i.Priority(), token: i.Token()}
		c.did(c.no, a, from)
		ended := make(chan int64, 1)
		go func() { // ends with the possession
			<-i.Done()
			ended <- c.now()
		}()
		if c.rng.IntN(3) == 0 {
			time.Sleep(time.Duration(c.rng.Int64N(int64(c.work))))
		}
		from = c.now()
		if a.do = opAck; c.rng.IntN(5) == 0 {
			a.do = opNack
			c.settled(a, i.Nack(ctx), from, ended)
		} else {
			c.settled(a, i.Ack(ctx), from, ended)
		}
	}
}

// settled writes down what came of an Ack or Nack.
func (c *client) settled(a act, err error, from int64, ended <-chan int64) {
	switch {
	case err == nil:
		c.did(c.no, a, from)
		return
	case !errors.Is(err, session.ErrLost):
		c.t.Errorf("%v: %v", a, err)
		return
	case a.do == opAck && errors.Is(err, session.ErrUnknownOutcome):
		a.do = opMaybeAck
		c.may(c.no, a, from)
	}
	a.do = opLoss
	c.may(c.no, a, <-ended)
}

// Histories of four processes, whose connections break, whose requests and replies are lost, and
// which are cut off for less and for more than their sessions last, are histories of a queue: no
// item is lost, or delivered after an acknowledgement that was confirmed, or acknowledged twice, or
// had by two at a time.
func TestHistoriesOfClaims(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(3, 10), func(t *testing.T, seed uint64) {
		t.Parallel()
		var rec *recorder
		bubble.Run(t, func(t *bubble.World) { rec = claims(t, seed) }, bubble.Brisk()...)
		rec.check(t, queueModel(false, false))
	})
}

func claims(t *bubble.World, seed uint64) *recorder {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 5))
	calm := false
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	admin := newQueue(t, t.Session())
	put(t, admin, "first")
	takes(t, admin, 1)
	t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
			return zktest.Pass
		case !calm && rng.IntN(100) == 0:
			return []zktest.Verdict{zktest.CutBefore, zktest.CutAfter}[rng.IntN(2)]
		}
		return zktest.Delay(time.Duration(rng.Int64N(int64(5 * trip))))
	})
	rec := newRecorder()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	puts, gets := workers(t), workers(t)
	var hosts []*bubble.Host
	var consumers []*queue.Consumer
	for no := range 4 {
		h := t.Host(fmt.Sprint("host ", no))
		hosts = append(hosts, h)
		q := newQueue(t, h.Session)
		producer := &client{rec, t, no, q, 0, rand.New(rand.NewPCG(seed, uint64(100+no)))}
		puts.Go(func() { producer.produces(ctx, 30, 3) }) // ends with its items
		cons := consumer(t, q, queue.WithPrefetch(1+2*no))
		consumers = append(consumers, cons)
		for k := range 2 {
			taker := &client{rec, t, 10 + 2*no + k, q, 12 * time.Second, rand.New(rand.NewPCG(seed, uint64(200+2*no+k)))}
			gets.Go(func() { taker.consumes(ctx, func() *queue.Item { return <-cons.Items() }) }) // ends with the consumer
		}
	}
	done := make(chan struct{})
	go func() { // ends with the producers
		puts.Wait()
		close(done)
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(time.Duration(draw(2000)) * time.Millisecond):
			h := hosts[draw(len(hosts))]
			if draw(3) > 0 {
				t.Server.Disconnect(h.Status().SessionID)
				continue
			}
			heal := h.Machine.Partition()
			time.Sleep(time.Duration(draw(12_000)) * time.Millisecond)
			heal()
		}
	}
	mu.Lock()
	calm = true
	mu.Unlock()
	began := time.Now()
	for length(t, admin) > 0 {
		if time.Since(began) > 20*time.Minute {
			t.Fatalf("items are left\n%s", rec)
		}
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute) // whatever is to be received a second time has been
	rec.drained()
	for _, c := range consumers {
		require.NoError(t, c.Close(ctx))
	}
	gets.Wait()
	t.Logf("%d operations", len(rec.all))
	return rec
}

// Histories of processes that take one item at a time, on a network that delays and breaks but on
// which no session ends, are those of a queue with an order: within a priority, items are received
// for the first time in the order in which they were put.
func TestHistoriesInOrder(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(3, 10), func(t *testing.T, seed uint64) {
		t.Parallel()
		var rec *recorder
		bubble.Run(t, func(t *bubble.World) { rec = inTurn(t, seed) })
		rec.check(t, queueModel(true, false))
	})
}

func inTurn(t *bubble.World, seed uint64) *recorder {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 6))
	t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
			return zktest.Pass
		case rng.IntN(200) == 0:
			return []zktest.Verdict{zktest.CutBefore, zktest.CutAfter}[rng.IntN(2)]
		}
		return zktest.Delay(time.Duration(rng.Int64N(int64(50 * trip))))
	})
	const each = 12
	rec := newRecorder()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	puts, gets := workers(t), workers(t)
	taking, over := context.WithCancel(ctx)
	defer over()
	for no := range 3 {
		q := newQueue(t, t.Session())
		producer := &client{rec, t, no, q, 0, rand.New(rand.NewPCG(seed, uint64(300+no)))}
		puts.Go(func() { producer.produces(ctx, each, 1) }) // ends with its items
		taker := &client{rec, t, 10 + no, newQueue(t, t.Session()), 200 * time.Millisecond, rand.New(rand.NewPCG(seed, uint64(400+no)))}
		gets.Go(func() { // ends with its context
			taker.consumes(ctx, func() *queue.Item {
				i, _ := taker.queue.Take(taking)
				return i
			})
		})
	}
	puts.Wait()
	admin := newQueue(t, t.Session())
	began := time.Now()
	for length(t, admin) > 0 {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("items are left\n%s", rec)
		}
		time.Sleep(time.Second)
	}
	time.Sleep(10 * time.Second)
	rec.drained()
	over()
	gets.Wait()
	t.Logf("%d operations", len(rec.all))
	return rec
}
