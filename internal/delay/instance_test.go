package delay_test

import (
	"slices"

	"github.com/troupe-go/troupe/internal/delay"
	"github.com/troupe-go/troupe/internal/machine"
)

// instance is a machine with its host and its session.
type instance struct {
	w    *world
	no   int
	m    *delay.Machine
	seen func(step)

	id    int64 // of its session, 0: none
	epoch uint64
	gone  bool // the server has ended the session, and the host has not heard of it
	trust bool
	down  bool

	requests []*request
	notices  []machine.Event
	answers  []answer
	fires    []fire
	wishes   []wish
	armed    map[string]*request // the reads that armed the watches that stand
	wakes    []wake
	rested   int64 // when the last delay began that is over

	claims []*claim
	last   machine.Claim
	held   *hold
	freed  []machine.Claim
}

type (
	request struct {
		effect machine.Effect
		epoch  uint64
		told   bool
	}
	answer struct {
		ev machine.Event
		to *request
	}
	fire struct {
		ev    machine.Fired
		by    *request
		heard int // notices that must come first
	}
	wake struct {
		ask   uint64
		since int64
	}
	wish struct {
		ev machine.Event
		of *hold // of Released
	}
	claim struct {
		id              machine.Claim
		once, withdrawn bool
	}
	hold struct {
		claim *claim
		token int64
		live  bool // the hold stands
	}
)

func (i *instance) step(ev machine.Event) {
	from := i.m.State().String()
	effects := i.m.Step(ev)
	to := i.m.State().String()
	i.w.log("#%d %T%+v: %s → %s", i.no, ev, ev, from, to)
	if from != to {
		i.seen(step{from, to})
	}
	for _, e := range effects {
		i.w.log("#%d   %T%+v", i.no, e, e)
		i.carryOut(e)
	}
}

