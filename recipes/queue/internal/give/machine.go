package give

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/asks"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// Machine puts items into one queue. One request is under way at a time, but for the reads of the
// room; what is wished meanwhile goes together into the next transaction.
type Machine struct {
	cfg     Config
	epoch   uint64
	session int64
	asks    *asks.Book

	seen  uint64 // the number of the last wish
	jobs  []*job // in the order in which they were wished
	solo  bool   // a transaction of several failed for a reason that may be one's alone
	batch *batch // the transaction under way

	listed  bool // the queue's children
	exists  bool // the queue itself
	top     map[place.Lane]int
	lanes   lanes
	bounded bool
	room    *room.Room
	limit   int // the capacity that the queue has
	receipt receipt
	clock   int64 // of the servers, read for the next transaction; 0: not read
	tries   int   // refusals in a row that may pass
	pausing bool
	idle    uint64 // the ask of the timer that ends an idle machine; 0: not set
	closing bool
	stopped bool
}

// receipt is what is believed of the producer's receipt.
type receipt struct {
	made    bool
	alive   bool // its ephemeral child was created in this epoch
	known   bool // its version is
	version int32
}

// job is a wish that stands.
type job struct {
	no    uint64
	items []Item
	also  []machine.Op
	move  bool
	doubt bool // it may have been carried out
	again bool // it was in doubt: what was sent then may yet be carried out
	timed bool // it was there when the clock was asked for last, so its delay may begin with that
	size  int
}

// New makes a machine that knows nothing yet.
func New(cfg Config) *Machine {
	if cfg.Limit == 0 {
		cfg.Limit = usual
	}
	return &Machine{cfg: cfg, asks: asks.New(), lanes: lanes{}, room: room.New(cfg.Site.Root, cfg.Home)}
}

// Phase is what the live tree shows.
func (m *Machine) Phase() string {
	switch {
	case m.stopped:
		return "Stopped"
	case m.epoch == 0:
		return "Out"
	case m.batch != nil:
		return "Putting"
	case m.asks.Len() > 0:
		return "Looking"
	case len(m.jobs) > 0:
		return "Pausing"
	default:
		return "Idle"
	}
}

// Step takes in one event.
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	if m.stopped {
		return nil
	}
	var effects []machine.Effect
	switch ev := ev.(type) {
	case Put:
		if ev.No <= m.cfg.Floor && !ev.Stands {
			break
		}
		m.add(&job{no: ev.No, items: ev.Items, doubt: ev.Again, again: ev.Again})
	case Move:
		m.add(&job{no: ev.No, items: ev.Items, also: ev.Also, move: true})
	case Withdraw:
		effects = m.withdraw(ev.No)
	case machine.EpochBegan:
		m.endEpoch()
		m.epoch, m.session = ev.Epoch, ev.SessionID
	case machine.EpochEnded:
		m.endEpoch()
	case machine.Closing:
		m.closing = true
	default:
		effects = m.asks.Answer(ev, m.epoch)
	}
	return append(effects, m.next()...)
}

// ask notes who takes the next answer, and returns its number.
func (m *Machine) ask(t asks.Taker) uint64 { return m.asks.Note(t) }

func (m *Machine) add(j *job) {
	if j.no <= m.seen {
		return // told twice: wishes come in their order, from the record and from the mailbox
	}
	m.seen = j.no
	for _, c := range j.crates() {
		j.size += overhead
		for _, i := range c.items {
			j.size += len(i.Data) + len(i.ID)
		}
	}
	m.jobs = append(m.jobs, j)
}

// withdraw takes a wish back that was not sent.
func (m *Machine) withdraw(no uint64) []machine.Effect {
	at := slices.IndexFunc(m.jobs, func(j *job) bool { return j.no == no })
	switch {
	case at < 0:
		return nil // settled
	case m.jobs[at].doubt || m.batch != nil && slices.Contains(m.batch.jobs, m.jobs[at]):
		return []machine.Effect{Late{No: no}}
	}
	return m.settle(m.jobs[at], ErrWithdrawn)
}

// settle ends a wish.
func (m *Machine) settle(j *job, err error) []machine.Effect {
	m.jobs = slices.DeleteFunc(m.jobs, func(k *job) bool { return k == j })
	return []machine.Effect{Settled{No: j.no, Err: err}}
}

// endEpoch forgets what the epoch had: nothing that was asked in it is answered any more. What was
// under way may have been carried out.
func (m *Machine) endEpoch() {
	m.epoch = 0
	m.asks.Clear()
	m.idle, m.pausing, m.clock = 0, false, 0
	if m.batch != nil {
		m.doubt()
	}
	m.listed, m.receipt.alive, m.receipt.made = false, false, false
	m.room.ForgetAll()
}

// doubt: the transaction under way may have been carried out.
func (m *Machine) doubt() {
	for _, j := range m.batch.jobs {
		j.again = true
		j.doubt = !j.move // a move that was carried out has nothing left to move, which its repetition finds
	}
	m.batch = nil
	m.receipt.known = false
	m.listed = false
	m.room.ForgetAll()
}

// doubtful tells whether a wish may have been carried out that was not answered.
func (m *Machine) doubtful() bool {
	return slices.ContainsFunc(m.jobs, func(j *job) bool { return j.doubt })
}

// puts tells whether a wish needs a receipt.
func (m *Machine) puts() bool {
	return slices.ContainsFunc(m.jobs, func(j *job) bool { return !j.move })
}
