package protocol

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// outcome is an unacknowledged outcome in ZooKeeper: a decided transaction that all sites have
// acknowledged, or a tombstone.
type outcome struct {
	id, guid  string
	czxid     int64
	mtime     int64
	tombstone string // its path; "" for a transaction
}

// sweeper limits the outcomes that applications do not acknowledge. It keeps the latest outcomes of
// this coordinator, and deletes the oldest when there are too many. It also goes through all
// outcomes, of any coordinator, when the first one is kept and after every pause, and deletes those
// that are too old or too many.
//
// A coordinator that does not know whether it has begun a transaction may look for it later than
// that. So the transaction that deletes an outcome also writes to [Root.Swept] the Czxid of the
// youngest deleted one. A coordinator that finds nothing, and knows that its own transaction would
// be younger, may conclude that there was none.
type sweeper struct {
	requests *requests
	root     Root
	most     int
	age      int64 // in milliseconds
	kept     []outcome
	has      map[string]bool
	due      []outcome // to be deleted
	busy     bool      // one is being deleted
	recent   bool      // a pass over all outcomes was made recently
	going    bool      // a pass over all outcomes is being made
	owed     bool      // a pass is due in the next epoch
}

// The default limits of unacknowledged outcomes.
const (
	DefaultMost = 10_000
	DefaultAge  = 7 * 24 * 3600 * 1000 // milliseconds
)

func newSweeper(d *requests, root Root) *sweeper {
	return &sweeper{requests: d, root: root, most: DefaultMost, age: DefaultAge, has: map[string]bool{}}
}

// reset forgets the state of the epoch. What was being done is done in the next one.
func (s *sweeper) reset() {
	s.owed = s.owed || s.going || s.busy || len(s.due) > 0
	s.going, s.busy, s.due = false, false, nil
}

// resume continues in a new epoch.
func (s *sweeper) resume() {
	if s.owed {
		s.look()
	}
}

func (s *sweeper) keeps(guid string) bool { return s.has[guid] }

// keep records an outcome that the application has to acknowledge.
func (s *sweeper) keep(o outcome) {
	if s.has[o.guid] {
		return
	}
	s.has[o.guid] = true
	s.kept = append(s.kept, o)
	for len(s.kept) > s.most {
		if s.kept[0].czxid > 0 { // otherwise it is a tombstone
			s.due = append(s.due, s.kept[0])
		}
		delete(s.has, s.kept[0].guid)
		s.kept = s.kept[1:]
	}
	s.next()
	if !s.recent {
		s.look()
	}
}

// look makes a pass over all outcomes, unless one was made recently.
func (s *sweeper) look() {
	if s.requests.Epoch() == 0 {
		s.owed = true
		return
	}
	s.owed = false
	if !s.recent {
		s.recent = true
		s.requests.pause(s.age/4, func() { s.recent = false })
	}
	s.pass()
}

// release forgets an outcome that is being acknowledged.
func (s *sweeper) release(guid string) {
	if s.has[guid] {
		delete(s.has, guid)
		s.kept = slices.DeleteFunc(s.kept, func(o outcome) bool { return o.guid == guid })
	}
}

// pass goes through all outcomes.
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

// walk reads the children of a path one after the other, and marks those for deletion that are too
// old or too many.
func (s *sweeper) walk(path string, judge func(name string, ev machine.Seen) (outcome, bool), then func()) {
	s.requests.list(path, func(ev machine.Listed) {
		names := slices.Sorted(slices.Values(ev.Names))
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
			s.requests.read(path+"/"+name, func(ev machine.Seen) {
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
		if len(found)-i > s.most || s.requests.now-o.mtime > s.age {
			s.due = append(s.due, o)
		}
	}
	s.next()
}

// next deletes the next outcome that is due.
func (s *sweeper) next() {
	if s.busy || len(s.due) == 0 || s.requests.Epoch() == 0 {
		return
	}
	s.busy = true
	o := s.due[0]
	s.due = s.due[1:]
	s.requests.read(s.root.Swept(), func(ev machine.Seen) {
		if ev.Code == machine.Refused { // no deletion without the note
			s.busy = false
			return
		}
		s.sweep(o, ev)
	})
}

// sweep deletes an outcome, unless it has changed.
func (s *sweeper) sweep(o outcome, swept machine.Seen) {
	note := machine.Op{Do: machine.Create, Path: s.root.Swept(), Data: sweptUpTo(max(o.czxid, parseSwept(swept.Data)))}
	if swept.Exists {
		note.Do, note.Version = machine.Set, swept.Stat.Version
	}
	ops := []machine.Op{note}
	if o.tombstone != "" {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: o.tombstone, Version: machine.Any})
	} else { // a transaction that a site has not acknowledged has more children, and is left alone
		ops = append(ops,
			machine.Op{Do: machine.Delete, Path: s.root.Mark(o.id, o.guid), Version: machine.Any},
			machine.Op{Do: machine.Delete, Path: s.root.Tx(o.id), Version: machine.Any})
	}
	s.requests.transact(func(ev machine.Transacted) {
		s.busy = false
		gone := ev.Code == machine.NoNode && note.Do == machine.Create                           // with its parent
		if ev.Code == machine.Unknown || ev.Failed == 0 && ev.Code != machine.Refused && !gone { // another coordinator sweeps too
			s.due = append([]outcome{o}, s.due...)
		} else {
			delete(s.has, o.guid)
		}
		s.next()
	}, ops...)
}

func sweptUpTo(czxid int64) []byte {
	data, err := json.Marshal(map[string]int64{"czxid": czxid})
	if err != nil { // cannot fail
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
