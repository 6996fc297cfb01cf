package produce

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// Config says where a machine puts.
type Config struct {
	Root     layout.Root
	GUID     string // of the producer: its receipt's name
	Home     int    // the part of the room that it uses first
	Capacity int    // 0: none is given
	Limit    int    // how many children a bucket gets before it is sealed, or a quarter of how many items from this machine; 0: [tail.Usual]
	Floor    uint64 // wishes up to this number were made before the machine: they count only if they stand
	Idle     int64  // after how many milliseconds without a wish it stops; 0: never
}

// purpose is why something was asked.
type purpose int

const (
	readingReceipt purpose = iota + 1
	makingReceipt
	looking       // what the queue is like
	makingQueue   // the parent of its buckets
	limiting      // makes the room, or takes that back
	surveying     // whether something lies in the buckets
	readingRoom   // its parts
	counting      // the consumers that live
	forgetting    // how many they are
	readingClock  // of the servers
	makingClock   // the znode that is written for it
	makingParents // of ids
	proving       // that the queue is full
	writing       // the transaction
	pausing       // before something that was refused is tried again
	idling        // ends an idle machine
)

// key names a pending request.
type key struct {
	purpose purpose
	at      string // what it is about
}

// Machine puts items into one queue. The zero value is not usable: see [New].
//
// After each event, unless something is asked, it asks for what is missing before the next
// transaction, or sends it: see proceed.
type Machine struct {
	cfg      Config
	requests machine.Requests[key]
	asked    int // how many requests are not answered, but for timers
	session  int64

	seen  uint64 // the number of the last wish
	puts  []*put // in the order in which they were wished
	batch *batch // the transaction under way

	receipt   receipt
	tail      *tail.Tail
	limit     limit
	consumers consumers
	clock     int64 // of the servers, read for the next transaction; 0: not read
	suspects  int   // of so many puts at the front one may be refused, and the others with it
	tries     int   // refusals in a row that may pass
	closing   bool
	stopped   bool
}

// consumers is how many live: what is put together is divided so that each of them can have its
// share.
type consumers struct {
	known bool // for a second; it is listed only if something is to be divided
	count int
}

const countedFor = 1000 // milliseconds

// New makes a machine that knows nothing yet.
func New(cfg Config) *Machine {
	if cfg.Limit == 0 {
		cfg.Limit = tail.Usual
	}
	return &Machine{
		cfg: cfg, receipt: receipt{path: place.Root(cfg.Root).Receipt(cfg.GUID)}, tail: tail.New(cfg.Root, cfg.Limit),
		limit: newLimit(cfg),
	}
}

// Phase is what the live tree shows.
func (m *Machine) Phase() string {
	switch {
	case m.stopped:
		return "Stopped"
	case m.requests.Epoch() == 0:
		return "Out"
	case m.batch != nil:
		return "Putting"
	case m.asked > 0:
		return "Looking"
	case len(m.puts) > 0:
		return "Pausing"
	default:
		return "Idle"
	}
}

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	k, ok := m.requests.Accept(ev)
	if !ok || m.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case Put:
		if ev.No > m.seen && (ev.No > m.cfg.Floor || ev.Stands) { // told twice otherwise: wishes come in their order, from the record and from the mailbox
			m.seen = ev.No
			m.puts = append(m.puts, newPut(ev))
		}
	case Withdraw:
		m.withdraw(ev.No)
	case machine.EpochBegan:
		m.endEpoch()
		m.requests.Begin(ev.Epoch)
		m.session = ev.SessionID
	case machine.EpochEnded:
		m.endEpoch()
	case machine.Closing:
		m.closing = true
	case machine.Woke:
		m.onWoke(k.purpose)
	default:
		if k.purpose != 0 {
			m.asked--
			m.onAnswer(k, ev)
		}
	}
	m.proceed()
	return m.requests.Flush()
}

func (m *Machine) onWoke(p purpose) {
	switch p {
	case forgetting:
		m.consumers.known = false
	case idling:
		m.closing = m.closing || len(m.puts) == 0
	}
}

func (m *Machine) onAnswer(k key, ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Looked:
		m.onLooked(k.purpose, ev.Answers)
	case machine.Listed:
		m.consumers = consumers{known: true, count: len(ev.Names)}
		m.requests.Ask(machine.Wake{After: countedFor}, key{purpose: forgetting})
	case machine.Seen:
		m.onReceipt(ev)
	case machine.Ensured:
		m.onEnsured(k.purpose, ev)
	case machine.Transacted:
		switch k.purpose {
		case writing:
			m.onWritten(ev)
		case proving:
			m.onProven(ev)
		case limiting:
			m.onLimited(k.at, ev)
		case readingClock:
			m.onClock(ev)
		}
	}
}

// ask asks for something that is answered in this epoch.
func (m *Machine) ask(r machine.Request, k key) {
	m.asked++
	m.requests.Ask(r, k)
}

// withdraw takes a wish back that was not sent.
func (m *Machine) withdraw(no uint64) {
	at := slices.IndexFunc(m.puts, func(p *put) bool { return p.no == no })
	switch {
	case at < 0: // settled
	case m.puts[at].doubt || m.batch != nil && slices.Contains(m.batch.puts, m.puts[at]):
		m.requests.Emit(Late{No: no})
	default:
		m.settle(m.puts[at], ErrWithdrawn)
	}
}

// settle ends a wish.
func (m *Machine) settle(p *put, err error) {
	m.puts = slices.DeleteFunc(m.puts, func(q *put) bool { return q == p })
	s := Settled{No: p.no, Err: err}
	if err == nil {
		s.GUIDs = p.guids()
	}
	m.requests.Emit(s)
}

// endEpoch forgets what the epoch had: nothing that was asked in it is answered any more. What was
// under way may have been carried out.
func (m *Machine) endEpoch() {
	m.requests.End()
	m.requests.Cancel(key{purpose: pausing})
	m.asked = 0
	if m.batch != nil {
		m.doubt()
	}
	m.receipt.alive, m.receipt.made = false, false
	m.forget()
}

// doubt: the transaction under way may have been carried out.
func (m *Machine) doubt() {
	for _, p := range m.batch.puts {
		p.doubt, p.again = true, true
	}
	m.batch = nil
	m.receipt.known = false
	m.forget()
}

// forget has the queue looked at before anything else is put.
func (m *Machine) forget() {
	m.tail.Forget()
	m.limit.forget()
	m.clock = 0
}
