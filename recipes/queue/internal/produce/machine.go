package produce

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// Config says where a machine puts.
type Config struct {
	Root     layout.Root
	GUID     string // of the producer: its receipt's name
	Capacity int    // 0: none is given
	Limit    int    // how many items a bucket gets before it is sealed; 0: [tail.Usual]
	Floor    uint64 // wishes up to this number were made before the machine: they count only if they stand
	Idle     int64  // after how many milliseconds without a wish it stops; 0: never
}

// key names a pending request.
type key int

const (
	asking  key = iota + 1 // one thing at a time
	pausing                // before something that was refused is tried again
	idling                 // ends an idle machine
)

// Machine puts items into one queue. The zero value is not usable: see [New].
//
// After each event, unless something is asked, it asks for what is missing before the next
// transaction, or sends it: see prepare.
type Machine struct {
	cfg      Config
	requests machine.Requests[key]
	then     func(machine.Event) // takes in the answer to what is asked
	session  int64

	seen    uint64   // the number of the last wish
	puts    []*put   // in the order in which they were wished
	batch   *batch   // the transaction under way
	missing []string // paths to be made

	receipt receipt
	tail    *tail.Tail
	size    size
	alone   int // so many puts are sent alone: one of them may be refused, and others with it
	tries   int // refusals in a row that may pass
	closing bool
	stopped bool
}

// New makes a machine that knows nothing yet.
func New(cfg Config) *Machine {
	cfg.Limit = cmp.Or(cfg.Limit, tail.Usual)
	return &Machine{cfg: cfg, receipt: receipt{path: cfg.Root.Receipt(cfg.GUID)}, tail: tail.New(cfg.Root, cfg.Limit)}
}

// Phase is what the live tree shows.
func (m *Machine) Phase() string {
	switch {
	case m.requests.Epoch() == 0:
		return "Out"
	case len(m.puts) == 0:
		return "Idle"
	case m.batch == nil:
		return "Looking"
	}
	return "Putting"
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
		m.closing = m.closing || k == idling && len(m.puts) == 0
	default:
		if k == asking {
			m.then(ev)
		}
	}
	m.proceed()
	return m.requests.Flush()
}

// refused waits before it tries again what may pass: a right that somebody takes away may come
// back. Wishes that are not in doubt are answered with it.
func (m *Machine) refused(err error) {
	m.tail.Forget()
	for _, p := range slices.Clone(m.puts) {
		if !p.doubt {
			m.settle(p, err)
		}
	}
	if len(m.puts) > 0 {
		m.tries++
		m.requests.Ask(machine.Wake{Try: m.tries}, pausing)
	}
}

func (m *Machine) proceed() {
	switch {
	case len(m.puts) > 0:
		m.requests.Cancel(idling)
		if m.requests.Epoch() != 0 && !m.requests.Pending(asking) && !m.requests.Pending(pausing) {
			m.prepare()
		}
	case m.closing:
		m.stopped = true
		m.requests.Emit(machine.Stop{})
	case m.cfg.Idle > 0 && !m.requests.Pending(asking) && !m.requests.Pending(idling):
		m.requests.Ask(machine.Wake{After: m.cfg.Idle}, idling)
	}
}

// prepare asks for what is missing before the next transaction, or sends it.
func (m *Machine) prepare() {
	doubt := slices.ContainsFunc(m.puts, func(p *put) bool { return p.doubt })
	switch {
	case !m.receipt.known && (doubt || m.receipt.made): // before it is made, perhaps anew
		m.readReceipt()
	case !m.receipt.made:
		m.ensure(machine.Ensure{Path: m.receipt.path, Container: true}, func() {
			m.receipt.made, m.receipt.known = true, true
			m.tail = tail.New(m.cfg.Root, m.cfg.Limit) // what was known may have been another queue's
		})
	case doubt:
		m.sync()
	case len(m.missing) > 0:
		m.ensure(machine.Ensure{Path: m.missing[0]}, func() { m.missing = m.missing[1:] })
	case !m.tail.Known():
		m.look()
	case m.bind():
	case slices.ContainsFunc(m.puts, func(p *put) bool { return p.Items[0].Delay > 0 && p.clock == 0 }):
		m.sync()
	default:
		m.send()
	}
}

// ask asks for something that is answered in this epoch.
func (m *Machine) ask(r machine.Request, then func(machine.Event)) {
	m.then = then
	m.requests.Ask(r, asking)
}

// ensure has something made. If somebody deletes what is above it meanwhile, it is asked for again.
func (m *Machine) ensure(e machine.Ensure, then func()) {
	m.ask(e, func(ev machine.Event) {
		switch ev := ev.(machine.Ensured); ev.Code {
		case machine.Done:
			then()
		case machine.Refused:
			m.refused(ev.Err)
		}
	})
}

// read has something looked at.
func (m *Machine) read(queries []machine.Query, then func([]machine.Event)) {
	m.ask(machine.Look{Queries: queries}, func(ev machine.Event) {
		answers := ev.(machine.Looked).Answers
		for _, a := range answers {
			seen, _ := a.(machine.Seen)
			listed, _ := a.(machine.Listed)
			if seen.Code == machine.Refused || listed.Code == machine.Refused {
				m.refused(cmp.Or(seen.Err, listed.Err))
				return
			}
		}
		then(answers)
	})
}

// makeBase has that made what a put needs, whoever has deleted it.
func (m *Machine) makeBase() {
	r := m.cfg.Root
	m.missing = []string{r.Items(), r.Claims(), r.Later(), r.Line(), r.Bell(), r.Consumers()}
}

// endEpoch forgets what the epoch had: nothing that was asked in it is answered any more. What was
// under way may have been carried out.
func (m *Machine) endEpoch() {
	m.requests.End()
	m.requests.Cancel(pausing)
	m.doubt()
	m.receipt.made, m.receipt.alive = false, false
}

// doubt: the transaction under way may have been carried out.
func (m *Machine) doubt() {
	if m.batch != nil {
		for _, p := range m.batch.puts {
			p.doubt = true
		}
	}
	m.batch, m.receipt.known = nil, false
	m.tail.Forget()
}
