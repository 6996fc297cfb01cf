package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// workQueue is one queue of a workload.
type workQueue struct {
	*queue.Queue
	thing   string // its name in histories, and its path
	options func(e *env) []queue.Option
	put     func(e *env) (delay time.Duration, options []queue.PutOption) // of one Put
	mode    string                                                        // history.AtMostOnce; "": at least once
	dead    string                                                        // the path of its dead letters; "": none
	extend  bool                                                          // claims are extended now and then
}

func noOptions(*env) []queue.Option { return nil }

func putAtOnce(*env) (time.Duration, []queue.PutOption) { return 0, nil }

// queues are the workloads that are queues.
var queues = map[string]workQueue{
	"queue": {thing: "queue/plain", options: noOptions, put: putAtOnce},
	"queue-visibility": {thing: "queue-visibility/items", put: putAtOnce, extend: true, options: func(e *env) []queue.Option {
		return []queue.Option{queue.WithVisibility(e.Timeout / 2)}
	}},
	"queue-dead": {thing: "queue-dead/items", put: putAtOnce, dead: "/queue-dead/letters", options: func(*env) []queue.Option {
		return []queue.Option{queue.WithMaxAttempts(3), queue.WithDeadLetters("/queue-dead/letters")}
	}},
	"queue-delay": {thing: "queue-delay/items", options: noOptions, put: func(e *env) (time.Duration, []queue.PutOption) {
		d := e.span(2*time.Second).Truncate(time.Millisecond) + time.Millisecond
		return d, []queue.PutOption{queue.WithDelay(d)}
	}},
	"queue-capacity": {thing: "queue-capacity/items", put: putAtOnce, options: func(*env) []queue.Option {
		return []queue.Option{queue.WithCapacity(Capacity)}
	}},
	"queue-once": {thing: "queue-once/items", mode: history.AtMostOnce, options: noOptions, put: putAtOnce},
}

func init() {
	for name := range queues {
		loads[name] = queueLoad
	}
}

// Capacity is the capacity of the workload queue-capacity.
const Capacity = 20

// queueLoad runs a producer and a consumer in each worker. Consumers are closed while they have
// items now and then.
func queueLoad(ctx context.Context, e *env) {
	l := queues[e.work]
	var err error
	if l.Queue, err = queue.New(e.sess, "/"+l.thing, l.options(e)...); err != nil {
		e.failed("new", err)
		return
	}
	e.queueWith(ctx, l)
}

// queueWith runs a producer and a consumer.
func (e *env) queueWith(ctx context.Context, q workQueue) {
	var wg sync.WaitGroup
	defer wg.Wait()
	p, c := e.instance("producer"), e.instance("consumer")
	wg.Go(func() { p.produce(ctx, q) }) // owner: queueWith; ends with busy
	wg.Go(func() { c.consume(ctx, q) }) // owner: queueWith; ends with ctx
}

// produce puts items that are named after the producer and numbered.
func (e *env) produce(ctx context.Context, q workQueue) {
	for n := 0; e.busy.Err() == nil; n++ {
		id := fmt.Sprintf("%s.%d", e.Name, n)
		bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
		delay, options := q.put(e)
		ev := history.Event{Kind: history.Put, Weight: delay.Milliseconds(), Work: e.work, Thing: q.thing, Party: e.Name, Value: id, Old: q.mode, From: history.Now(), Mode: history.Trying}
		e.Write(ev)
		ev.Mode = ""
		_, err := q.Put(bounded, []byte(id), options...)
		timedOut := bounded.Err() != nil
		cancel()
		switch {
		case err == nil:
			ev.Done = true
			e.moved()
		case errors.Is(err, session.ErrUnknownOutcome):
		case errors.Is(err, queue.ErrFull):
			ev.Mode = history.Refused
		case timedOut, errors.Is(err, session.ErrClosed):
		default:
			e.failed("put", err)
		}
		e.Write(ev)
		pause(e.busy, 50*time.Millisecond+e.span(500*time.Millisecond))
	}
}

// Collect takes the items that are left in the queues of these workloads, when all workers have
// ended.
func Collect(ctx context.Context, s *session.Session, w *history.Writer, cfg Config) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, name := range cfg.Works {
		l, ok := queues[name]
		if !ok {
			continue
		}
		e := &env{Config: cfg, Writer: w, sess: s, work: name, busy: ended, rand: rand.New(rand.NewPCG(1, 1))}
		for _, path := range []string{"/" + l.thing, l.dead} {
			if path == "" {
				continue
			}
			options := l.options(e)
			if path == l.dead {
				options = nil
			}
			var err error
			if l.Queue, err = queue.New(s, path, options...); err == nil {
				err = e.collect(ctx, l)
			}
			if err != nil {
				e.failed("collecting "+path, err)
			}
		}
	}
}

