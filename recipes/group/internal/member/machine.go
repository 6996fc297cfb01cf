package member

import (
	"bytes"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/owner"
)

// ErrDuplicate: another member lives under the same name.
var ErrDuplicate = errors.New("another member has this name")

// Config is what a member knows of itself.
type Config struct {
	Path   string // of the group
	ID     string
	Data   []byte // at first
	Number uint64 // of Data
}

// question is written behind the data of a member to ask whether it lives. A member that lives
// writes its data again.
const question = "\x00who?"

// Data are a member's own data, without a question that may have been written behind them.
func Data(data []byte) []byte { return bytes.TrimSuffix(data, []byte(question)) }

func asked(data []byte) bool { return bytes.HasSuffix(data, []byte(question)) }

// Updated asks for other data. Numbers grow; one that is not greater than the last is ignored.
type Updated struct {
	Number uint64
	Data   []byte
}

// Standing tells how far the member has come, with each change. Written is the number of the data
// that are in ZooKeeper.
type Standing struct {
	State   State
	Written uint64
}

// State is how far a member has come.
type State int

// The states of a member.
const (
	Out      State = iota // no epoch
	Joining               // its znode is being created
	Reading               // reads the znode of its name, and watches it
	Asking                // the znode is another member's: a question to it is being written
	Barred                // waits for the owner's answer, or for the znode's end
	Present               // registered
	Updating              // its data are being written
	Leaving               // its znode is being deleted
	Over                  // for good
)

var states = [...]string{"Out", "Joining", "Reading", "Asking", "Barred", "Present", "Updating", "Leaving", "Over"}

// String is the state's name.
func (s State) String() string { return states[s] }

// Machine decides for one member. The zero value is not usable: see [New].
type Machine struct {
	cfg      Config
	state    State
	requests machine.Requests[State] // under the state that waits for the answer

	session int64
	closing bool
	suspect bool           // the watch has fired while a request was under way
	inquiry *owner.Inquiry // into the owner of a znode that is not this member's; one in each epoch
	told    Standing       // to the application

	// The own data: those that are wanted, those under way, those in ZooKeeper.
	number  uint64
	data    []byte
	sent    uint64 // the number of payload
	payload []byte
	written uint64 // a number
	version int32  // of the own znode
}

// New makes a machine for one member.
func New(cfg Config) *Machine { return &Machine{cfg: cfg, data: cfg.Data, number: cfg.Number} }

// State is how far it has come.
func (m *Machine) State() State { return m.state }

// Phase shows in the live tree.
func (m *Machine) Phase() string { return m.state.String() }

func (m *Machine) path() string { return znode.Join(m.cfg.Path, m.cfg.ID) }

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	if _, ok := m.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.requests.Begin(ev.Epoch)
		m.session, m.inquiry = ev.SessionID, owner.New(asked)
		m.join()
	case machine.EpochEnded:
		m.onEpochEnded()
	case machine.Closing:
		m.onClosing()
	case machine.Fired:
		if ev.Path == m.path() {
			m.onFired()
		}
	case Updated:
		m.onUpdated(ev)
	default:
		m.onAnswer(ev)
	}
	if now := (Standing{m.state, m.written}); now != m.told {
		m.told = now
		m.requests.Emit(now)
	}
	return m.requests.Flush()
}

func (m *Machine) onAnswer(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Transacted:
		m.onTransacted(ev)
	case machine.Seen:
		m.onOwnSeen(ev)
	case machine.Ensured:
		m.onEnsured(ev)
	case machine.Removed:
		m.stop(nil)
	}
}

// ask makes a request, and waits for its answer in a state.
func (m *Machine) ask(wait State, r machine.Request) {
	m.state = wait
	m.requests.Ask(r, wait)
}

func (m *Machine) transact(wait State, op machine.Op) {
	m.ask(wait, machine.Transact{Ops: []machine.Op{op}})
}

func (m *Machine) stop(err error) {
	m.state = Over
	m.requests.Emit(machine.Stop{Err: err})
}

// join creates the own znode, with the data that are wanted now.
func (m *Machine) join() {
	m.sent, m.payload = m.number, m.data
	m.transact(Joining, machine.Op{Do: machine.Create, Path: m.path(), Data: m.data, Ephemeral: true})
}

