package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func init() {
	loads["crowd"] = crowdLoad
	loads["sessions"] = sessionsLoad
	loads["transfer"] = transferLoad
}

// crowd is how many locks of one session wait in one queue.
const crowd = 6

// crowdLoad runs many contenders of one session in one queue.
func crowdLoad(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range crowd {
		f := e.instance(fmt.Sprint(i))
		wg.Go(func() { f.contend(ctx, e.sess) }) // owner: crowdLoad; ends with busy
	}
}

// sessionsLoad runs contenders of two sessions of one process in one queue.
func sessionsLoad(ctx context.Context, e *env) {
	second, err := e.open()
	if err != nil {
		e.failed("second session", err)
		return
	}
	defer e.release(ctx, "close the second session", second.Close)
	recipe.Start(second)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range []*session.Session{e.sess, second, e.sess, second} {
		f := e.instance(fmt.Sprint(i))
		wg.Go(func() { f.contend(ctx, s) }) // owner: sessionsLoad; ends with busy
	}
}

// contend takes the workload's lock over and over, with a lock.Lock of its own, each time for a
// moment.
func (e *env) contend(ctx context.Context, s *session.Session) {
	l, err := lock.New(s, "/"+e.work+"/line")
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", l.Close)
	c := claim{thing: e.work + "/line", party: e.Name + "." + e.slot}
	for e.busy.Err() == nil {
		e.ask(c.thing, c.party)
		g, err := e.lockOnce(ctx, l)
		switch {
		case err == nil:
			e.moved()
			e.possess(ctx, c, g, e.span(20*time.Millisecond))
			e.release(ctx, "release", g.Release)
		case err == errGaveUp:
		case ended(ctx, err):
			return
		default:
			e.failed("lock", err)
		}
		pause(e.busy, e.span(50*time.Millisecond))
	}
}

// Lots: each of eight candidates is the next one with the same chance, so that one of them is
// passed over a hundred times in a row in one of five million cases.
func Lots() map[string]int { return map[string]int{"transfer": 100} }

// noise is how many znodes each worker watches and writes beside an election.
const noise = 20

// transferLoad runs two candidates in each worker, which hand their terms over to others while
// events of many other watches arrive.
func transferLoad(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { e.fork().noise(ctx) }) // owner: transferLoad; ends with busy
	for i := range 2 {
		f := e.instance(fmt.Sprint(i))
		wg.Go(func() { f.handOver(ctx, f.Name+"."+f.slot) }) // owner: transferLoad; ends with busy
	}
}

// handOver leads, and hands over to a random candidate.
func (e *env) handOver(ctx context.Context, id string) {
	el, err := election.New(e.sess, "/transfer/line", election.WithName(id))
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", el.Close)
	c := claim{thing: "transfer/line", party: id}
	for e.busy.Err() == nil {
		e.ask(c.thing, c.party)
		el.Campaign()
		select {
		case t := <-el.Leader():
			e.moved()
			e.possess(ctx, c, t, e.span(10*time.Millisecond))
			bounded, cancel := context.WithTimeout(ctx, e.Timeout)
			all, err := el.Candidates(bounded)
			if err == nil && len(all) > 1 {
				err = t.TransferTo(bounded, all[1+e.rand.IntN(len(all)-1)])
			}
			e.check(bounded, "transfer", err)
			cancel()
			e.possess(ctx, c, t, 2*actEvery)
			e.release(ctx, "resign the term", t.Resign)
		case <-el.Done():
			e.failed("election ended", el.Err())
			return
		case <-e.busy.Done():
			return
		}
	}
}

// noise writes znodes that the same session watches.
func (e *env) noise(ctx context.Context) {
	watching, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var ops []session.Op
	for i := range noise {
		path := fmt.Sprintf("%s/w%d-%d", noisePath, e.Index, i)
		for e.busy.Err() == nil && e.sess.EnsurePath(e.busy, path) != nil {
			pause(e.busy, e.Timeout/10)
		}
		ops = append(ops, session.SetOp(path, nil, -1))
		wg.Go(func() { // owner: noise; ends with watching
			for range e.sess.WatchData(watching, path) { // only the watch is needed
			}
		})
	}
	for pause(e.busy, 50*time.Millisecond) {
		bounded, done := context.WithTimeout(ctx, e.Timeout)
		if _, err := e.sess.Multi(bounded, ops...); err != nil && !errors.Is(err, session.ErrNoNode) {
			e.check(bounded, "noise", err)
		}
		done()
	}
}
