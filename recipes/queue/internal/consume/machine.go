package consume

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Config is what a machine knows of itself.
type Config struct {
	Root        layout.Root
	GUID        string // of this incarnation: the beginning of its tags
	Incarnation uint64 // of which demands are
	First       uint64 // the numbers of its items are greater
	Auto        bool   // items are deleted before they are handed out
	Stream      bool   // items are claimed in advance; otherwise for those that wait
	Prefetch    int    // with Stream: how many at once; 0: it adapts
	Workers     int    // with Stream, where it adapts: how many at first
	Visibility  int64  // within which items are to be settled, in milliseconds; 0: any time
	Attempts    int    // after how many an item is a dead letter; 0: never
	Dead        layout.Root
	Home        int   // the part of a bounded queue's room that it gives back to
	Idle        int64 // without a stream: after how many milliseconds without anything to do it ends; 0: never
}

// purpose is why something was asked.
type purpose int

const (
	preparing  purpose = iota + 1 // the znodes that a queue always has
	signing                       // the own journal is being made
	checking                      // whether it was
	guarding                      // the own ephemeral znode, which guards the possessions
	joining                       // a place in line
	lining                        // the line is being listed
	following                     // the one ahead
	looking                       // the buckets
	scanning                      // a bucket
	collecting                    // what came back
	counting                      // the journals
	calling                       // the consumers that live
	measuring                     // the cursor
	finding                       // the name of a claimed znode
	reading                       // a claimed znode
	writing                       // the transaction
	resolving                     // whether it was carried out
	opening                       // a dead consumer's journal
	inheriting                    // takes it over
	removing                      // what says that the consumer lives, under a former tag
	pausing                       // before something that was refused is tried again
	judging                       // the window is too large, if this comes
	expiring                      // an item is overdue
	waiting                       // for something that is due
	idling                        // as long as there is nothing to do
	retrying                      // what could not be read
	digging                       // the buckets of the dead letters
	grieving                      // before dead letters that could not be written are tried again
	rooming                       // how much room there is
	fetching                      // an item that is due
	moving                        // moves some
	clearing                      // deletes or seals a bucket
	sweeping                      // a bucket up to the cursor
	resting                       // until the next sweep
	auditing                      // what nobody names
	returning                     // and returns it
)

// key names a pending request.
type key struct {
	purpose purpose
	at      string // what it is about
}

// Machine claims and settles the items of one consumer. The zero value is not usable: see [New].
//
// After each event it asks for whatever is missing: see proceed. One transaction is under way at a
// time; all that is to be written meanwhile goes together into the next one.
type Machine struct {
	cfg       Config
	requests  machine.Requests[key]
	own       own
	txn       *txn // under way; nil: none
	claims    []*claim
	items     map[uint64]*item // that were handed out and are not settled
	last      uint64
	window    window
	line      line
	view      view
	heirs     map[string]bool // dead consumers' tags that are being dealt with
	tries     int
	retries   int // of what could not be read
	graves    graves
	later     later
	scrub     scrub
	room      space
	clock     clock
	untrusted bool // no possession can be made: items wait
	gains     int  // how often trust was gained
	removing  int  // own znodes that stand for nothing and are being deleted
	closing   bool
	stopped   bool
}

// own is what a consumer is known by in an epoch.
type own struct {
	epochs  int
	tag     string
	made    bool // the journal and the ephemeral znode stand
	guarded bool // the ephemeral znode is watched
	version int32
	number  uint64 // of the transaction that wrote the journal last
}

// New makes a machine for one consumer.
func New(cfg Config) *Machine {
	return &Machine{
		cfg: cfg, items: make(map[uint64]*item), last: cfg.First, window: newWindow(cfg), heirs: make(map[string]bool),
		graves: newGraves(cfg), later: newLater(cfg.Root), scrub: newScrub(), room: newSpace(cfg),
	}
}

