package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
)

func init() { loads["group"] = groupLoad }

var (
	errStill = errors.New("a member that has left is still there")
	errTwice = errors.New("two members of one id")
)

// groupLoad: each worker is a member, leaves and joins again, and observes the view.
func groupLoad(ctx context.Context, e *env) {
	g, err := group.New(e.sess, "/group/members")
	if err != nil {
		e.failed("new", err)
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	observing, cancel := context.WithCancel(ctx)
	defer cancel()
	o := e.fork()
	wg.Go(func() { o.observeGroup(observing, g) }) // owner: groupLoad; ends with observing
	for n := 0; e.busy.Err() == nil; n++ {
		e.member(ctx, g, fmt.Sprintf("m%d", e.Index), n)
	}
}

// member joins, stays for a while, and leaves.
func (e *env) member(ctx context.Context, g *group.Group, id string, n int) {
	m, err := g.Join(group.Member{Name: id, Data: fmt.Append(nil, n)})
	if err != nil {
		e.failed("join", err)
		return
	}
	select {
	case <-m.Joined():
		e.moved()
	case <-m.Done():
		if !errors.Is(m.Err(), session.ErrClosed) {
			e.failed("member", m.Err())
		}
		return
	case <-e.busy.Done():
	}
	bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
	defer cancel()
	if e.rand.IntN(3) == 0 {
		e.check(bounded, "update", m.Update(bounded, []byte("updated")))
	}
	pause(e.busy, e.span(time.Second))
	if err := m.Leave(bounded); err != nil {
		e.check(bounded, "leave", err)
		return
	}
	// A transaction first: a sync alone is answered by a leader that has been deposed and does not
	// know it.
	if _, err := e.sess.Multi(bounded, session.CheckOp("/group/members", -1)); err != nil {
		return
	}
	view, err := g.Members(bounded)
	if err != nil {
		e.check(bounded, "members", err)
		return
	}
	for _, other := range view.Members {
		if other.Name == id {
			e.failed("members", errStill)
		}
	}
}

// observeGroup checks that no view is older than the one before.
func (e *env) observeGroup(ctx context.Context, g *group.Group) {
	newest := make(map[string]int64)
	for view := range g.Observe(ctx) {
		seen := make(map[string]bool)
		for _, m := range view.Members {
			if seen[m.Name] {
				e.failed("observe", errTwice)
			}
			seen[m.Name] = true
			if m.Token < newest[m.Name] {
				e.failed("observe", fmt.Errorf("%s with token %d after %d", m.Name, m.Token, newest[m.Name]))
			}
			newest[m.Name] = m.Token
		}
	}
}
