package contend_test

// An instance in the simulation: a machine, its host and its application.

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

var errRefused = errors.New("not authorised")

// instance is a machine with a host around it, as package recipe does it, and an
// application.
type instance struct {
	sim  *simulation
	id   int
	name string // of its znodes, without the GUID and the number
	data []byte
	rule contend.Rule
	m    *contend.Machine

	// The epochs: of the client, which the machine hears of later.
	sess    *session // the client's present one, nil between epochs
	sharers *sharers // of its sessions, with itself
	epochs  uint64   // so far
	fed     uint64   // the epoch that the machine knows of, 0 if none
	as      int64    // the ZooKeeper session of the last epoch that the machine knew of

	// What is on its way to the machine. Each of these keeps its order, except the answers.
	notices []machine.Event
	fires   []fire
	wishes  []demand
	answers []answer
	wakes   []wake
	news    []machine.Fired // of what it follows in its session
	said    int             // notices so far
	heard   int             // how many of them the machine got

	// The application and the host.
	last        machine.Claim
	claims      []*claim                 // those that have not ended, in order
	past        map[machine.Claim]*claim // those that have
	held        *hold
	used        map[int64]bool   // Czxids of znodes that were granted
	lost        map[int64]bool   // those of them whose possession was lost
	restedSince int64            // the Zxid at which the last pause that has ended began
	freeing     int              // Released that wait for Freed
	shown       machine.Standing // the last that was published
}

type claim struct {
	id        machine.Claim
	once, try bool
	withdrawn bool
	told      bool  // the machine knows of the withdrawal
	since     int64 // the Zxid when the machine was told that it is wanted
	contested bool  // another claim of the instance was ahead of it then
	settled   bool
	path      string // of its last possession
	node      *node  // of its last possession; nil if it was gone before the grant
}

type hold struct {
	claim   *claim
	path    string
	node    *node // nil: it was gone before the grant
	session *session
	token   int64
	live    bool // the application believes that it holds: until a release, a loss or a downgrade
	revoked bool // it was asked to release
	lost    bool // it was lost, which the machine hears of with the withdrawal

	// A downgrade.
	exchanging bool // it is the writer's, and was ended for the reader's
	read       bool // it is the reader's
}

func downgraded(h *hold) machine.Event { return machine.DowngradeWanted{Claim: h.claim.id} }

// wake is a pause, and the Zxid at which it began.
type wake struct {
	ask   uint64
	since int64
}

// demand is a message of the face, or of the end of a hold, to the host.
type demand struct {
	ev   machine.Event
	hold *hold
}

func (sim *simulation) newInstance() *instance {
	i := &instance{sim: sim, id: len(sim.all), used: map[int64]bool{}, lost: map[int64]bool{}, past: map[machine.Claim]*claim{}}
	i.drawRole()
	i.drawSharers()
	i.m = i.machine()
	sim.all = append(sim.all, i)
	return i
}

func (i *instance) claim(id machine.Claim) *claim {
	for _, c := range i.claims {
		if c.id == id {
			return c
		}
	}
	return nil
}

// dropClaim takes a claim that has ended out of the ledger.
func (i *instance) dropClaim(c *claim) {
	i.past[c.id] = c
	i.claims = slices.DeleteFunc(i.claims, func(o *claim) bool { return o == c })
}

// step passes an event to the machine and carries out its effects.
func (i *instance) step(ev machine.Event) {
	from := i.state()
	effects := i.m.Step(ev)
	to := i.state()
	i.sim.Log("#%d %T%+v: %s → %s", i.id, ev, ev, from, to)
	i.sim.table.Check(i.sim.Chance, from, ev, to)
	i.checkKnown()
	if i.sim.taken != nil && from != to {
		i.sim.taken[recipetest.Step{From: from, On: recipetest.EventName(ev), To: to}] = true
	}
	for _, e := range effects {
		i.sim.Log("#%d   %T%+v", i.id, e, e)
		i.carryOut(e)
	}
}

