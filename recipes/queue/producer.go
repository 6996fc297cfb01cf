package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// idle is the time without work after which a queue's background work ends.
const idle = time.Minute

// prompt is how long a call whose context has ended waits to learn its outcome.
const prompt = 100 * time.Millisecond

// producer puts items for the callers of one Queue. Its actor exists only while it has work, and a
// minute longer.
type producer struct {
	queue *Queue
	guid  string

	mu    sync.Mutex
	host  *recipe.Host // nil: none
	calls []*putting   // waiting, in order: the record that outlives the actor
	no    uint64
	fresh bool // the actor's first machine is not created yet

	family string // of the GUIDs of single items
	single int    // how many have one of these

	closing bool
}

// putting is a waiting call of Put.
type putting struct {
	wish produce.Put
	sent bool     // it may have been carried out
	ids  []string // of what was put
	done *notify.End
	late *notify.Latch // it is too late to withdraw it
}

// errDone ends a call that has succeeded.
var errDone = errors.New("done")

func newProducer(q *Queue) *producer {
	return &producer{queue: q, guid: string(znode.NewGUID())}
}

// put waits until the items are in the queue, and returns their ids.
func (p *producer) put(ctx context.Context, wish produce.Put) ([]string, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, err := p.begin(wish)
	if err != nil {
		return nil, err
	}
	return p.wait(ctx, c)
}

// begin has items put.
func (p *producer) begin(wish produce.Put) (*putting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return nil, session.ErrClosed
	}
	p.no++
	wish.No, wish.GUID = p.no, p.name(len(wish.Items))
	c := &putting{wish: wish, done: notify.NewEnd(), late: notify.NewLatch()}
	p.calls = append(p.calls, c)
	p.tell(c.wish)
	return c, nil
}

// name is the GUID of a put. Single items are counted, as those of a set are, so that neighbours
// can lie in one znode. With mu.
func (p *producer) name(items int) string {
	if items > 1 {
		return string(znode.NewGUID())
	}
	if p.single%place.MostTogether == 0 {
		p.family, p.single = string(znode.NewGUID()), 0
	}
	p.single++
	return place.Member(p.family, p.single)
}

// wait waits until a call's items are in the queue. If ctx ends first, they are not put unless they
// were sent already.
func (p *producer) wait(ctx context.Context, c *putting) ([]string, error) {
	select {
	case <-c.done.Done():
		return c.result()
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.tell(produce.Withdraw{No: c.wish.No})
	p.mu.Unlock()
	select {
	case <-c.done.Done():
		if err := c.done.Err(); errors.Is(err, produce.ErrWithdrawn) {
			return nil, context.Cause(ctx)
		}
		return c.result()
	case <-c.late.C():
	case <-time.After(prompt): // the actor is being restarted
	}
	return nil, fmt.Errorf("%w: %w", session.ErrUnknownOutcome, context.Cause(ctx))
}

// putAgain puts items that were taken and that nobody has received.
func (p *producer) putAgain(ctx context.Context, items []*Item) error {
	var errs []error
	var calls []*putting
	for _, i := range items {
		item := produce.Item{ID: i.record.ID, Headers: i.record.Headers, Data: i.record.Body, Priority: i.priority}
		c, err := p.begin(produce.Put{Items: []produce.Item{item}, Back: true})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		calls = append(calls, c)
	}
	for _, c := range calls {
		if _, err := p.wait(ctx, c); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *putting) result() ([]string, error) {
	if err := c.done.Err(); !errors.Is(err, errDone) {
		return nil, translated(err)
	}
	return c.ids, nil
}

// tell sends the actor an event, and starts it if it is not running. With mu.
func (p *producer) tell(ev machine.Event) {
	if p.host != nil && p.host.Tell(ev) {
		return
	}
	p.start()
	if _, put := ev.(produce.Put); !put && p.host != nil {
		p.host.Tell(ev)
	}
}

// start starts an actor with the calls that wait. With mu.
func (p *producer) start() {
	q := p.queue
	h, err := recipe.New(recipe.Config{
		Session: q.session, Kind: "queue", Path: q.path,
		Machine: func() machine.Machine {
			return produce.New(produce.Config{
				Root: q.root(), GUID: p.guid, Home: q.home, Capacity: q.cfg.capacity, Floor: p.floor(), Idle: milliseconds(idle),
			})
		},
		Standing: p.standing,
		Perform:  p.perform,
	})
	if err != nil {
		p.fail(err)
		return
	}
	p.host, p.fresh = h, true
	go p.follow(h) // ends with the instance, which ends with its session at the latest
	for _, c := range p.calls {
		h.Tell(p.again(c))
	}
}

// follow waits for the end of an actor. If the actor ended because it had just found no work, and
// there is work by now, follow starts the next one.
func (p *producer) follow(h *recipe.Host) {
	<-h.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host != h {
		return
	}
	p.host = nil
	switch {
	case len(p.calls) == 0:
	case errors.Is(h.Err(), session.ErrClosed) && !p.closing:
		p.start()
	default:
		p.fail(h.Err())
	}
}

// close ends the producer. What waits is put first, for as long as ctx allows.
func (p *producer) close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	h := p.host
	p.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.Close(ctx)
}

// fail ends all waiting calls. With mu.
func (p *producer) fail(err error) {
	for _, c := range p.calls {
		if c.sent {
			err = fmt.Errorf("%w: %w", session.ErrUnknownOutcome, err)
		}
		c.done.Set(err)
	}
	p.calls = nil
}

func (p *producer) again(c *putting) produce.Put {
	wish := c.wish
	wish.Stands, wish.Again = true, c.sent
	return wish
}

// standing are the waiting calls, as events for a new machine.
func (p *producer) standing() []machine.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var wishes []machine.Event
	for _, c := range p.calls {
		wishes = append(wishes, p.again(c))
	}
	return wishes
}

// floor is the number of the last call so far, for a new machine: all calls up to it are in the
// record, or done. The first machine of an actor receives all of them from the mailbox.
func (p *producer) floor() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fresh {
		p.fresh = false
		return 0
	}
	return p.no
}

// perform carries out the machine's effects for the callers.
func (p *producer) perform(e machine.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case produce.Sending:
		for _, no := range e.Nos {
			if i := p.index(no); i >= 0 {
				p.calls[i].sent = true
			}
		}
	case produce.Late:
		if i := p.index(e.No); i >= 0 {
			p.calls[i].late.Close()
		}
	case produce.Settled:
		i := p.index(e.No)
		if i < 0 {
			return
		}
		c := p.calls[i]
		p.calls = slices.Delete(p.calls, i, i+1)
		c.ids = e.GUIDs
		if e.Err == nil {
			e.Err = errDone
		}
		c.done.Set(e.Err)
	}
}

// index is where a call is among those that wait; -1: nowhere. With mu.
func (p *producer) index(no uint64) int {
	i, there := slices.BinarySearchFunc(p.calls, no, func(c *putting, no uint64) int { return cmp.Compare(c.wish.No, no) })
	if !there {
		return -1
	}
	return i
}

// home is the stripe of a bounded queue's capacity that a producer uses first.
func home(guid string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(guid)) // never fails
	return int(h.Sum32() & 0xff)
}

// milliseconds rounds up: nothing is early.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}