// collect takes items until a queue is empty, several at once.
func (e *env) collect(ctx context.Context, q workQueue) error {
	const most = 8
	c, err := q.Consume(q.consuming(most)...)
	if err != nil {
		return err
	}
	var dealt errgroup.Group
	dealt.SetLimit(most)
	defer e.release(ctx, "close the consumer", c.Close)
	defer func() { _ = dealt.Wait() }() // it has no errors
	for {
		select {
		case i, ok := <-c.Items():
			if !ok {
				return c.Err()
			}
			f := e.fork()
			dealt.Go(func() error { f.deal(ctx, q, i); return nil }) // owner: collect; ends when the item is settled
		case <-time.After(200 * time.Millisecond):
			all, err := q.Stats(ctx)
			if err != nil || all.Items == 0 {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q workQueue) consuming(prefetch int) []queue.ConsumeOption {
	options := []queue.ConsumeOption{queue.WithPrefetch(prefetch)}
	if q.mode == history.AtMostOnce {
		options = append(options, queue.WithAutoAck())
	}
	return options
}

// consume takes items until the end, with one consumer after the other.
func (e *env) consume(ctx context.Context, q workQueue) {
	for ctx.Err() == nil {
		c, err := q.Consume(q.consuming(1 + e.rand.IntN(8))...)
		if err != nil {
			if !errors.Is(err, session.ErrClosed) {
				e.failed("consume", err)
			}
			return
		}
		wait := e.receive(ctx, q, c, 5+e.rand.IntN(60))
		e.release(ctx, "close the consumer", c.Close) // while its last items are worked on
		wait()
	}
}

// receive starts to work on items, at most four at a time, until there were most. wait returns when
// the last of them is settled.
func (e *env) receive(ctx context.Context, q workQueue, c *queue.Consumer, most int) (wait func()) {
	var wg sync.WaitGroup
	room := make(chan struct{}, 4) // bound: items at one time
	for range most {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return wg.Wait
		}
		select {
		case i, ok := <-c.Items():
			if !ok {
				return wg.Wait
			}
			f := e.fork()
			wg.Go(func() { // owner: receive; ends when the item is settled; wait waits for it
				f.deal(ctx, q, i)
				<-room
			})
		case <-ctx.Done():
			return wg.Wait
		}
	}
	return wg.Wait
}

// deal works on one item and settles it.
func (e *env) deal(ctx context.Context, q workQueue, i *queue.Item) {
	id := string(i.Data())
	got := history.Event{Kind: history.Got, Work: e.work, Thing: q.thing, Party: e.Name, Value: id, Old: q.mode, Token: int64(i.Attempt())}
	got.From = history.Now()
	if !i.Valid() {
		return // the claim was lost before this process had the item
	}
	e.Write(got)
	e.moved()
	if q.mode == history.AtMostOnce {
		return
	}
	draining := e.busy.Err() != nil
	d := e.span(50 * time.Millisecond) // how long the item is worked on: a moment, or rarely about as long as a session
	if !draining && e.rand.IntN(30) == 0 {
		d = e.span(e.Timeout * 3 / 2)
	}
	edge := false // the item is settled at about the instant at which its visibility, half a timeout, ends
	switch {
	case q.extend && !draining && e.rand.IntN(12) == 0:
		edge = true
		d = e.Timeout/2 - 40*time.Millisecond + time.Duration(e.rand.Int64N(int64(50*time.Millisecond)))
	case q.extend && e.rand.IntN(4) == 0:
		bounded, cancel := context.WithTimeout(ctx, e.Timeout)
		e.check(bounded, "extend", i.Extend(bounded, e.Timeout))
		cancel()
	}
	c := claim{thing: q.thing + "/" + id, party: fmt.Sprintf("%s#%d", e.Name, i.Attempt())}
	lost := !e.possess(ctx, c, i, d)
	if lost && ctx.Err() == nil && !edge && e.rand.IntN(2) == 0 {
		return // the other half of lost items are settled all the same, which has to be refused
	}
	if !draining && e.rand.IntN(6) == 0 {
		e.release(ctx, "nack", func(ctx context.Context) error { return i.Nack(ctx, queue.WithPause(0)) })
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*e.Timeout)
	defer cancel()
	ack := history.Event{Kind: history.Acked, Work: e.work, Thing: q.thing, Party: e.Name, Value: id, Token: int64(i.Attempt()), From: history.Now(), Mode: history.Trying}
	e.Write(ack)
	err := i.Ack(bounded)
	ack.Done, ack.Mode = err == nil, ""
	if errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrUnknownOutcome) {
		ack.Mode = history.Refused
	}
	e.check(bounded, "ack", err)
	e.Write(ack)
}