func (i *instance) carryOut(e machine.Effect) {
	switch e := e.(type) {
	case machine.Enter:
		i.request(e, e.Epoch)
	case machine.List:
		i.request(e, e.Epoch)
	case machine.Read:
		if !e.SameSession || !i.follow(e) {
			i.request(e, e.Epoch)
		}
	case machine.Unwatch:
		i.unfollow(e.Path)
		if i.sess != nil && i.sess.epoch == e.Epoch {
			i.sess.unwatch(e.Path)
		}
	case machine.Remove:
		i.tellReleased(e.Path)
		i.request(e, e.Epoch)
	case machine.Transact:
		i.request(e, e.Epoch)
	case machine.Downgrade:
		i.request(e, e.Epoch)
	case machine.Release:
		i.request(e, e.Epoch)
	case machine.Record:
		i.request(e, e.Epoch)
	case machine.Grant:
		i.onGrant(e)
	case machine.End:
		i.onEnd(e)
	case machine.Revoked:
		i.onRevoked(e)
	case machine.Freed:
		i.onFreed(e)
	case machine.Settle:
		i.onSettle(e)
	case machine.Cancel:
		i.wakes = slices.DeleteFunc(i.wakes, func(k wake) bool { return k.ask == e.Ask })
	case machine.Wake:
		i.wakes = append(i.wakes, wake{e.Ask, i.sim.zxid})
	case machine.Publish:
		if e.Standing == i.shown {
			i.sim.Failf("#%d published %+v twice", i.id, e.Standing)
		}
		i.shown = e.Standing
	}
}

func (i *instance) request(e machine.Effect, epoch uint64) {
	if i.fed == 0 || epoch != i.fed {
		i.sim.Failf("#%d asks %T of epoch %d in epoch %d", i.id, e, epoch, i.fed)
	}
	if i.sess != nil && i.sess.epoch == epoch {
		i.sess.send(e)
	}
}

// onGrant makes a possession if the session is trusted, and checks that it may be granted.
func (i *instance) onGrant(e machine.Grant) {
	c, s := i.claim(e.Claim), i.sess
	switch {
	case c == nil:
		i.sim.Failf("#%d granted a claim that has ended: %d", i.id, e.Claim)
	case i.fed == 0 || e.Epoch != i.fed:
		i.sim.Failf("#%d granted in epoch %d", i.id, i.fed)
	case i.held != nil && i.held.exchanging && i.held.claim == c:
		i.goOn(e)
		return
	case s == nil || s.epoch != e.Epoch || !s.trusted:
		i.step(machine.Deferred{Claim: e.Claim})
		return
	case i.sim.knownGone(e.Path): // the session knows that it is gone, and its event follows
		i.step(machine.Deferred{Claim: e.Claim})
		return
	case i.sim.rule >= delayed && i.sim.oneIn(10): // the session does not trust itself; TrustGained follows
		i.step(machine.Deferred{Claim: e.Claim})
		i.say(machine.TrustGained{Epoch: s.epoch})
		return
	case i.held != nil:
		i.sim.Failf("#%d granted twice", i.id)
	}
	i.sim.checkGrant(i, e)
	i.used[e.Token] = true
	c.path, c.node = e.Path, i.sim.granted(e)
	i.held = &hold{claim: c, path: e.Path, node: c.node, session: s, live: !c.withdrawn, token: e.Token}
	i.sim.tell(e.Path, machine.Held)
	if i.held.live && i.sim.oneIn(30) {
		i.endHold() // the application does not receive it
	}
}

// goOn makes the reader's possession in place of the writer's, after a downgrade.
func (i *instance) goOn(e machine.Grant) {
	h, s := i.held, i.sess
	if s == nil || s.epoch != e.Epoch || !s.trusted {
		i.held = nil
		if !h.claim.withdrawn {
			i.finish(h)
			i.step(machine.HoldEnded{Claim: e.Claim})
		}
		return
	}
	if e.Token != h.token {
		i.sim.Failf("I3: #%d goes on with token %d instead of %d", i.id, e.Token, h.token)
	}
	mine := i.sim.find(e.Path)
	if mine != nil && !i.sim.turn(mine) {
		i.sim.Failf("I1: #%d goes on out of turn with %s", i.id, e.Path)
	}
	if !s.watches(e.Path) && !s.reading(e.Path) {
		i.sim.Failf("I6: #%d goes on with %s unwatched", i.id, e.Path)
	}
	h.claim.path, h.claim.node = e.Path, mine
	i.held = &hold{claim: h.claim, path: e.Path, node: mine, session: s, live: !h.claim.withdrawn, token: e.Token, read: true}
}

