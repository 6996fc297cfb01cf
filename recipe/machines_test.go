package recipe_test

// The machines of these tests: one that plants flags, one of a contender without rivals, and some
// that emit the effects that a test tells them.

import (
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// A small recipe: it plants flags, which are ephemeral znodes under the recipe's path, with a
// possession for each while it exists.
type (
	plant   struct{ name string } // intent
	overdue struct{ name string } // the possession has ended
	planted struct {              // effect
		epoch uint64
		name  string
		path  string
		token int64
	}
)

// flags is its machine. Each flag has at most one pending request.
type flags struct {
	root    string
	epoch   uint64
	all     []*pole
	lastAsk uint64
	closing bool
}

// pole is where a flag is planted, or is to be.
type pole struct {
	name   string
	ask    uint64 // of the pending request, 0 for none
	exists bool   // the flag's znode
}

func newFlags(root string) func() machine.Machine {
	return func() machine.Machine { return &flags{root: root} }
}

func (f *flags) Phase() string { return fmt.Sprintf("%d flags", len(f.all)) }

func (f *flags) Step(ev machine.Event) []machine.Effect {
	var told []machine.Effect
	switch ev := ev.(type) {
	case plant:
		if !slices.ContainsFunc(f.all, func(p *pole) bool { return p.name == ev.name }) {
			f.all = append(f.all, &pole{name: ev.name})
		}
	case machine.EpochBegan:
		f.epoch = ev.Epoch
	case machine.EpochEnded:
		f.epoch = 0
		for _, p := range f.all {
			p.ask, p.exists = 0, false
		}
	case machine.Ensured:
		f.answered(ev.Ask)
	case machine.Transacted:
		p := f.answered(ev.Ask)
		switch {
		case p == nil || ev.Epoch != f.epoch:
		case ev.Code == machine.NoNode:
			return []machine.Effect{machine.Ensure{Epoch: f.epoch, Ask: f.asked(p), Path: f.root, Container: true}}
		case ev.Code == machine.Refused:
			return []machine.Effect{machine.Stop{Err: ev.Err}}
		default:
			return []machine.Effect{machine.Read{Epoch: f.epoch, Ask: f.asked(p), Path: f.root + "/" + p.name, Watch: true}}
		}
	case machine.Seen:
		if p := f.answered(ev.Ask); p != nil && ev.Exists && ev.Epoch == f.epoch {
			p.exists = true
			told = append(told, planted{ev.Epoch, p.name, ev.Path, ev.Stat.Czxid})
		}
	case machine.Removed:
		if p := f.answered(ev.Ask); p != nil {
			f.all = slices.DeleteFunc(f.all, func(o *pole) bool { return o == p })
		}
	case machine.Fired:
		told = append(told, ev) // to the test
	case machine.Closing:
		f.closing = true
	}
	return append(told, f.steer()...)
}

func (f *flags) asked(p *pole) uint64 {
	f.lastAsk++
	p.ask = f.lastAsk
	return p.ask
}

func (f *flags) answered(ask uint64) *pole {
	for _, p := range f.all {
		if p.ask == ask {
			p.ask = 0
			return p
		}
	}
	return nil
}

// steer creates the missing flags, or deletes them when it is closing.
func (f *flags) steer() []machine.Effect {
	if f.closing && (f.epoch == 0 || len(f.all) == 0) {
		return []machine.Effect{machine.Stop{}}
	}
	var all []machine.Effect
	for _, p := range f.all {
		path := f.root + "/" + p.name
		switch {
		case f.epoch == 0 || p.ask != 0:
		case f.closing:
			all = append(all, machine.Remove{Epoch: f.epoch, Ask: f.asked(p), Path: path})
		case !p.exists:
			create := machine.Op{Do: machine.Create, Path: path, Data: []byte(p.name), Ephemeral: true}
			all = append(all, machine.Transact{Epoch: f.epoch, Ask: f.asked(p), Ops: []machine.Op{create}})
		}
	}
	return all
}

// flag is the possession that the application gets.
type flag struct {
	*session.Hold
	name string
}

// alone is a small machine for claims: that of a contender without rivals. It is its turn as soon
// as its znode exists.
type alone struct {
	record   bool // the holder is written into a record, which a release deletes
	epoch    uint64
	ask      uint64
	claims   []machine.Wanted // in order: the possession is the first one's
	znode    string           // path of its znode
	token    int64
	state    machine.Phase    // Offering: the create is pending; Determining: the znode exists, and is not granted yet
	leaving  bool             // the delete is pending; the state is Idle
	lost     bool             // the possession was lost
	whenGone []machine.Effect // to be emitted when the znode is gone
	told     machine.Phase    // by the last Publish
	out      []machine.Effect // of the step
}

func newAlone() machine.Machine { return &alone{} }

// newRecorded is the same with a record.
func newRecorded() machine.Machine { return &alone{record: true} }

func (a *alone) Step(ev machine.Event) []machine.Effect {
	a.out = nil
	a.on(ev)
	if a.told != a.state {
		a.told = a.state
		a.do(machine.Publish{Standing: machine.Standing{Phase: a.state}})
	}
	return a.out
}

func (a *alone) do(effects ...machine.Effect) { a.out = append(a.out, effects...) }

func (a *alone) on(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		a.epoch = ev.Epoch
		a.enter()
	case machine.EpochEnded:
		a.end(machine.EndExpired, nil)
		a.epoch = 0
		a.gone()
	case machine.TrustGained, machine.Resumed:
		a.turn()
	case machine.Entered:
		a.onEntered(ev)
	case machine.Seen:
		a.onSeen(ev)
	case machine.Fired:
		switch {
		case ev.Path != a.znode || a.leaving:
		case ev.Change == machine.Deleted:
			a.end(machine.EndDeleted, nil)
			a.gone()
		default:
			a.read()
		}
	case machine.Recorded:
		if ev.Token == a.token && a.state == machine.Determining {
			a.grant()
		}
	case machine.Removed:
		if ev.Path == a.znode {
			a.gone()
		}
	default:
		a.onClaim(ev)
	}
}

