package work

import (
	"context"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() {
	loads["shared"] = sharedLoad
	loads["semaphore"] = semaphoreLoad
}

// sharedLoad: two readers and a writer of each worker; some writers go on as readers.
func sharedLoad(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, party := range []string{"r1", "r2", "w"} {
		side, mode := lock.NewRead, history.Shared
		if party == "w" {
			side, mode = lock.NewWrite, ""
		}
		l, err := side(e.sess, "/shared/line")
		if err != nil {
			e.failed("new", err)
			return
		}
		f := e.fork()
		wg.Go(func() { // owner: sharedLoad; ends with busy
			defer f.release(ctx, "close", l.Close)
			f.calls(ctx, l, claim{thing: "shared/line", party: f.Name + "." + party, mode: mode}, func(g *lock.Grant, c claim) { f.sharedGrant(ctx, g, c) })
		})
	}
}

func (e *env) sharedGrant(ctx context.Context, g *lock.Grant, c claim) {
	if e.possess(ctx, c, g, e.hold()) && c.mode != history.Shared && e.rand.IntN(4) == 0 {
		bounded, cancel := context.WithTimeout(ctx, e.Timeout)
		defer cancel()
		down, err := g.Downgrade(bounded)
		e.check(bounded, "downgrade", err)
		if err != nil { // both are over; if ctx had ended before, Close releases the writer
			return
		}
		c.mode, c.party, g = history.Shared, c.party+".down", down
		e.possess(ctx, c, g, e.hold())
	}
	e.release(ctx, "release", g.Release)
}

// semaphoreLoad: parties of weight one and two.
func semaphoreLoad(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for weight := range 2 {
		l, err := lock.NewSemaphore(e.sess, "/semaphore/line", permits, lock.WithWeight(weight+1))
		if err != nil {
			e.failed("new", err)
			return
		}
		f := e.fork()
		c := claim{thing: "semaphore/line", party: f.Name + "." + string(rune('1'+weight)), weight: int64(weight + 1)}
		wg.Go(func() { // owner: semaphoreLoad; ends with busy
			defer f.release(ctx, "close", l.Close)
			f.calls(ctx, l, c, func(g *lock.Grant, c claim) {
				f.possess(ctx, c, g, f.hold())
				f.release(ctx, "release", g.Release)
			})
		})
	}
}

// calls locks again and again.
func (e *env) calls(ctx context.Context, l *lock.Lock, c claim, with func(g *lock.Grant, c claim)) {
	for e.busy.Err() == nil {
		e.ask(c.thing, c.party)
		g, err := e.lockOnce(ctx, l)
		switch {
		case err == nil:
			e.moved()
			with(g, c)
		case err == errGaveUp:
		case ended(ctx, err):
			return
		default:
			e.failed("lock", err)
		}
		pause(e.busy, e.span(200*time.Millisecond))
	}
}