// endHold loses the possession.
func (i *instance) endHold() {
	h := i.held
	if h == nil || !h.live {
		return
	}
	h.live = false
	i.lost[h.token] = true
	if h.lost = i.sim.rule >= delayed && i.sim.Pick(3) == 0; h.lost {
		i.withdraw(h.claim) // before the machine is told of the loss
		return
	}
	i.wishes = append(i.wishes, demand{machine.HoldEnded{Claim: h.claim.id}, h})
}

func (i *instance) onEnd(e machine.End) {
	h := i.held
	if h == nil || h.claim.id != e.Claim {
		return
	}
	if e.Cause == machine.EndDeleted && i.sim.exists(h.node) {
		i.sim.Failf("#%d lost %s, which exists", i.id, h.path)
	}
	i.finish(h)
}

// finish ends a possession for the host too.
func (i *instance) finish(h *hold) {
	h.live = false
	i.held = nil
	if h.claim.once {
		i.dropClaim(h.claim)
	}
}

func (i *instance) onRevoked(e machine.Revoked) {
	h := i.held
	if h == nil || h.claim.id != e.Claim {
		return
	}
	if h.revoked {
		i.sim.Failf("#%d revoked twice", i.id)
	}
	h.revoked = true
}

func (i *instance) onFreed(e machine.Freed) {
	i.freeing--
	h := i.held
	if h == nil || h.claim.id != e.Claim {
		i.sim.Failf("#%d freed %d, which was not released", i.id, e.Claim)
		return
	}
	if i.sess == h.session && i.fed == h.session.epoch {
		if i.sim.exists(h.node) {
			i.sim.Failf("I9: #%d freed %s, which exists", i.id, h.path)
		}
		i.sim.checkRecordDeleted(i, h)
	}
	i.finish(h)
}

func (i *instance) onSettle(e machine.Settle) {
	c := i.claim(e.Claim)
	if p := i.past[e.Claim]; c == nil && p != nil && p.told && !p.settled {
		p.settled = true // its possession ended before the withdrawal was answered
		return
	}
	switch {
	case c == nil || c.settled:
		i.sim.Failf("#%d settled %d twice", i.id, e.Claim)
	case e.Err == nil && !c.told:
		i.sim.Failf("#%d settled %d, which is wanted", i.id, e.Claim)
	case errors.Is(e.Err, machine.ErrHeld) && !c.try:
		i.sim.Failf("#%d refused %d, which is no try", i.id, e.Claim)
	case errors.Is(e.Err, machine.ErrHeld) && !c.contested && !i.sim.rival(i, c.since) && i.sim.rule != delayed: // nor is the delay for a dead holder
		i.sim.Failf("#%d refused %d though there was no rival", i.id, e.Claim)
	}
	c.settled = true
	if h := i.held; h != nil && h.claim == c {
		i.finish(h)
	}
	i.dropClaim(c)
	if n := c.node; i.sim.exists(n) && e.Err == nil && n.owner == i.as && i.fed != 0 {
		i.sim.Failf("#%d settled %d while %s exists", i.id, e.Claim, c.path)
	}
	if len(i.claims) == 0 && e.Err == nil && i.sess != nil && i.fed == i.sess.epoch && i.znodes() > 0 {
		i.sim.Failf("#%d settled %d with a znode left", i.id, e.Claim)
	}
}

// znodes counts the instance's znodes of the present session that are not being deleted.
func (i *instance) znodes() int {
	count := 0
	for _, n := range i.sim.nodes {
		if n.owner == i.sess.id && n.by == i && !i.sess.leaving(n.path) {
			count++
		}
	}
	return count
}
