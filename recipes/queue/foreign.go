package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
)

// takePlain is Take in another library's layout.
func (q *Queue) takePlain(ctx context.Context) (*Item, error) {
	return q.takeForeign(ctx, !q.cfg.layout.plain().Claims())
}

func (q *Queue) takeForeign(ctx context.Context, auto bool) (*Item, error) {
	if auto {
		e, err := q.plain.Take(ctx)
		if err != nil {
			return nil, translated(err)
		}
		return q.foreign(e), nil
	}
	c, err := q.plain.Claim(ctx)
	if err != nil {
		return nil, translated(err)
	}
	i := q.foreign(c.Entry)
	i.Hold, i.by = c.Hold, claimed{c}
	return i, nil
}

// foreign is an item in another library's layout, which counts no attempts.
func (q *Queue) foreign(e plain.Entry) *Item {
	return &Item{
		queue: q, id: e.Name, record: layout.Record{Body: e.Data}, priority: e.Priority, attempt: 1,
		answer: notify.NewEnd(), forGood: notify.NewEnd(),
	}
}

// claimed settles an item that was claimed in another library's layout, which has no pauses.
type claimed struct{ *plain.Claimed }

func (c claimed) settle(ctx context.Context, _ *Item, how consume.How, after time.Duration) error {
	switch {
	case how == consume.Ack:
		return c.Ack(ctx)
	case after > 0:
		return fmt.Errorf("After: %w in this layout", session.ErrUnsupported)
	default:
		return c.Nack(ctx)
	}
}

func (claimed) extend(*Item, time.Duration) error { return session.ErrUnsupported }

// loop takes one item after the other from a queue in another library's layout, for a Consumer.
type loop struct {
	consumer *Consumer
	auto     bool
	out      chan *Item
	quit     context.CancelFunc
	once     sync.Once
	left     *Item // taken, and not received; set before the consumer's end
}

func startPlain(c *Consumer, o consumeOptions) *loop {
	ctx, cancel := context.WithCancel(context.Background()) // ends with Close, or with the session
	l := &loop{consumer: c, auto: o.auto, out: make(chan *Item), quit: cancel}
	go l.run(ctx) // ends with Close, or with the session
	return l
}

func (l *loop) queued() <-chan *Item { return l.out }

// pause is how long it takes no items after ZooKeeper has refused something.
const pause = time.Second

func (l *loop) run(ctx context.Context) {
	defer l.quit()
	q := l.consumer.queue
	var err error
	for ctx.Err() == nil && q.session.Err() == nil {
		var i *Item
		if i, err = q.takeForeign(ctx, l.auto); err != nil {
			l.rest(ctx, err)
			continue
		}
		select {
		case l.out <- i:
		case <-i.Done():
		case <-ctx.Done():
			l.left = i
		}
	}
	close(l.out)
	l.consumer.over(session.ErrClosed)
}

// rest reports an error, and waits.
func (l *loop) rest(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, session.ErrClosed) {
		l.quit()
		return
	}
	l.consumer.skipped.add(failed("consume", l.consumer.queue.path, err))
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

func (l *loop) close(ctx context.Context) (err error) {
	l.quit()
	if err := l.consumer.ended(ctx); err != nil {
		return err
	}
	l.once.Do(func() {
		switch i := l.left; {
		case i == nil:
		case i.Hold != nil:
			err = i.Nack(ctx)
		default:
			_, err = l.consumer.queue.plain.Put(ctx, [][]byte{i.Data()}, i.priority, 0)
		}
	})
	return err
}
