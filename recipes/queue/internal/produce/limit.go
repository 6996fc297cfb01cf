package produce

import (
	"strconv"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// limit is what is believed of the queue's capacity.
//
// A capacity is set in two transactions. The first makes /q/room, and writes /q/work: from here on
// nobody puts without room, and there is none. If nothing lies in the queue then, the second makes
// the parts of the room; otherwise /q/room is deleted. Whoever finds a room without parts goes on
// with that, so it does not matter who began.
type limit struct {
	root     layout.Root
	room     *room.Room
	buckets  []place.Bucket // that were there
	version  int32          // of their parent
	capacity int            // 0: none
	own      int32          // the version of the room
	bare     bool           // the room has no parts
	survey   survey
}

// survey finds out whether something lies in the queue. Delayed items are moved to the other
// buckets, and never back. So the buckets of those come first, and then all others that there are.
type survey struct {
	stage int
	items bool
}

func newLimit(cfg Config) limit {
	return limit{root: cfg.Root, room: room.New(place.Root(cfg.Root), cfg.Home)}
}

func (l *limit) forget() {
	l.room.ForgetAll()
	l.capacity, l.bare, l.survey = 0, false, survey{}
}

// takeIn takes in what the queue is like; false if its capacity makes no sense.
func (l *limit) takeIn(work machine.Seen, buckets machine.Listed, own machine.Seen) bool {
	if !own.Exists || l.survey.stage > 1 && work.Stat.Version != l.version { // the capacity was taken back in the middle of the survey
		l.forget()
	}
	l.buckets, l.version, l.own = nil, work.Stat.Version, own.Stat.Version
	for _, name := range buckets.Names {
		if b, ok := place.ParseBucket(name); ok {
			l.buckets = append(l.buckets, b)
		}
	}
	if !own.Exists {
		return true
	}
	var err error
	l.capacity, err = strconv.Atoi(string(own.Data))
	return err == nil && l.capacity > 0
}

// bind asks for what has to be known of the capacity, and gives the queue one if it is to have one.
// False: nothing is missing.
func (m *Machine) bind() bool {
	l := &m.limit
	switch unknown := l.room.Unknown(); {
	case l.capacity == 0 && m.cfg.Capacity == 0:
		return false
	case l.capacity == 0:
		m.beginLimit()
	case m.cfg.Capacity > 0 && m.cfg.Capacity != l.capacity:
		m.forget()
		m.refused(ErrCapacity)
	case l.bare:
		m.endLimit()
	case len(unknown) > 0:
		var parts []machine.Query
		for _, n := range unknown {
			parts = append(parts, machine.Query{Path: place.Root(l.root).Stripe(n)})
		}
		m.ask(machine.Look{Queries: parts}, key{purpose: readingRoom})
	default:
		return false
	}
	return true
}

func (m *Machine) onRoom(answers []machine.Event) {
	l := &m.limit
	absent := 0
	for i, n := range l.room.Unknown() {
		if part := answers[i].(machine.Seen); part.Exists {
			l.room.Saw(n, part.Data, part.Stat.Version)
		} else {
			absent++
		}
	}
	l.bare = absent == place.Stripes
	if absent > 0 && !l.bare { // somebody is deleting the queue
		m.forget()
		m.refused(ErrCapacity)
	}
}

// Which of the transactions that set a capacity, or take that back.
const (
	begin  = "begin"
	finish = "finish"
	undo   = "undo"
)

// beginLimit makes the room without parts, unless something lies in the queue. That is looked for
// once more when nobody puts: this only spares the others the disturbance.
func (m *Machine) beginLimit() {
	l := &m.limit
	if l.survey.stage++; l.survey.stage == 1 {
		m.lookInto(func(place.Lane) bool { return true })
	}
	switch {
	case m.asked > 0:
	case l.survey.items:
		m.forget()
		m.refused(ErrCapacity)
	default:
		m.ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Set, Path: l.root.Work(), Version: l.version}, room.Make(place.Root(l.root), m.cfg.Capacity)[0],
		}}, key{limiting, begin})
	}
}

// endLimit makes the parts of the room, or deletes it: nobody puts meanwhile.
func (m *Machine) endLimit() {
	l := &m.limit
	for s := &l.survey; m.asked == 0 && s.stage < 4 && !s.items; {
		switch s.stage++; s.stage {
		case 1, 3:
			m.look()
		case 2:
			m.lookInto(func(lane place.Lane) bool { return lane.Later })
		case 4:
			m.lookInto(func(lane place.Lane) bool { return !lane.Later })
		}
	}
	check := machine.Op{Do: machine.Check, Path: l.root.Work(), Version: l.version}
	switch {
	case m.asked > 0:
	case l.survey.items:
		m.ask(machine.Transact{Ops: []machine.Op{check, {Do: machine.Delete, Path: place.Root(l.root).Room(), Version: l.own}}}, key{limiting, undo})
	default:
		m.ask(machine.Transact{Ops: append([]machine.Op{check}, l.parts()...)}, key{limiting, finish})
	}
}

// parts are the operations that make the parts of the room.
func (l *limit) parts() []machine.Op { return room.Make(place.Root(l.root), l.capacity)[1:] }

// lookInto asks whether something lies in some of the buckets.
func (m *Machine) lookInto(which func(place.Lane) bool) {
	var buckets []machine.Query
	for _, b := range m.limit.buckets {
		if which(b.Lane) {
			buckets = append(buckets, machine.Query{Path: m.limit.root.Bucket(b)})
		}
	}
	if len(buckets) > 0 {
		m.ask(machine.Look{Queries: buckets}, key{purpose: surveying})
	}
}

func (l *limit) surveyed(buckets []machine.Event) {
	for _, b := range buckets {
		l.survey.items = l.survey.items || b.(machine.Seen).Stat.Children > 0
	}
}

func (m *Machine) onLimited(at string, ev machine.Transacted) {
	l := &m.limit
	switch {
	case ev.Code == machine.Refused:
		m.forget()
		m.refused(ev.Err)
	case ev.Code != machine.Done: // somebody else was faster, or the answer is lost
		m.forget()
	case at == begin:
		l.capacity, l.bare, l.survey = m.cfg.Capacity, true, survey{}
	case at == finish:
		l.bare = false
		for n, op := range l.parts() {
			l.room.Saw(n, op.Data, 0)
		}
	default:
		m.forget()
		if m.cfg.Capacity > 0 {
			m.refused(ErrCapacity)
		}
	}
}
