package line

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// View is the state of a line.
type View struct {
	Entries []Entry // first to last
	Stale   bool    // the connection is down: so it was when last seen
}

// Observe is a subscription to a line: whole states, each at least as new as the one before, the
// newest replacing one that was not received. It follows who comes and goes; data are those that
// the contender was first seen with. It closes when ctx or the session ends.
func Observe(ctx context.Context, s *session.Session, path string) <-chan View {
	p := &published{out: notify.NewLatest[View]()}
	observe.Run(ctx, observe.Spec{
		Session: s, Kind: "line view", Path: path, Ended: func(error) { p.out.Close() },
		Begin: func(t *observe.Turn) {
			o := &observer{published: p, session: s, path: path, turn: t}
			observe.Each(t.Context(), t, s.WatchChildren(t.Context(), path), o.note)
		},
	})
	return p.out.C()
}

// published is what a subscription was told, over all incarnations of its actor.
type published struct {
	out  *notify.Latest[View]
	view View // receivers do not change it
	told bool
}

type observer struct {
	*published
	session *session.Session
	path    string
	turn    *observe.Turn

	parent int64            // Czxid of the parent that known belongs to: under another one, names may come again
	known  map[string]Entry // by name: what stands still need not be read again
	next   *session.Children
	stale  bool   // the connection is down
	busy   bool   // a reading is under way
	pause  uint64 // the number of the pause that is on, 0: none
	pauses uint64
	tries  int // readings failed in a row
}

// answer is what came of reading a state.
type answer struct {
	of      *session.Children
	entries []Entry
	err     error
}

// note takes a state that the session published. A stale one brings nothing new; a fresh one
// follows it.
func (o *observer) note(state session.Children, open bool) {
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

// start reads what is new in the state, unless a reading is under way, or a pause is on.
func (o *observer) start() {
	if o.next == nil || o.busy || o.pause != 0 {
		return
	}
	state := o.next
	o.next, o.busy = nil, true
	if state.Stat.Czxid != o.parent {
		o.parent, o.known = state.Stat.Czxid, nil
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

// digest publishes what was read. A reading that failed is done again after a pause, unless a newer
// state comes before.
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
	o.publish(a.entries)
}

// rest makes a pause.
func (o *observer) rest() {
	o.tries++
	o.pauses++
	number := o.pauses
	o.pause = number
	observe.After(o.turn.Context(), o.turn, backoff(o.tries), func() {
		if o.pause == number {
			o.pause = 0
			o.start()
		}
	})
}

// publish says who stands in line, if that is news.
func (o *observer) publish(entries []Entry) {
	v := View{Entries: entries, Stale: o.stale}
	if o.told && v.Stale == o.view.Stale && slices.EqualFunc(v.Entries, o.view.Entries, same) {
		return
	}
	o.view, o.told = v, true
	o.out.Publish(v)
}

func same(a, b Entry) bool { return a.Path == b.Path && a.Token == b.Token }

// backoff is a jittered pause that grows with the number of failures in a row.
func backoff(tries int) time.Duration {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	pause := min(first<<min(tries, 10), most)
	return pause/2 + rand.N(pause/2)
}
