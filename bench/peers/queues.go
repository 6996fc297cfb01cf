//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/recipes/queue"
)

// work is an end of a queue: a producer has put, a consumer take and ack. Take returns an item, ack
// acknowledges it. End, of some consumers, returns the items that were claimed ahead.
type work struct {
	put  func(item []byte) error
	take func() ([]byte, error)
	ack  func() error
	end  func() error
}

// worker is a session with a queue among its recipes.
type worker interface {
	worker(ctx context.Context, r *row, i int, path string) (work, error)
}

// produces reports whether a contender of a queue is a producer: one half is.
func (r *row) produces(i int) bool { return i < r.contenders()/2 }

// itemOf is the data of an item with a number: a hundred bytes.
func itemOf(number int) []byte { return fmt.Appendf(nil, "%0100d", number) }

// remaining is the number of items that the consumers of a run have still to take.
type remaining struct{ left atomic.Int64 }

// queue runs one end of a queue: a producer puts n items, consumers take all that are put. In the
// log, the moments have the items' numbers.
func (f *fleet) queue(i, n int) error {
	w := f.works[i]
	for k := range n {
		if !f.r.produces(i) {
			break
		}
		number := i*n + k
		f.record(comes, number)
		if err := w.put(itemOf(number)); err != nil {
			return err
		}
	}
	for !f.r.produces(i) && f.remaining.left.Add(-1) >= 0 {
		item, err := w.take()
		number, strange := strconv.Atoi(string(item))
		if err = errors.Join(err, strange); err != nil {
			return err
		}
		f.record(enters, number)
		if err := w.ack(); err != nil {
			return err
		}
	}
	if w.end != nil {
		return w.end()
	}
	return nil
}

// delivered checks a queue: each item that was put is delivered once.
func delivered(log []moment) (s stats) {
	put, got := 0, map[int]bool{}
	for _, m := range log {
		switch m.what {
		case failed:
			s.errors++
		case comes:
			put++
		case enters:
			if got[m.i] {
				s.violations = 1
			}
			got[m.i] = true
		}
	}
	if s.errors == 0 && len(got) != put {
		s.violations = 1
	}
	return s
}

// pile is a queue of raw requests: an item is a sequential znode, claimed by an ephemeral one. They
// are the fewest that deliver an item again when its consumer dies.
type pile struct {
	bare
	dir, mine string
	contended bool     // there are other consumers
	seen      []string // listed and not tried
}

func (b bare) worker(_ context.Context, r *row, i int, dir string) (work, error) {
	for _, parent := range []string{dir, dir + "/items", dir + "/claims"} {
		if _, err := b.Create(parent, nil, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return work{}, err
		}
	}
	p := &pile{bare: b, dir: dir, contended: r.contenders() > 2}
	if r.produces(i) {
		return work{put: p.put}, nil
	}
	return work{take: p.take, ack: p.ack}, nil
}

func (p *pile) put(item []byte) error {
	_, err := p.Create(p.dir+"/items/"+guid, item, zk.FlagSequence, acl)
	return err
}

// take claims the first free item of the last listing; consumers that contend begin at random.
func (p *pile) take() ([]byte, error) {
	for {
		for len(p.seen) > 0 {
			at := 0
			if p.contended {
				at = rand.IntN(len(p.seen))
			}
			p.mine = p.seen[at]
			p.seen = slices.Delete(p.seen, at, at+1)
			_, err := p.Create(p.dir+"/claims/"+p.mine, nil, zk.FlagEphemeral, acl)
			if errors.Is(err, zk.ErrNodeExists) {
				continue
			}
			item, _, unread := p.Get(p.dir + "/items/" + p.mine)
			if err == nil && errors.Is(unread, zk.ErrNoNode) { // it was acknowledged since it was listed
				unread = p.Delete(p.dir+"/claims/"+p.mine, -1)
				if unread == nil {
					continue
				}
			}
			return item, errors.Join(err, unread)
		}
		if err := p.list(); err != nil {
			return nil, err
		}
	}
}

// list lists the items, and waits for one that is not claimed.
func (p *pile) list() error {
	names, _, changed, err := p.ChildrenW(p.dir + "/items")
	if err != nil {
		return err
	}
	if p.contended && len(names) > 0 {
		claimed, _, err := p.Children(p.dir + "/claims")
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(claimed, name) })
	}
	slices.Sort(names) // the names differ in their numbers alone
	if p.seen = names; len(names) == 0 {
		return (<-changed).Err
	}
	return nil
}

func (p *pile) ack() error {
	_, err := p.Multi(&zk.DeleteRequest{Path: p.dir + "/items/" + p.mine, Version: -1}, &zk.DeleteRequest{Path: p.dir + "/claims/" + p.mine, Version: -1})
	return err
}

func (o ours) worker(ctx context.Context, r *row, i int, path string) (work, error) {
	q, err := queue.New(o.Session, path)
	if err != nil || r.produces(i) {
		return work{put: func(item []byte) error {
			_, err := q.Put(ctx, item)
			return err
		}}, err
	}
	var c *queue.Consumer
	var item *queue.Item
	return work{
		take: func() ([]byte, error) {
			if c == nil {
				if c, err = q.Consume(); err != nil {
					return nil, err
				}
			}
			select {
			case item = <-c.Items():
				return item.Data(), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		ack: func() error { return item.Ack(ctx) },
		end: func() error { // the items that it has claimed ahead go to another one
			was := c
			if c = nil; was == nil {
				return nil
			}
			return was.Close(ctx)
		},
	}, nil
}
