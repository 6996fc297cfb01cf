package losses_test

// The kinds of possession: how a contender of each is made, and a rival that is in its way. A
// membership of a group and a site of a two-phase commit are no possessions: no other contender
// waits for them.

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// kind is a kind of possession.
type kind struct {
	one, rival maker
	delay      time.Duration     // a rival waits for so long after a loss
	asks       bool              // the contender calls: after a loss its caller has to call again
	unordered  bool              // contenders race: the loser may hold again before the rival
	deviates   map[string]string // by a part of a row's name in losses: why the row does not apply
}

type maker func(w *world, h *bubble.Host) *contender

const (
	path  = "/losses/x"
	delay = 15 * time.Second
)

var kinds = map[string]kind{
	"lock":            both(acquiring(exclusive())),
	"lock of a call":  {one: calling(exclusive()), rival: calling(exclusive()), asks: true},
	"read lock":       {one: acquiring(lock.NewRead), rival: acquiring(lock.NewWrite)},
	"write lock":      {one: acquiring(lock.NewWrite), rival: acquiring(lock.NewRead)},
	"downgraded lock": {one: downgraded, rival: acquiring(lock.NewWrite), asks: true},
	"semaphore":       {one: acquiring(permits(2)), rival: acquiring(permits(3))},
	"delayed lock": {
		one: acquiring(exclusive(lock.WithDelay(delay))), rival: acquiring(exclusive(lock.WithDelay(delay))), delay: delay,
	},
	"simple lock": {
		one: acquiring(exclusive(lock.WithLayout(lock.Simple))), rival: acquiring(exclusive(lock.WithLayout(lock.Simple))), unordered: true,
		deviates: map[string]string{
			"when it commits": "the rival's znode is at the same path, and the check of a Commit finds that",
		},
	},
	"multi lock": {one: several, rival: several, asks: true},
	"term":       both(candidate()),
	"queue item": {one: consumer, rival: consumer, unordered: true, deviates: map[string]string{
		"the deletion of its znode": "claims are not watched: it is noticed at the next request, see byhand_test.go of the queue",
	}},
	"passage": {one: party, rival: other, asks: true, deviates: map[string]string{
		"where it may not queue again": "the next round is there already, and it may enter that",
	}},
}

func both(m maker) kind { return kind{one: m, rival: m} }

type builder func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error)

func exclusive(opts ...lock.Option) builder {
	return func(s *session.Session, path string, _ ...lock.Option) (*lock.Lock, error) {
		return lock.New(s, path, opts...)
	}
}

func permits(weight int) builder {
	return func(s *session.Session, path string, _ ...lock.Option) (*lock.Lock, error) {
		return lock.NewSemaphore(s, path, 3, lock.WithWeight(weight))
	}
}

// as makes a contender that ends, is closed and crashes with an instance of a recipe, whose actor
// is in a field (see field).
func as(h *bubble.Host, of interface {
	Done() <-chan struct{}
	Err() error
	Close(ctx context.Context) error
}, actor ...string,
) *contender {
	return &contender{host: h, won: make(chan *grant, 100), ended: of, close: of.Close, crash: panics(of, actor...)}
}

// acquiring makes contenders that use Acquire: the lock queues again by itself after a loss.
func acquiring(build builder) maker {
	return func(w *world, h *bubble.Host) *contender {
		l := must(build(h.Session, path))
		c := as(h, l, "instance")
		c.want, c.stop = l.Acquire, l.Withdraw
		forward(w, c, l.Acquired())
		return c
	}
}

// calling makes contenders that call Lock.
func calling(build builder) maker {
	return func(w *world, h *bubble.Host) *contender {
		l := must(build(h.Session, path))
		return calls(w, as(h, l, "instance"), l.Lock)
	}
}

// downgraded is a writer that has become a reader.
func downgraded(w *world, h *bubble.Host) *contender {
	l := must(lock.NewWrite(h.Session, path))
	return calls(w, as(h, l, "instance"), func(ctx context.Context) (*lock.Grant, error) {
		for {
			g, err := l.Lock(ctx)
			if err != nil {
				return nil, err
			}
			if read, err := g.Downgrade(ctx); !errors.Is(err, session.ErrLost) {
				return read, err
			}
		}
	})
}

// several is a multi lock of two. The one at path is the one that is lost.
func several(w *world, h *bubble.Host) *contender {
	first, second := must(lock.New(h.Session, path)), must(lock.New(h.Session, path+"/second"))
	return calls(w, as(h, first, "instance"), must(lock.NewMulti(second, first)).Lock)
}

func candidate(opts ...election.Option) maker {
	return func(w *world, h *bubble.Host) *contender {
		e := must(election.New(h.Session, path, opts...))
		c := as(h, e, "instance")
		c.want, c.stop = e.Campaign, e.Withdraw
		forward(w, c, e.Leader())
		return c
	}
}

// consumer consumes from a queue with one item, which the first consumer of the test puts.
func consumer(w *world, h *bubble.Host) *contender {
	q := must(queue.New(h.Session, path, queue.WithMaxAttempts(1_000_000)))
	if len(w.Server.Sessions()) < 3 { // those of the admin and the first consumer
		must(q.Put(w.Context(), []byte("x")))
	}
	c := &contender{host: h, won: make(chan *grant, 100)}
	c.want = func() {
		from := must(q.Consume())
		c.stop, c.close, c.ended, c.crash = from.Close, from.Close, from, panics(from, "from", "host")
		forward(w, c, from.Items())
	}
	return c
}

// party is one of the two parties of a double barrier.
func party(w *world, h *bubble.Host) *contender {
	d := must(barrier.NewDouble(h.Session, path, 2))
	c := as(h, d, "host")
	c.want = d.Arrive
	c.stop = func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.granted[len(w.granted)-1].(*barrier.Passage).Depart() // other records no passages
		return nil
	}
	forward(w, c, d.Entered())
	return c
}

// other is the other party. It has departed, and waits for the end of the round.
func other(w *world, h *bubble.Host) *contender {
	d := must(barrier.NewDouble(h.Session, path, 2))
	c := as(h, d, "host")
	c.want = func() {
		p := bubble.Get(w, d.Entered())
		p.Depart()
		go func() { // ends with the test
			select {
			case <-p.Left():
				w.recordGrant(c, nil)
			case <-w.Context().Done():
			}
		}()
	}
	c.stop = func(context.Context) error { d.Arrive(); return nil }
	d.Arrive()
	return c
}
