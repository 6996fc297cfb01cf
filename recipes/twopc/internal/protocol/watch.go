package protocol

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// presences watches the presences of other processes. Each has one watch, however many transactions
// depend on that process.
type presences struct {
	requests *requests
	path     func(name string) string
	seen     func(name string, w *watched) // a new state was read
	all      map[string]*watched
}

// watched is another process's presence.
type watched struct {
	*follower
	present bool              // it existed when it was read last
	dead    bool              // it did not
	died    bool              // the process of an earlier read has died
	guid    string            // of the presence that was read last; "" while it is a question
	czxid   int64             // of the same presence
	waiting map[uint64]func() // by the number of the transaction: called for each new state, or each death
}

func newPresences(d *requests, path func(name string) string, seen func(name string, w *watched)) *presences {
	return &presences{requests: d, path: path, seen: seen, all: map[string]*watched{}}
}

// watch adds a transaction to those that depend on a process.
func (p *presences) watch(name string, n uint64, changed func()) *watched {
	w := p.all[name]
	if w == nil {
		w = &watched{waiting: map[uint64]func(){}}
		p.all[name] = w
	}
	w.waiting[n] = changed
	if w.follower == nil {
		w.follower = p.requests.follow(p.path(name), func(ev machine.Seen) {
			if ev.Code == machine.Refused { // nothing is known to have changed
				w.retry()
				return
			}
			w.read(ev)
			p.seen(name, w)
		})
	}
	return w
}

func (p *presences) release(name string, n uint64) {
	w := p.all[name]
	if w == nil || w.waiting[n] == nil {
		return
	}
	delete(w.waiting, n)
	if len(w.waiting) == 0 {
		w.stop()
		delete(p.all, name)
	}
}

// reset forgets the watches, which end with their epoch.
func (p *presences) reset() {
	for _, w := range p.all {
		w.follower = nil
	}
}

// read takes a read over. A process that was alive and no longer is has died, even if another one
// with its name has started. The same process, in its next session, has not.
func (w *watched) read(ev machine.Seen) {
	guid, _ := parsePresence(ev.Data)
	another := ev.Stat.Czxid != w.czxid && (guid == "" || guid != w.guid)
	w.died = w.present && (!ev.Exists || another)
	w.present, w.dead, w.guid, w.czxid = ev.Exists, !ev.Exists, guid, ev.Stat.Czxid
}

// tell calls what waits, oldest transaction first.
func (w *watched) tell() {
	for _, n := range slices.Sorted(maps.Keys(w.waiting)) {
		if changed := w.waiting[n]; changed != nil {
			changed()
		}
	}
}
