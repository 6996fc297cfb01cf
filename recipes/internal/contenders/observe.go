package contenders

import (
	"context"
	"slices"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// View is the state of a queue.
type View struct {
	Entries []Entry // first to last
	Stale   bool    // the connection is down: this is the last known state
	Delays  bool    // there is a [Record]
}

// Observe delivers the states of a queue. Each is at least as new as the one before, and the newest
// replaces one that was not received. It follows contenders that enter and leave; their data are
// those of the first read. The channel closes when ctx or the session ends.
func Observe(ctx context.Context, s *session.Session, path string) <-chan View {
	p := &published{out: notify.NewLatest[View]()}
	observe.Run(ctx, observe.Spec{
		Session: s, Kind: "line view", Path: path, Ended: func(error) { p.out.Close() },
		Begin: func(t *observe.Turn) {
			o := &observer{published: p, session: s, path: path, turn: t}
			observe.Each(t.Context(), t, s.WatchChildren(t.Context(), path), o.saw)
		},
	})
	return p.out.C()
}

// published is the last published state. It outlives the incarnations of the actor.
type published struct {
	out  *notify.Latest[View]
	view View // receivers do not modify it
	told bool
}

type observer struct {
	*published
	session *session.Session
	path    string
	turn    *observe.Turn

	// A contender is read once. Names may occur again under a new parent; and in a new epoch, if
	// the servers have lost their data. Then known is dropped.
	known  map[string]Entry // by name
	parent int64            // Czxid of the parent that known belongs to
	epoch  uint64           // that known belongs to

	// The next listing to be read; it waits while a read is in flight, and for the end of a pause.
	next   *session.Children // nil: none
	busy   bool              // a read is in flight
	tries  int               // number of failed reads in a row
	pause  uint64            // number of the current pause; 0: none
	pauses uint64            // so far

	// See View.
	stale, delays bool
}

// answer is the result of reading the contenders of a listing.
type answer struct {
	of      *session.Children
	entries []Entry
	err     error
}

// saw receives a listing. A stale one has no news; a fresh one will follow.
func (o *observer) saw(state session.Children, open bool) {
	if !open {
		o.turn.End()
		return
	}
	o.pause, o.stale = 0, state.Stale
	if state.Stale {
		o.next = nil
		o.publish(o.view.Entries)
		return
	}
	o.next = &state
	o.start()
}

// start reads the contenders that are new in the listing, unless a read is in flight or a pause is
// on.
func (o *observer) start() {
	if o.next == nil || o.busy || o.pause != 0 {
		return
	}
	state := o.next
	o.next, o.busy = nil, true
	if epoch := o.session.Status().Epoch; state.Stat.Czxid != o.parent || epoch != o.epoch {
		o.parent, o.epoch, o.known = state.Stat.Czxid, epoch, nil
	}
	var entries []Entry
	var fresh []znode.Contender
	for _, c := range parse(state.Names) {
		if e, ok := o.known[c.Name]; ok {
			entries = append(entries, e)
		} else {
			fresh = append(fresh, c)
		}
	}
	observe.Ask(o.turn.Context(), o.turn, func(ctx context.Context) answer {
		more, err := fetch(ctx, o.session, o.path, fresh)
		return answer{of: state, entries: append(entries, more...), err: err}
	}, o.digest)
}

// digest publishes the contenders that were read. A failed read is repeated after a pause, unless a
// newer listing arrives before.
func (o *observer) digest(a answer) {
	o.busy = false
	defer o.start()
	if a.err == nil {
		a.err = arrange(a.entries)
	}
	if a.err != nil {
		if o.next == nil {
			o.next = a.of
			o.rest()
		}
		return
	}
	o.tries = 0
	o.known = make(map[string]Entry, len(a.entries))
	for _, e := range a.entries {
		o.known[e.Contender.Name] = e
	}
	o.delays = slices.Contains(a.of.Names, znode.HeldRecord)
	o.publish(a.entries)
}

// rest starts a pause.
func (o *observer) rest() {
	o.tries++
	o.pauses++
	number := o.pauses
	o.pause = number
	observe.After(o.turn.Context(), o.turn, observe.Backoff(o.tries), func() {
		if o.pause == number {
			o.pause = 0
			o.start()
		}
	})
}

// publish publishes the contenders if they have changed.
func (o *observer) publish(entries []Entry) {
	v := View{Entries: entries, Stale: o.stale, Delays: o.delays}
	if o.told && v.Stale == o.view.Stale && v.Delays == o.view.Delays && slices.EqualFunc(v.Entries, o.view.Entries, same) {
		return
	}
	o.view, o.told = v, true
	o.out.Publish(v)
}

func same(a, b Entry) bool {
	return a.Path == b.Path && a.Token == b.Token && a.SessionID == b.SessionID
}
