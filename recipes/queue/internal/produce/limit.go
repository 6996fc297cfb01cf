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
	buckets  []place.Bucket // that were listed last
	version  int32          // of their parent
	read     bool           // what follows was
	early    bool           // beside the listing, not behind it
	capacity int            // 0: none
	own      int32          // the version of the room
	absent   map[int]bool   // parts of it
	survey   survey
}

// survey finds out whether something lies in the queue. Delayed items are moved to the other
// buckets, and never back. So the buckets of those come first, and then all others that there are.
type survey struct {
	stage int
	items bool
}

func newLimit(cfg Config) limit {
	l := limit{root: cfg.Root, room: room.New(place.Root(cfg.Root), cfg.Home)}
	l.forget()
	return l
}

func (l *limit) forget() {
	l.room.ForgetAll()
	l.read, l.capacity, l.absent, l.survey = false, 0, make(map[int]bool), survey{}
}

// listed takes in the buckets.
func (l *limit) listed(ev machine.Listed) {
	if l.survey.stage > 1 && ev.Stat.Version != l.version { // the capacity was set anew in the middle of the survey
		l.forget()
	}
	l.buckets, l.version = nil, ev.Stat.Version
	for _, name := range ev.Names {
		if b, ok := place.ParseBucket(name); ok {
			l.buckets = append(l.buckets, b)
		}
	}
}

// bind asks for what has to be known of the capacity, and gives the queue one if it is to have one.
// False: nothing is missing.
func (m *Machine) bind() bool {
	l := &m.limit
	switch {
	case !l.read, l.capacity == 0 && l.early && l.version > 0: // it may have been made behind that, and before the listing
		m.readLimit(false)
	case l.capacity == 0 && m.cfg.Capacity == 0:
		return false
	case l.capacity == 0:
		m.beginLimit()
	case m.cfg.Capacity > 0 && m.cfg.Capacity != l.capacity:
		l.read = false
		m.refused(ErrCapacity)
	case len(l.absent) == place.Stripes:
		m.endLimit()
	case len(l.absent) > 0: // somebody is deleting the queue
		m.forget()
		m.refused(ErrCapacity)
	case len(l.room.Unknown()) > 0:
		for _, n := range l.room.Unknown() {
			m.ask(machine.Read{Path: place.Root(l.root).Stripe(n)}, key{readingRoom, strconv.Itoa(n)})
		}
	default:
		return false
	}
	return true
}

// readLimit asks for the capacity, early if that is beside the listing and not behind it.
func (m *Machine) readLimit(early bool) {
	m.limit.early = early
	for _, p := range m.puts {
		p.bound = true
	}
	m.ask(machine.Read{Path: place.Root(m.limit.root).Room()}, key{purpose: readingLimit})
}

func (m *Machine) onLimit(ev machine.Seen) {
	l := &m.limit
	if ev.Code != machine.Done {
		m.refused(ev.Err)
		return
	}
	l.read, l.capacity, l.own = true, 0, ev.Stat.Version
	if !ev.Exists {
		return
	}
	var err error
	if l.capacity, err = strconv.Atoi(string(ev.Data)); err != nil || l.capacity < 1 {
		l.forget()
		m.refused(ErrCapacity)
	}
}

func (m *Machine) onRoom(at string, ev machine.Seen) {
	n, _ := strconv.Atoi(at) // as it was asked for
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Err)
	case !ev.Exists:
		m.limit.absent[n] = true
	default:
		m.limit.room.Saw(n, ev.Data, ev.Stat.Version)
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
	if m.asked > 0 {
		return
	}
	if l.survey.items {
		m.forget()
		m.refused(ErrCapacity)
		return
	}
	m.ask(machine.Transact{Ops: []machine.Op{
		{Do: machine.Set, Path: l.root.Work(), Version: l.version}, room.Make(place.Root(l.root), m.cfg.Capacity)[0],
	}}, key{limiting, begin})
}

// endLimit makes the parts of the room, or deletes it: nobody puts meanwhile.
func (m *Machine) endLimit() {
	l := &m.limit
	for s := &l.survey; m.asked == 0 && s.stage < 4 && !s.items; {
		switch s.stage++; s.stage {
		case 1:
			m.list()
		case 2:
			m.lookInto(func(lane place.Lane) bool { return lane.Later })
		case 3:
			m.list()
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

// lookInto lists buckets.
func (m *Machine) lookInto(which func(place.Lane) bool) {
	for _, b := range m.limit.buckets {
		if which(b.Lane) {
			m.ask(machine.List{Path: m.limit.root.Bucket(b)}, key{surveying, b.Name()})
		}
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
		l.capacity, l.own, l.survey = m.cfg.Capacity, 0, survey{}
		for n := range place.Stripes {
			l.absent[n] = true
		}
	case at == finish:
		clear(l.absent)
		for n, op := range l.parts() {
			l.room.Saw(n, op.Data, 0)
		}
	case m.cfg.Capacity > 0:
		m.forget()
		m.refused(ErrCapacity)
	default:
		m.forget()
	}
}