func (i *instance) claim(id machine.Claim) *claim {
	for _, c := range i.claims {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (i *instance) carryOut(e machine.Effect) {
	switch e := e.(type) {
	case machine.Join, machine.List, machine.Read, machine.Leave, machine.Depart, machine.Record:
		i.requests = append(i.requests, &request{effect: e, epoch: i.epoch})
	case machine.Linger:
		i.wakes = append(i.wakes, wake{e.Ask, i.w.zxid})
	case machine.Wake:
		i.wakes = append(i.wakes, wake{e.Ask, i.w.zxid})
	case machine.Grant:
		i.grant(e)
	case machine.End:
		if i.held == nil || i.held.claim.id != e.Claim {
			i.w.failf("#%d: the end of what is not held: %d", i.no, e.Claim)
		}
		i.over()
	case machine.Freed:
		if i.held == nil || i.held.claim.id != e.Claim {
			i.w.failf("#%d: freed what is not held: %d", i.no, e.Claim)
		}
		_, dead := i.w.deaths[i.held.token]
		if i.id != 0 && !dead { // with its epoch it is only about to go
			i.w.failf("I9: #%d freed %d, which stands", i.no, i.held.token)
		}
		if r := i.w.record; i.id != 0 && r != nil && r.token == i.held.token && !i.w.deaths[r.token].byOther {
			i.w.failf("#%d gave %d up, and the record says that it died", i.no, r.token)
		}
		i.freed = append(i.freed, e.Claim)
		i.over()
	case machine.Settle:
		c := i.claim(e.Claim)
		if c == nil {
			if !slices.Contains(i.freed, e.Claim) { // released, and withdrawn behind it
				i.w.failf("#%d: settled twice: %d", i.no, e.Claim)
			}
			return
		}
		if i.held != nil && i.held.claim == c {
			i.held = nil
		}
		i.drop(c)
	}
}

func (i *instance) grant(e machine.Grant) {
	c := i.claim(e.Claim)
	if i.held != nil || e.Epoch != i.epoch {
		i.w.failf("#%d: a grant beside another, or of another epoch", i.no)
	}
	if c == nil || !i.trust || !i.w.calm && i.w.pick(10) == 0 {
		i.step(machine.Deferred{Claim: e.Claim})
		if c != nil && i.trust { // word on why comes
			i.notices = append(i.notices, machine.TrustGained{Epoch: i.epoch})
		}
		return
	}
	i.w.checkGrant(i, e)
	i.held = &hold{claim: c, token: e.Token, live: !c.withdrawn}
}

// over: the possession is, and with it a claim for one.
func (i *instance) over() {
	c := i.held.claim
	i.held = nil
	if c.once {
		i.drop(c)
	}
}

func (i *instance) drop(c *claim) {
	i.claims = slices.DeleteFunc(i.claims, func(o *claim) bool { return o == c })
}

// serve lets the server answer a request. Those of one session are carried out in order.
func (i *instance) serve() bool {
	if len(i.requests) == 0 || i.gone || i.down {
		return false
	}
	r := i.requests[0]
	i.requests = i.requests[1:]
	if r.epoch != i.epoch {
		return true
	}
	switch e := r.effect.(type) {
	case machine.Join:
		i.answers = append(i.answers, answer{i.join(e), r})
		i.answers = append(i.answers, answer{machine.Listed{Epoch: i.epoch, Ask: e.Ask, Names: i.w.names()}, r})
	case machine.List:
		i.answers = append(i.answers, answer{machine.Listed{Epoch: i.epoch, Ask: e.Ask, Names: i.w.names()}, r})
	case machine.Read:
		i.answers = append(i.answers, answer{i.read(e, r), r})
	case machine.Leave:
		if n := i.w.find(e.Path); n != nil {
			i.w.remove(n, false)
		}
		i.answers = append(i.answers, answer{machine.Left{Epoch: i.epoch, Path: e.Path}, r})
	case machine.Depart:
		i.depart(e)
		i.answers = append(i.answers, answer{machine.Left{Epoch: i.epoch, Path: e.Path}, r})
	case machine.Record:
		i.answers = append(i.answers, answer{i.writeRecord(e), r})
	}
	return true
}

func (w *world) names() []string {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.path[len(parent)+1:])
	}
	return names
}

func (i *instance) join(e machine.Join) machine.Event {
	if n := i.w.find(e.Replace); n != nil {
		i.w.remove(n, false)
	}
	n := i.w.create(i.id)
	ev := machine.Joined{Epoch: i.epoch, Path: n.path}
	if i.w.pick(3) > 0 { // otherwise the answer was lost
		ev.Czxid, ev.Owner = n.czxid, n.owner
	}
	return ev
}

func (i *instance) read(e machine.Read, r *request) machine.Event {
	ev := machine.Seen{Epoch: i.epoch, Path: e.Path, Ask: e.Ask}
	if n := i.w.find(e.Path); n != nil {
		ev.Exists, ev.Czxid, ev.Owner = true, n.czxid, n.owner
		if e.Watch && i.armed[e.Path] == nil {
			i.armed[e.Path] = r
		}
	}
	return ev
}

// depart deletes both, or the znode alone.
func (i *instance) depart(e machine.Depart) {
	if n := i.w.find(e.Path); n != nil {
		if i.w.record != nil && i.w.record.token != n.czxid {
			i.w.failf("#%d takes another's record with it", i.no)
		}
		i.w.record = nil
		i.w.remove(n, false)
	}
}

// writeRecord does what the host does: the transaction, and a look if it fails. Its answer may have been lost.
func (i *instance) writeRecord(e machine.Record) machine.Event {
	w := i.w
	stands := w.find(e.Place) != nil
	switch {
	case stands && e.Version < 0 && w.record == nil:
		w.zxid++
		w.record = &record{token: e.Token}
	case stands && w.record != nil && w.record.version == e.Version:
		w.checkRecord(i, e)
		w.zxid++
		w.record = &record{e.Token, e.Version + 1}
	}
	ev := machine.Recorded{Epoch: i.epoch, Ask: e.Ask, Version: -1}
	if r := w.record; r != nil {
		ev.Token, ev.Version = r.token, r.version
	}
	return ev
}

