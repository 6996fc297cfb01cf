package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() {
	loads["barrier"] = barrierLoad
	loads["double"] = doubleLoad
}

// barrierLoad: the first worker raises and lowers a barrier, and the others wait for it.
func barrierLoad(ctx context.Context, e *env) {
	b, err := barrier.New(e.sess, "/barrier/gate")
	if err != nil {
		e.failed("new", err)
		return
	}
	if e.Index == 0 {
		e.raiseAndLower(ctx, b)
		return
	}
	for e.busy.Err() == nil {
		from := history.Now()
		if err := b.Wait(e.busy); err != nil {
			if e.busy.Err() == nil && !ended(ctx, err) {
				e.failed("wait", err)
			}
			continue
		}
		e.Write(history.Event{Kind: history.Read, Work: e.work, Thing: "barrier", Party: e.Name, From: from, Value: history.Down})
		e.moved()
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

func (e *env) raiseAndLower(ctx context.Context, b *barrier.Barrier) {
	set := func(ctx context.Context, value string, do func(context.Context) error) {
		bounded, cancel := context.WithTimeout(ctx, 3*e.Timeout)
		defer cancel()
		ev := history.Event{Kind: history.Wrote, Work: e.work, Thing: "barrier", Party: e.Name, From: history.Now(), Value: value, Mode: history.Trying}
		e.Write(ev)
		err := do(bounded)
		ev.Done, ev.Mode = err == nil, ""
		e.Write(ev)
		e.check(bounded, value, err)
		if err == nil {
			e.moved()
		}
	}
	for e.busy.Err() == nil {
		set(ctx, history.Up, b.Raise)
		pause(e.busy, e.span(300*time.Millisecond))
		set(ctx, history.Down, b.Lower)
		pause(e.busy, e.span(300*time.Millisecond))
	}
	set(ctx, history.Down, b.Lower)
}

// doubleLoad: each worker is a party of a double barrier, and breaks a round now and then.
func doubleLoad(ctx context.Context, e *env) {
	d, err := barrier.NewDouble(e.sess, "/double/rounds", e.Workers, barrier.WithName(fmt.Sprintf("w%d", e.Index)))
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", d.Close)
	replaced := false
	for e.busy.Err() == nil {
		if e.rand.IntN(40) == 0 {
			e.step("breaks the round")
			e.check(e.busy, "break", d.Break(e.busy))
		}
		e.step("enters")
		p, err := d.Enter(e.busy)
		switch {
		case err == nil:
			e.within(ctx, p)
		case errors.Is(err, barrier.ErrBroken):
			e.moved()
		case e.busy.Err() != nil, ended(ctx, err):
		case errors.Is(err, barrier.ErrReplaced) && !replaced: // an arrival of this worker's previous process was carried out behind its own
			replaced = true
		default:
			e.failed("enter", err)
		}
	}
}

func (e *env) within(ctx context.Context, p *barrier.Passage) {
	e.moved()
	e.step("inside")
	thing := fmt.Sprintf("double/%d", p.Round())
	e.Write(history.Event{
		Kind: history.Round, Work: e.work, Thing: thing, Party: fmt.Sprintf("w%d", e.Index), Token: p.Round(), Weight: int64(e.Workers),
		Value: strings.Join(p.Members(), " "),
	})
	if !e.possess(ctx, claim{thing: thing, party: e.Name, mode: history.Shared}, p, e.span(100*time.Millisecond)) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, 3*e.Timeout)
	defer cancel()
	e.step("leaves " + thing)
	err := p.Leave(bounded)
	e.check(bounded, "leave", err)
	if err == nil {
		e.Write(history.Event{Kind: history.Left, Work: e.work, Thing: thing, Party: e.Name})
	}
}