func (m *Machine) onTransacted(ev machine.Transacted) {
	switch m.state {
	case Joining:
		m.onMade(ev)
	case Asking:
		m.inquiry.Put(ev)
		m.readOwn()
	case Updating:
		m.onWritten(ev)
	}
}

func (m *Machine) onMade(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.NodeExists:
		m.readOwn()
	case machine.NoNode:
		m.ask(Joining, machine.Ensure{Path: m.cfg.Path, Container: true})
	case machine.Unknown: // only a write tells: a deposed leader that does not know it yet shows an older state to reads
		m.join()
	default:
		m.stop(ev.Err)
	}
}

func (m *Machine) onEnsured(ev machine.Ensured) {
	if ev.Code == machine.Refused {
		m.stop(ev.Err)
		return
	}
	m.again()
}

// again joins, unless the member is to leave.
func (m *Machine) again() {
	if m.closing {
		m.stop(nil)
		return
	}
	m.join()
}

// settle takes in that the data under way are in ZooKeeper. The member writes newer ones, or rests.
func (m *Machine) settle() {
	m.written = max(m.written, m.sent)
	switch {
	case m.closing:
		m.leave()
	case m.suspect:
		m.readOwn()
	case m.sent == m.number:
		m.state = Present
	default:
		m.write()
	}
}

func (m *Machine) write() {
	m.sent, m.payload = m.number, m.data
	m.transact(Updating, machine.Op{Do: machine.Set, Path: m.path(), Data: m.data, Version: m.version})
}

func (m *Machine) onWritten(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.version = ev.Results[0].Stat.Version
		m.settle()
	case machine.NoNode:
		m.again()
	case machine.BadVersion, machine.Unknown: // carried out, perhaps; or written to by another client; or another member's by now
		m.readOwn()
	default:
		m.stop(ev.Err)
	}
}

// readOwn reads the znode of the member's name, and watches it. It may go, and other clients may
// write to it, as may a request of this member that was under way when its actor crashed.
func (m *Machine) readOwn() {
	m.suspect = false
	m.ask(Reading, machine.Read{Path: m.path(), Watch: true})
}

func (m *Machine) onOwnSeen(ev machine.Seen) {
	mine := ev.Stat.Owner == m.session // package group sees to it that no other member of this session has the id
	switch {
	case ev.Code != machine.Done:
		m.stop(ev.Err)
	case !ev.Exists:
		m.again()
	case mine:
		m.version = ev.Stat.Version
		if !bytes.Equal(ev.Data, m.payload) && !m.closing {
			m.write()
			return
		}
		m.settle()
	case m.closing:
		m.stop(nil)
	default:
		m.inquire(ev)
	}
}

// inquire finds out whether the znode is that of another member that lives. A znode that no session
// owns is no member's, and is waited for.
func (m *Machine) inquire(ev machine.Seen) {
	found := owner.Wait
	if ev.Stat.Owner != 0 {
		found = m.inquiry.Saw(ev)
	}
	switch found {
	case owner.Alive:
		m.stop(ErrDuplicate)
	case owner.Ask:
		data := append(bytes.Clone(Data(ev.Data)), question...)
		m.transact(Asking, machine.Op{Do: machine.Set, Path: m.path(), Data: data, Version: ev.Stat.Version})
	default:
		if m.suspect {
			m.readOwn()
			return
		}
		m.state = Barred
	}
}

func (m *Machine) onFired() {
	switch m.state {
	case Barred, Present:
		m.readOwn()
	case Updating, Reading:
		m.suspect = true
	}
}

func (m *Machine) onUpdated(ev Updated) {
	if ev.Number <= m.number {
		return
	}
	m.number, m.data = ev.Number, ev.Data
	if m.state == Present {
		m.write()
	}
}

// onEpochEnded handles the end of the epoch, with which the member's znode goes.
func (m *Machine) onEpochEnded() {
	m.requests.End()
	if m.closing {
		m.stop(nil)
		return
	}
	m.state = Out
}

func (m *Machine) onClosing() {
	m.closing = true
	switch m.state {
	case Out, Barred:
		m.stop(nil)
	case Present:
		m.leave()
	}
}

func (m *Machine) leave() {
	m.ask(Leaving, machine.Remove{Path: m.path()})
}
