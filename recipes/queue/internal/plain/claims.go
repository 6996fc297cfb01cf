package plain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// claims are those of a queue. Each is bound to an epoch, so they are made by a client of the
// session.
type claims struct {
	queue *Queue

	mu      sync.Mutex
	client  *session.Client // nil: nothing was claimed yet
	epoch   uint64          // 0: none
	owner   int64           // the ZooKeeper session
	changed *notify.Latch   // closed and replaced with each event
	held    map[string]*Claimed
}

func newClaims(q *Queue) *claims {
	return &claims{queue: q, changed: notify.NewLatch(), held: make(map[string]*Claimed)}
}

// start makes the client.
func (c *claims) start() error {
	c.queue.session.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return nil
	}
	client, err := c.queue.session.Client("queue:"+c.queue.path, c.hear)
	c.client = client
	return err
}

// hear is called by the session.
func (c *claims) hear(ev session.Event) {
	var changed *Claimed
	c.mu.Lock()
	switch ev := ev.(type) {
	case session.EpochBegan:
		c.epoch, c.owner = ev.Epoch, ev.SessionID
	case session.EpochEnded:
		c.epoch = 0
	case session.Fired:
		changed = c.held[ev.Path]
	}
	c.changed.Close()
	c.changed = notify.NewLatch()
	c.mu.Unlock()
	if changed != nil {
		changed.look()
	}
}

// within waits for an epoch after another.
func (c *claims) within(ctx context.Context, after uint64) (epoch uint64, owner int64, err error) {
	for {
		c.mu.Lock()
		epoch, owner, changed := c.epoch, c.owner, c.changed
		c.mu.Unlock()
		if epoch > after {
			return epoch, owner, nil
		}
		if err := c.wait(ctx, changed); err != nil {
			return 0, 0, err
		}
	}
}

// wait waits for the next event.
func (c *claims) wait(ctx context.Context, changed *notify.Latch) error {
	select {
	case <-changed.C():
		return nil
	case <-c.queue.session.Done():
		return c.queue.session.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Claim waits for an item that is not claimed, and claims it. In a layout without claims it is
// [session.ErrUnsupported].
func (q *Queue) Claim(ctx context.Context) (*Claimed, error) {
	if q.taken == "" {
		return nil, fmt.Errorf("%w: this layout has no claims: WithAutoAck", session.ErrUnsupported)
	}
	leave, err := q.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := q.claims.start(); err != nil {
		return nil, err
	}
	var claimed *Claimed
	err = q.first(ctx, func() bool { return false }, func(ctx context.Context, i item) (bool, error) {
		var err error
		claimed, err = q.claims.try(ctx, i)
		return claimed != nil, err
	})
	return claimed, err
}

// try claims an item; nil if another is quicker.
func (c *claims) try(ctx context.Context, i item) (*Claimed, error) {
	q := c.queue
	after := uint64(0)
	for {
		epoch, owner, err := c.within(ctx, after)
		if err != nil {
			return nil, err
		}
		data, stat, err := q.session.Get(ctx, i.Path)
		if err != nil {
			return nil, unless(err, session.ErrNoNode)
		}
		i.Data = data
		claimed, err := outlive(ctx, q, func(context.Context) (*Claimed, error) {
			claimed := &Claimed{
				Entry: i.Entry, Epoch: epoch, claims: c, path: znode.Join(q.taken, i.Name), version: stat.Version + 1,
				over: notify.NewLatch(),
			}
			if err := claimed.make(owner); err != nil {
				return nil, err
			}
			return claimed.possess(ctx)
		}, func(claimed *Claimed) { claimed.End(session.ErrReleased) })
		switch {
		case errors.Is(err, session.ErrExpired):
			after = epoch
		case errors.Is(err, session.ErrBadVersion): // its data were changed
		case errors.Is(err, errNoParent):
			if err := q.ensure(ctx, q.taken); err != nil {
				return nil, err
			}
		case errors.Is(err, session.ErrTooLarge): // it is foreign: see ballast
			q.session.Logger().Warn("an item of a queue is too large to be claimed", "path", i.Path)
			return nil, nil
		default:
			return claimed, unless(err, session.ErrNoNode, session.ErrNodeExists)
		}
	}
}

// giveUp ends the claims that stand, and waits until they are gone.
func (c *claims) giveUp(ctx context.Context) error {
	c.mu.Lock()
	held := slices.Collect(maps.Values(c.held))
	c.mu.Unlock()
	for _, claimed := range held {
		claimed.End(session.ErrClosed)
	}
	for _, claimed := range held {
		if err := notify.Wait(ctx, claimed.over.C()); err != nil {
			return err
		}
	}
	return nil
}

// leave ends the client, and in the background what it has in ZooKeeper.
func (c *claims) leave() {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil {
		client.Leave()
	}
}