func (a *alone) onClaim(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Wanted:
		a.claims = append(a.claims, ev)
		if a.state == machine.Idle && !a.leaving {
			a.enter()
		}
	case machine.Withdrawn:
		held := a.holds(ev.Claim)
		a.claims = slices.DeleteFunc(a.claims, func(c machine.Wanted) bool { return c.Claim == ev.Claim })
		a.lost = a.lost || held && ev.Lost
		a.answer(machine.Settle{Claim: ev.Claim}, held || len(a.claims) == 0)
	case machine.Released:
		held := a.holds(ev.Claim)
		if held {
			a.rotate()
		}
		a.answer(machine.Freed{Claim: ev.Claim}, held)
	case machine.HoldEnded:
		if a.holds(ev.Claim) {
			a.lost = true
			a.rotate()
			a.leave()
		}
	case machine.Deferred:
		if a.holds(ev.Claim) {
			a.state = machine.Determining
		}
	}
}

// answer emits an effect about a claim when nothing of it is left in ZooKeeper. withZnode: the
// znode has to go for that. While its create is pending, onEntered deletes it.
func (a *alone) answer(e machine.Effect, withZnode bool) {
	noZnode := a.epoch == 0 || a.state == machine.Idle && !a.leaving
	if noZnode || !withZnode && !a.leaving {
		a.do(e)
		return
	}
	a.whenGone = append(a.whenGone, e)
	if a.znode != "" && !a.leaving {
		a.leave()
	}
}

// enter creates the znode if there is a claim.
func (a *alone) enter() {
	a.state = machine.Idle
	if len(a.claims) > 0 && a.epoch != 0 {
		a.state = machine.Offering
		a.do(machine.Enter{Epoch: a.epoch, Ask: a.number()})
	}
}

func (a *alone) onEntered(ev machine.Entered) {
	if ev.Err != nil {
		a.fail(ev.Err)
		a.gone()
		return
	}
	a.znode, a.token, a.state = ev.Path, ev.Czxid, machine.Determining
	if len(a.claims) == 0 {
		a.leave()
		return
	}
	a.turn()
	a.read()
}

func (a *alone) onSeen(ev machine.Seen) {
	switch {
	case ev.Path != a.znode || a.leaving:
	case ev.Err != nil:
		a.lost = true
		a.end(machine.EndUnwatched, ev.Err)
		a.fail(ev.Err)
		a.leave()
	case !ev.Exists:
		a.end(machine.EndDeleted, nil)
		a.gone()
	case a.token == 0:
		a.token = ev.Stat.Czxid
		a.turn()
	}
}

// turn grants, since the znode exists.
func (a *alone) turn() {
	switch {
	case a.state != machine.Determining || a.token == 0 || a.leaving:
	case a.record:
		a.do(machine.Record{Epoch: a.epoch, Ask: a.number(), Path: a.znode, Token: a.token, Version: -1})
	default:
		a.grant()
	}
}

func (a *alone) grant() {
	a.state = machine.Holding
	a.do(machine.Grant{Epoch: a.epoch, Claim: a.claims[0].Claim, Path: a.znode, Token: a.token})
}

