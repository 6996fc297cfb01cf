package pact

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// outcome is one that stands in ZooKeeper and that nobody has acknowledged: a decided transaction
// that its sites are through with, or a tombstone.
type outcome struct {
	id, guid  string
	czxid     int64
	mtime     int64
	tombstone string // its path; "" of a transaction
}

// sweeper bounds what applications leave that do not acknowledge. It keeps the latest outcomes of
// this coordinator, and deletes the oldest when they are too many. It also goes through all that
// stand, of whatever coordinator, when the first one is kept and after every pause: those that are
// too old, or too many, go.
//
// A coordinator that does not know whether it has begun a transaction may look for it later than
// that. So what is swept is noted in [Root.Swept], in the same transaction: the Czxid of the
// youngest. Whoever finds nothing, and knows that its own would be younger, may conclude that there
// was nothing.
type sweeper struct {
	desk   *desk
	root   Root
	most   int
	age    int64 // in milliseconds
	kept   []outcome
	has    map[string]bool
	due    []outcome // to be deleted
	busy   bool      // one is being deleted
	fresh  bool      // all were gone through not long ago
	paused bool
	going  bool // all are being gone through
	owed   bool // all are to be gone through as soon as there is an epoch
}

// What is kept of outcomes that nobody acknowledges, if the application does not say.
const (
	DefaultMost = 10_000
	DefaultAge  = 7 * 24 * 3600 * 1000 // milliseconds
)

func newSweeper(d *desk, root Root) *sweeper {
	return &sweeper{desk: d, root: root, most: DefaultMost, age: DefaultAge, has: map[string]bool{}}
}

// reset forgets what belonged to the epoch. What was under way is done in the next.
func (s *sweeper) reset() {
	s.owed = s.owed || s.going || s.busy || len(s.due) > 0
	s.going, s.busy, s.due = false, false, nil
}

// resume does in a new epoch what is owed.
func (s *sweeper) resume() {
	if s.owed {
		s.look()
	}
}

func (s *sweeper) keeps(guid string) bool { return s.has[guid] }

// keep takes note of an outcome that is the application's to acknowledge.
func (s *sweeper) keep(o outcome) {
	if s.has[o.guid] {
		return
	}
	s.has[o.guid] = true
	s.kept = append(s.kept, o)
	for len(s.kept) > s.most {
		if s.kept[0].czxid > 0 { // else it is a tombstone
			s.due = append(s.due, s.kept[0])
		}
		delete(s.has, s.kept[0].guid)
		s.kept = s.kept[1:]
	}
	s.next()
	if !s.fresh {
		s.look()
	}
}

// look goes through all outcomes, and not again for a while.
func (s *sweeper) look() {
	if s.desk.epoch == 0 {
		s.owed = true
		return
	}
	s.owed, s.fresh = false, true
	if !s.paused {
		s.paused = true
		s.desk.pause(s.age/4, func() { s.fresh, s.paused = false, false })
	}
	s.pass()
}

// release: it is being acknowledged.
func (s *sweeper) release(guid string) {
	if s.has[guid] {
		delete(s.has, guid)
		s.kept = slices.DeleteFunc(s.kept, func(o outcome) bool { return o.guid == guid })
	}
}

// pass goes through all outcomes that stand.
func (s *sweeper) pass() {
	s.going = true
	s.walk(s.root.Transactions(), func(name string, ev machine.Seen) (outcome, bool) {
		rec, ok := parseRecord(ev.Data)
		through := ok && rec.State != Undecided && ev.Stat.Children <= 1 // the coordinator's mark
		return outcome{id: name, guid: rec.GUID, czxid: ev.Stat.Czxid, mtime: ev.Stat.Mtime}, through
	}, func() {
		s.walk(s.root.Tombstones(), func(name string, ev machine.Seen) (outcome, bool) {
			return outcome{tombstone: s.root.Tombstones() + "/" + name, czxid: ev.Stat.Czxid, mtime: ev.Stat.Mtime}, true
		}, func() { s.going = false })
	})
}

// walk reads the znodes below a path, one after the other, and has those deleted that are too old
// or too many.
func (s *sweeper) walk(path string, judge func(name string, ev machine.Seen) (outcome, bool), then func()) {
	s.desk.names(path, func(ev machine.Listed) {
		names := ev.Names
		slices.Sort(names)
		var found []outcome
		var step func()
		step = func() {
			if len(names) == 0 {
				s.choose(found)
				then()
				return
			}
			name := names[0]
			names = names[1:]
			s.desk.read(path+"/"+name, watcher{}, func(ev machine.Seen) {
				if o, is := judge(name, ev); ev.Exists && is {
					found = append(found, o)
				}
				step()
			})
		}
		step()
	})
}

func (s *sweeper) choose(found []outcome) {
	slices.SortStableFunc(found, func(a, b outcome) int { return cmp.Compare(a.mtime, b.mtime) })
	for i, o := range found {
		if len(found)-i > s.most || s.desk.now-o.mtime > s.age {
			s.due = append(s.due, o)
		}
	}
	s.next()
}

// next deletes the next one that is due.
func (s *sweeper) next() {
	if s.busy || len(s.due) == 0 || s.desk.epoch == 0 {
		return
	}
	s.busy = true
	o := s.due[0]
	s.due = s.due[1:]
	s.desk.read(s.root.Swept(), watcher{}, func(ev machine.Seen) {
		if ev.Code == machine.Refused { // what may not be noted is not deleted
			s.busy = false
			return
		}
		s.sweep(o, ev)
	})
}

// sweep deletes it, unless it is not what it was.
func (s *sweeper) sweep(o outcome, swept machine.Seen) {
	note := machine.Op{Do: machine.Create, Path: s.root.Swept(), Data: sweptUpTo(max(o.czxid, parseSwept(swept.Data)))}
	if swept.Exists {
		note.Do, note.Version = machine.Set, swept.Stat.Version
	}
	ops := []machine.Op{note}
	if o.tombstone != "" {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: o.tombstone, Version: machine.Any})
	} else { // a transaction that some site is not through with has more below it, and is left alone
		ops = append(ops,
			machine.Op{Do: machine.Delete, Path: s.root.Open(o.id, o.guid), Version: machine.Any},
			machine.Op{Do: machine.Delete, Path: s.root.Tx(o.id), Version: machine.Any})
	}
	s.desk.transact(func(ev machine.Transacted) {
		s.busy = false
		gone := ev.Code == machine.NoNode && note.Do == machine.Create                           // with all that is around it
		if ev.Code == machine.Unknown || ev.Failed == 0 && ev.Code != machine.Refused && !gone { // somebody else sweeps, too
			s.due = append([]outcome{o}, s.due...)
		} else {
			delete(s.has, o.guid)
		}
		s.next()
	}, ops...)
}

func sweptUpTo(czxid int64) []byte {
	data, err := json.Marshal(map[string]int64{"czxid": czxid})
	if err != nil { // it has nothing that could fail
		panic(err)
	}
	return data
}

// parseSwept reads what sweptUpTo wrote; 0: nothing was swept.
func parseSwept(data []byte) int64 {
	var swept map[string]int64
	if json.Unmarshal(data, &swept) != nil {
		return 0
	}
	return swept["czxid"]
}