// Phase shows in the live tree.
func (m *Machine) Phase() string {
	switch {
	case m.stopped:
		return "over"
	case m.requests.Epoch() == 0:
		return "offline"
	case !m.own.made:
		return "preparing"
	case m.line.first():
		return "dispatcher"
	case m.line.path != "":
		return "in line"
	}
	return "busy"
}

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	k, ok := m.requests.Accept(ev)
	if !ok || m.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.begin(ev)
	case machine.EpochEnded:
		m.requests.End()
		m.removing = 0
		m.lose()
	case machine.TrustGained:
		m.untrusted = false
		m.gains++
		m.handOut()
	case machine.Closing:
		m.close()
	case machine.Fired:
		m.onFired(ev)
	case machine.Woke:
		m.onWoke(k)
	case Demand, Received, Settle, Unheld, Over, Extend:
		m.onWish(ev)
	default:
		m.onAnswer(k, ev)
	}
	m.proceed()
	m.idle()
	m.clock.fresh = false
	return m.requests.Flush()
}

// begin takes a new tag: nothing of the epoch before is this consumer's any more.
func (m *Machine) begin(ev machine.EpochBegan) {
	m.requests.Begin(ev.Epoch)
	m.untrusted = false
	m.renew()
}

// renew begins anew, with nothing claimed and a tag that nobody had.
func (m *Machine) renew() {
	m.own = own{epochs: m.own.epochs + 1}
	m.own.tag = fmt.Sprintf("%s-%d", m.cfg.GUID, m.own.epochs)
	m.txn = nil
	m.requests.Forget(key{purpose: writing}, key{purpose: resolving}, key{purpose: guarding})
	m.graves.forget()
	m.room.ForgetAll()
	m.line, m.view = line{}, view{}
	m.later.forget()
	m.scrub = newScrub()
	clear(m.heirs)
}

// lose gives up all claims: somebody else has them, or will.
func (m *Machine) lose() {
	for _, c := range m.claims {
		for _, i := range c.items {
			if m.txn != nil && slices.Contains(m.txn.settled, i) {
				m.drop(i, errors.Join(ErrLost, ErrUnknown))
			}
			m.drop(i, ErrLost)
		}
	}
	m.claims = nil
	if m.own.made && m.requests.Epoch() != 0 { // somebody has deleted the journal by hand
		m.remove(m.cfg.Root.Alive(m.own.tag))
		if m.line.path != "" {
			m.remove(m.line.path)
		}
	}
	m.renew()
}

// drop tells that an item is not this consumer's any more.
func (m *Machine) drop(i *item, cause error) {
	if i == nil || i.no == 0 || m.items[i.no] == nil {
		return
	}
	delete(m.items, i.no)
	m.requests.Cancel(key{expiring, number(i.no)})
	switch {
	case i.told:
		m.requests.Emit(Settled{No: i.no, Err: cause})
	case i.how == 0:
		m.requests.Emit(Dropped{No: i.no, Cause: cause})
	}
}

// proceed asks for what is missing.
func (m *Machine) proceed() {
	switch {
	case m.stopped:
	case m.requests.Epoch() == 0:
		if m.closing {
			m.stop()
		}
	case m.requests.Pending(key{purpose: pausing}):
	case !m.own.made:
		m.sign()
	default:
		m.guard()
		m.read()
		if !m.closing {
			m.standInLine()
			m.look()
			m.tidy()
		}
		m.dig()
		m.write()
	}
}

// idle waits to end a machine that has nothing to do.
func (m *Machine) idle() {
	k := key{purpose: idling}
	switch {
	case m.cfg.Idle == 0, m.cfg.Stream, m.closing:
	case m.window.waiting() == 0 && len(m.items) == 0 && len(m.claims) == 0 && m.txn == nil:
		m.once(machine.Wake{After: m.cfg.Idle}, k)
	default:
		m.requests.Cancel(k)
	}
}

func (m *Machine) stop() {
	m.stopped = true
	m.requests.Emit(machine.Stop{})
}

// refused waits before what was refused is tried again: a right that was taken away may come back.
func (m *Machine) refused(path string, err error) {
	m.requests.Emit(Skipped{Path: path, Err: err})
	if m.line.path != "" && (m.txn == nil || !m.txn.leaves) { // the next one may be luckier
		m.remove(m.line.path)
		m.left()
	}
	m.pause()
}

// pause waits a while before anything else is asked.
func (m *Machine) pause() {
	m.tries++
	m.requests.Ask(machine.Wake{Try: m.tries}, key{purpose: pausing})
}

var errUnnamed = errors.New("nobody named it: its items are delivered again")

var errForeign = errors.New("this is not a queue's")

func number(n uint64) string { return fmt.Sprint(n) }