// deliver passes one thing on to the machine: answers in any order, events not before the answer that armed them.
func (i *instance) deliver() bool {
	var can []func()
	if len(i.notices) > 0 {
		can = append(can, func() {
			ev := i.notices[0]
			i.notices = i.notices[1:]
			for k := range i.fires {
				i.fires[k].heard = max(i.fires[k].heard-1, 0)
			}
			i.step(ev)
		})
	}
	for k := range i.answers {
		can = append(can, func() {
			a := i.answers[k]
			i.answers = slices.Delete(i.answers, k, k+1)
			a.to.told = true
			i.step(a.ev)
		})
	}
	if len(i.fires) > 0 && i.fires[0].heard == 0 && (i.fires[0].by.told || i.fires[0].by.epoch != i.epoch) {
		can = append(can, func() {
			f := i.fires[0]
			i.fires = i.fires[1:]
			i.step(f.ev)
		})
	}
	if len(i.wakes) > 0 {
		can = append(can, func() {
			k := i.wakes[0]
			i.wakes = i.wakes[1:]
			i.rested = k.since
			i.step(machine.Woke{Ask: k.ask})
		})
	}
	if len(i.wishes) > 0 {
		can = append(can, func() {
			f := i.wishes[0]
			i.wishes = i.wishes[1:]
			i.tell(f)
		})
	}
	if len(can) == 0 {
		return false
	}
	can[i.w.pick(len(can))]()
	return true
}

// tell passes on what concerns the present possession and claims that are not over, as a host does.
func (i *instance) tell(f wish) {
	switch e := f.ev.(type) {
	case machine.Released:
		if i.held == f.of {
			i.step(e)
		}
	case machine.Withdrawn:
		if i.claim(e.Claim) != nil {
			i.step(e)
		}
	default:
		i.step(e)
	}
}

// begin connects the instance in a new epoch.
func (i *instance) begin() {
	i.w.ids++
	i.id, i.epoch, i.gone, i.down, i.trust = i.w.ids, i.epoch+1, false, false, true
	i.armed = map[string]*request{}
	i.step(machine.EpochBegan{Epoch: i.epoch, SessionID: i.id, Trusted: true})
}

// end is the end of an epoch, as the session tells it: the holds have ended by then.
func (i *instance) end() {
	id := i.id
	i.id, i.armed, i.notices, i.answers, i.requests, i.fires, i.wakes = 0, nil, nil, nil, nil, nil, nil
	if i.held != nil {
		i.held.live = false
	}
	i.step(machine.EpochEnded{Epoch: i.epoch})
	i.w.expire(id)
}

func (i *instance) want(once, try bool) {
	i.last++
	i.claims = append(i.claims, &claim{id: i.last, once: once || try})
	i.wishes = append(i.wishes, wish{ev: machine.Wanted{Claim: i.last, Once: once || try, Try: try}})
}

func (i *instance) withdraw(c *claim) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	if i.held != nil && i.held.claim == c {
		i.held.live = false
	}
	i.wishes = append(i.wishes, wish{ev: machine.Withdrawn{Claim: c.id}})
}

func (i *instance) release() bool {
	h := i.held
	if h == nil || !h.live {
		return false
	}
	h.live = false
	i.wishes = append(i.wishes, wish{machine.Released{Claim: h.claim.id}, h})
	return true
}

// distrust ends what is held, as the session does; the host tells the machine.
func (i *instance) distrust() {
	i.trust = false
	i.notices = append(i.notices, machine.TrustEnded{Epoch: i.epoch})
	if h := i.held; h != nil && h.live {
		h.live = false
		c := h.claim
		i.held = nil
		if c.once {
			i.drop(c)
		}
		i.step(machine.HoldEnded{Claim: c.id})
	}
}
