package line

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// View is the state of a line.
type View struct {
	Entries []Entry // first to last
	Stale   bool    // the connection is down: so it was when last seen
}

// Observe is a subscription to a line: whole states, each at least as new as the one before, the newest replacing one that was not received. It
// follows who comes and goes; data are those that the contender was first seen with. It closes when ctx or the session ends.
func Observe(ctx context.Context, s *session.Session, path string) <-chan View {
	o := &observer{session: s, path: path, out: notify.NewLatest[View](), answer: notify.NewLatest[answer]()}
	go o.run(ctx) // owned by ctx and the session, ends with the first of them
	return o.out.C()
}

type observer struct {
	session *session.Session
	path    string
	out     *notify.Latest[View]

	parent int64            // Czxid of the parent that known belongs to: under another one, names may come again
	known  map[string]Entry // by name: what stands still need not be read again
	answer *notify.Latest[answer]
	next   *session.Children
	stale  bool // the connection is down
	busy   bool // a reading is under way
	tries  int  // readings failed in a row

	view      View // published last; receivers do not change it
	published bool
}

// answer is what came of reading a state. At most one reading is under way, so that none is replaced.
type answer struct {
	of      *session.Children
	entries []Entry
	err     error
}

func (o *observer) run(ctx context.Context) {
	defer o.out.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	states := o.session.WatchChildren(ctx, o.path)
	var pause <-chan time.Time
	for {
		select {
		case state, open := <-states:
			if !open {
				return
			}
			pause = nil
			o.note(state)
		case a := <-o.answer.C():
			o.busy = false
			pause = o.digest(a)
		case <-pause:
			pause = nil
		}
		if o.next != nil && !o.busy && pause == nil {
			o.start(ctx)
		}
	}
}

// note takes a state that the session published. A stale one brings nothing new; a fresh one follows it.
func (o *observer) note(state session.Children) {
	o.stale = state.Stale
	if state.Stale {
		o.next = nil
		o.publish(o.view.Entries)
		return
	}
	o.next = &state
}

// start reads what is new in the state.
func (o *observer) start(ctx context.Context) {
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
	go func() { // owned by run, whose context it ends with
		more, err := fetch(ctx, o.session, o.path, fresh)
		o.answer.Publish(answer{of: state, entries: append(entries, more...), err: err})
	}()
}

// digest publishes what was read. A reading that failed is done again after the pause that it returns, unless a newer state comes before.
func (o *observer) digest(a answer) <-chan time.Time {
	if a.err != nil {
		if o.next != nil {
			return nil
		}
		o.next = a.of
		o.tries++
		return time.After(backoff(o.tries))
	}
	o.tries = 0
	o.known = make(map[string]Entry, len(a.entries))
	for _, e := range a.entries {
		o.known[e.Contender.Name] = e
	}
	arrange(a.entries)
	o.publish(a.entries)
	return nil
}

// publish says who stands in line, if that is news.
func (o *observer) publish(entries []Entry) {
	v := View{Entries: entries, Stale: o.stale}
	if o.published && v.Stale == o.view.Stale && slices.EqualFunc(v.Entries, o.view.Entries, same) {
		return
	}
	o.view, o.published = v, true
	o.out.Publish(v)
}

func same(a, b Entry) bool { return a.Path == b.Path && a.Token == b.Token }

// backoff is a jittered pause that grows with the number of failures in a row.
func backoff(tries int) time.Duration {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	pause := min(first<<min(tries, 10), most)
	return pause/2 + rand.N(pause/2)
}
