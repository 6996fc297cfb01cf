package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func init() {
	loads["lock"] = lockLoad
}

// lockLoad: two parties of each worker want one lock. One makes calls, some of which give up; one
// has a standing intent.
func lockLoad(ctx context.Context, e *env) {
	calls, err := lock.New(e.sess, "/lock/line")
	if err != nil {
		e.failed("new", err)
		return
	}
	standing, err := lock.New(e.sess, "/lock/line")
	if err != nil {
		e.failed("new", err)
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	a, b := e.instance("c"), e.instance("s")
	wg.Go(func() { // owner: lockLoad; ends with busy
		defer a.release(ctx, "close", calls.Close)
		a.calls(ctx, calls, claim{thing: "lock/line", party: e.Name + ".c"}, func(g *lock.Grant, c claim) {
			a.possess(ctx, c, g, a.hold())
			a.release(ctx, "release", g.Release)
		})
	})
	wg.Go(func() { b.lockStanding(ctx, standing, claim{thing: "lock/line", party: e.Name + ".s"}) }) // owner: lockLoad; ends with busy
}

var errGaveUp = errors.New("gave up")

// lockOnce waits, sometimes for a moment only.
func (e *env) lockOnce(ctx context.Context, l *lock.Lock) (*lock.Grant, error) {
	patience := time.Minute
	switch e.rand.IntN(10) {
	case 0, 1, 2:
		patience = e.span(300 * time.Millisecond)
	case 3:
		g, err := l.TryLock(ctx)
		if errors.Is(err, lock.ErrHeld) {
			return nil, errGaveUp
		}
		return g, err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(e.busy, cancel)
	defer stop()
	g, err := l.Lock(wait)
	if err != nil && ctx.Err() == nil && wait.Err() != nil && errors.Is(err, wait.Err()) {
		return nil, errGaveUp
	}
	return g, err
}

// lockStanding wants it always.
func (e *env) lockStanding(ctx context.Context, l *lock.Lock, c claim) {
	defer e.release(ctx, "close", l.Close)
	e.ask(c.thing, c.party)
	l.Acquire()
	for {
		select {
		case g := <-l.Acquired():
			e.moved()
			e.possess(ctx, c, g, e.hold())
			e.release(ctx, "release", g.Release)
			e.ask(c.thing, c.party)
		case <-l.Done():
			e.failed("lock ended", l.Err())
			return
		case <-e.busy.Done():
			return
		}
	}
}

// hold is how long a possession lasts: mostly a moment, rarely longer than a session's timeout.
func (e *env) hold() time.Duration {
	if e.rand.Float64() < e.Long {
		return e.Timeout/2 + time.Duration(2*e.rand.Float64()*float64(e.Timeout))
	}
	return e.span(150 * time.Millisecond)
}

// release gives a possession up. A loss before, and the end of the run, are expected. More than
// three timeouts are no error by themselves: progress is checked elsewhere.
func (e *env) release(ctx context.Context, what string, release func(context.Context) error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*e.Timeout)
	defer cancel()
	err := release(bounded)
	if err == nil || errors.Is(err, session.ErrLost) || errors.Is(err, session.ErrClosed) || bounded.Err() != nil {
		return
	}
	e.failed(what, fmt.Errorf("%w (%T)", err, err))
}
