package work

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

const (
	actEvery    = 2 * time.Millisecond  // a holder acts so often,
	recordEvery = 20 * time.Millisecond // and records its last act so often, and at its end
)

var errRevived = errors.New("a possession that was not valid any more is valid again")

// holding is any possession: a grant, a term, an item, a passage.
type holding interface {
	Valid() bool
	Done() <-chan struct{}
	Err() error
	Token() int64
}

// claim names a thing and its holder.
type claim struct {
	thing  string
	party  string
	mode   string // history.Shared; "": exclusive
	weight int64
}

// possess acts as a holder for d, until the possession ends or ctx does: it reads the clock, checks
// that the possession is valid, and reads the clock again. It returns true if the possession was
// valid at the last act.
func (e *env) possess(ctx context.Context, c claim, h holding, d time.Duration) bool {
	ev := history.Event{Kind: history.Act, Work: e.work, Thing: c.thing, Party: c.party, Mode: c.mode, Weight: c.weight, Token: h.Token()}
	until := time.Now().Add(d)
	pending, last := false, int64(0)
	for {
		from := history.Now()
		valid := h.Valid()
		at := history.Now()
		if valid {
			ev.From, ev.At, pending = from, at, true
		}
		if ends := !valid || !time.Now().Before(until) || ctx.Err() != nil; pending && (ends || at-last > int64(recordEvery)) {
			e.Write(ev)
			pending, last = false, ev.At
		}
		switch {
		case !valid:
			e.ended(c, h)
			return false
		case !time.Now().Before(until) || ctx.Err() != nil:
			return true
		}
		timer := time.NewTimer(min(actEvery, max(time.Until(until), time.Microsecond)))
		select {
		case <-timer.C:
		case <-h.Done():
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// ended records the end of a possession, and checks that it stays invalid.
func (e *env) ended(c claim, h holding) {
	how := "not valid"
	select {
	case <-h.Done():
		how = h.Err().Error()
	default:
	}
	if h.Valid() {
		e.failed(c.thing, errRevived)
	}
	e.Write(history.Event{Kind: history.Over, Work: e.work, Thing: c.thing, Party: c.party, Token: h.Token(), Value: how})
}

// ask records that a party asks for a thing.
func (e *env) ask(thing, party string) {
	e.Write(history.Event{Kind: history.Ask, Work: e.work, Thing: thing, Party: party})
}