// end ends the possession, if there is one.
func (a *alone) end(cause machine.Cause, err error) {
	if a.state == machine.Holding {
		a.do(machine.End{Claim: a.claims[0].Claim, Cause: cause, Err: err})
		a.rotate()
	}
}

func (a *alone) rotate() {
	c := a.claims[0]
	if a.claims = a.claims[1:]; !c.Once {
		a.claims = append(a.claims, c)
	}
}

func (a *alone) fail(err error) {
	for _, c := range a.claims {
		a.whenGone = append(a.whenGone, machine.Settle{Claim: c.Claim, Err: err})
	}
	a.claims = nil
}

func (a *alone) leave() {
	a.state, a.leaving = machine.Idle, true
	if a.record && !a.lost {
		a.do(machine.Release{Epoch: a.epoch, Path: a.znode})
		return
	}
	a.do(machine.Remove{Epoch: a.epoch, Path: a.znode})
}

// gone goes on when the znode is gone.
func (a *alone) gone() {
	a.do(a.whenGone...)
	a.znode, a.token, a.leaving, a.lost, a.whenGone = "", 0, false, false, nil
	a.enter()
}

func (a *alone) holds(c machine.Claim) bool {
	return a.state == machine.Holding && a.claims[0].Claim == c
}

func (a *alone) read() {
	a.do(machine.Read{Epoch: a.epoch, Ask: a.number(), Path: a.znode, Watch: true})
}

func (a *alone) number() uint64 {
	a.ask++
	return a.ask
}

// say makes a teller emit these effects, after a pause in which the actor is busy.
type say struct {
	pause   time.Duration
	effects []machine.Effect
}

// teller is a machine that emits the effects that it is told to, and records its events.
type teller struct {
	mu    sync.Mutex
	heard [][]machine.Event // by each incarnation
}

type incarnation struct {
	*teller
	number int
}

func (t *teller) make() machine.Machine {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, nil)
	return &incarnation{t, len(t.heard) - 1}
}

func (i *incarnation) Step(ev machine.Event) []machine.Effect {
	i.mu.Lock()
	i.heard[i.number] = append(i.heard[i.number], ev)
	i.mu.Unlock()
	switch ev := ev.(type) {
	case say:
		time.Sleep(ev.pause)
		return ev.effects
	case machine.Closing:
		return []machine.Effect{machine.Stop{}}
	}
	return nil
}

// by are the events of one type that an incarnation got so far.
func by[E machine.Event](t *teller, number int) []E {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []E
	if number < len(t.heard) {
		for _, ev := range t.heard[number] {
			if e, ok := ev.(E); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// sit is the intent of a sitter.
type sit struct{}

// sitter is a machine that makes one ephemeral sequential znode in each epoch, by a transaction. If
// the answer is lost, it calls a function of the test instead of reading.
type sitter struct {
	op     machine.Op
	epoch  uint64
	wanted bool
	made   *[]machine.Transacted // the answers, of all incarnations
	lost   func() []machine.Effect
}

func (s *sitter) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		s.epoch = ev.Epoch
	case sit:
		s.wanted = true
	case machine.Transacted:
		*s.made = append(*s.made, ev)
		if ev.Code == machine.Unknown {
			return s.lost()
		}
		return nil
	case machine.Closing:
		return []machine.Effect{machine.Stop{}}
	default:
		return nil
	}
	if s.epoch == 0 || !s.wanted {
		return nil
	}
	return []machine.Effect{machine.Transact{Epoch: s.epoch, Ask: s.epoch, Ops: []machine.Op{s.op}}}
}

// scripted is a machine whose steps are a function of the test.
type scripted func(ev machine.Event) []machine.Effect

func (s scripted) Step(ev machine.Event) []machine.Effect { return s(ev) }

// newWaiting is a machine whose claims wait, for nothing.
func newWaiting() machine.Machine {
	return scripted(func(ev machine.Event) []machine.Effect {
		switch ev := ev.(type) {
		case machine.Wanted:
			return []machine.Effect{machine.Publish{Standing: machine.Standing{Phase: machine.Waiting}}}
		case machine.Withdrawn:
			return []machine.Effect{machine.Settle{Claim: ev.Claim}}
		case machine.Closing:
			return []machine.Effect{machine.Stop{}}
		}
		return nil
	})
}

// twice is a machine that grants a claim twice.
type twice struct{ machine.Machine }

func (m twice) Step(ev machine.Event) (all []machine.Effect) {
	for _, e := range m.Machine.Step(ev) {
		all = append(all, e)
		if _, grants := e.(machine.Grant); grants {
			all = append(all, e)
		}
	}
	return all
}
