package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() {
	loads["multi"] = multiLoad
	loads["beside"] = besideLoad
	loads["simple"] = func(ctx context.Context, e *env) { lockOf(ctx, e, lock.WithLayout(lock.Simple)) }
	loads["delay"] = func(ctx context.Context, e *env) { lockOf(ctx, e, lock.WithDelay(Delay)) }
}

// Delay is how long the lock of the workload delay rests after a holder that died.
const Delay = time.Second

// lockOf: one party of each worker wants a lock of some kind.
func lockOf(ctx context.Context, e *env, options ...lock.Option) {
	l, err := lock.New(e.sess, "/"+e.work+"/line", options...)
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", l.Close)
	e.calls(ctx, l, claim{thing: e.work + "/line", party: e.Name}, func(g *lock.Grant, c claim) {
		if e.possess(ctx, c, g, e.hold()) {
			e.Write(history.Event{Kind: history.Over, Work: e.work, Thing: c.thing, Party: c.party, Token: g.Token(), Value: history.GivenUp})
		}
		e.release(ctx, "release", g.Release)
	})
}

// beside is how many locks a worker wants at one time in the workload beside.
const beside = 12

// besideLoad: each worker wants many locks at one time and gives them back at one time, so that one
// transaction creates or deletes several.
func besideLoad(ctx context.Context, e *env) {
	locks, envs := make([]*lock.Lock, beside), make([]*env, beside)
	for i := range locks {
		l, err := lock.New(e.sess, fmt.Sprintf("/beside/%d", i))
		if err != nil {
			e.failed("new", err)
			return
		}
		defer e.release(ctx, "close", l.Close)
		locks[i], envs[i] = l, e.fork()
	}
	for e.busy.Err() == nil {
		var round sync.WaitGroup
		hold := e.hold()
		for i, l := range locks {
			round.Go(func() { // owner: besideLoad; ends with the wait, and with hold
				a, c := envs[i], claim{thing: fmt.Sprintf("beside/%d", i), party: e.Name}
				a.ask(c.thing, c.party)
				g, err := a.lockOnce(ctx, l)
				switch {
				case err == nil:
					a.moved()
					a.possess(ctx, c, g, hold)
					a.release(ctx, "release", g.Release)
				case err != errGaveUp && !ended(ctx, err):
					a.failed("lock", err)
				}
			})
		}
		round.Wait()
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

// multiLoad: each worker takes two or three of three locks together.
func multiLoad(ctx context.Context, e *env) {
	var locks []*lock.Lock
	for _, name := range []string{"a", "b", "c"} {
		l, err := lock.New(e.sess, "/multi/"+name)
		if err != nil {
			e.failed("new", err)
			return
		}
		defer e.release(ctx, "close", l.Close)
		locks = append(locks, l)
	}
	for e.busy.Err() == nil {
		some := append([]*lock.Lock(nil), locks...)
		e.rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		m, err := lock.NewMulti(some[:2+e.rand.IntN(2)]...)
		if err != nil {
			e.failed("new multi", err)
			return
		}
		wait, cancel := context.WithTimeout(e.busy, time.Minute)
		g, err := m.Lock(wait)
		cancel()
		switch {
		case err == nil:
			e.moved()
			e.possessAll(ctx, g)
			e.release(ctx, "release", g.Release)
		case e.busy.Err() != nil, ended(ctx, err):
		case wait.Err() != nil && errors.Is(err, wait.Err()):
		default:
			e.failed("lock", err)
		}
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

// joined is a part of a possession, which counts only while the joined does.
type joined struct {
	*session.Hold
	all *session.Hold
}

// Valid implements holding.
func (w joined) Valid() bool { return w.all.Valid() }

// possessAll acts as the holder of all parts at once.
func (e *env) possessAll(ctx context.Context, g *lock.MultiGrant) {
	var wg sync.WaitGroup
	defer wg.Wait()
	d := e.hold()
	for _, part := range g.Grants() {
		f := e.fork()
		thing := part.Path()[len("/"):len("/multi/a")]
		wg.Go(func() { // owner: possessAll; ends with d or the grant
			f.possess(ctx, claim{thing: thing, party: f.Name}, joined{part.Hold, g.Hold}, d)
		})
	}
}
