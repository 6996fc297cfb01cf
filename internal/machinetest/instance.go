package machinetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// Instance is a machine with a host around it, as package recipe does it, its session, and
// an application.
type Instance struct {
	World   *World
	No      int
	Session int64 // 0: none
	Held    *Hold
	Lost    map[int64]bool // tokens of possessions that ended by themselves
	Rested  int64          // the Zxid at which the last pause began that is over
	spent   map[int64]bool // tokens of possessions

	machine recipetest.Subject
	epoch   uint64
	gone    bool // the server has ended the session, and the host has not heard of it
	trusted bool
	down    bool

	requests []*Request
	arms     map[string]*Request // the reads that armed the watches that stand

	// What is on its way to the machine. Each of these keeps its order, but for answers; among them
	// there is none.
	notices []machine.Event
	answers []answer
	fires   []fire
	wishes  []wish
	wakes   []wake

	claims []*claim
	last   machine.Claim
	freed  []machine.Claim
}

// Holds tells whether the application believes that it has the possession with that token.
func (i *Instance) Holds(token int64) bool {
	return i.Held != nil && i.Held.Live && i.Held.Token == token
}

// Hold is a possession.
type Hold struct {
	Token   int64
	Live    bool // it stands
	Revoked bool // its holder was asked to give up
	lost    bool // it ended by itself, and the machine has not heard of it
	claim   *claim
}

type claim struct {
	id        machine.Claim
	once, try bool
	withdrawn bool
}

// step feeds the machine and carries out what follows.
func (i *Instance) step(ev machine.Event) {
	w, from := i.World, i.machine.State()
	effects := i.machine.Step(ev)
	to := i.machine.State()
	w.Log("#%d %T%+v: %s → %s", i.No, ev, ev, from, to)
	w.Table.Check(w.Chance, from, ev, to)
	for _, e := range effects {
		w.Log("#%d   %T%+v", i.No, e, e)
		i.carryOut(e)
	}
}

func (i *Instance) carryOut(e machine.Effect) {
	switch e := e.(type) {
	case machine.Enter, machine.List, machine.Read, machine.Remove, machine.Release, machine.Record:
		i.requests = append(i.requests, &Request{Effect: e, epoch: i.epoch})
	case machine.Unwatch:
		i.unwatch(e.Path)
	case machine.Wake:
		i.wakes = append(i.wakes, wake{e.Ask, i.World.Zxid})
	case machine.Grant:
		i.grant(e)
	case machine.End:
		i.holds(e.Claim, "the end")
		i.over()
	case machine.Revoked:
		i.revoked(e)
	case machine.Freed:
		i.holds(e.Claim, "freed")
		if i.Session != 0 { // with its epoch it is only about to go
			i.World.Tree.CheckFreed(i)
		}
		i.freed = append(i.freed, e.Claim)
		i.over()
	case machine.Settle:
		i.settle(e)
	}
}

// holds: what the machine says is about the present possession.
func (i *Instance) holds(c machine.Claim, what string) {
	if i.Held == nil || i.Held.claim.id != c {
		i.World.Failf("#%d: %s of what is not held: %d", i.No, what, c)
	}
}

func (i *Instance) grant(e machine.Grant) {
	w, c := i.World, i.claim(e.Claim)
	if i.Held != nil || e.Epoch != i.epoch {
		w.Failf("#%d: a grant beside another, or of another epoch", i.No)
	}
	if c == nil || !i.trusted || w.Rarely(10) {
		i.step(machine.Deferred{Claim: e.Claim})
		if c != nil && i.trusted { // word on why comes
			i.notices = append(i.notices, machine.TrustGained{Epoch: i.epoch})
		}
		return
	}
	w.Tree.CheckGrant(i, e)
	i.spent[e.Token] = true
	i.Held = &Hold{claim: c, Token: e.Token, Live: !c.withdrawn}
}

func (i *Instance) revoked(e machine.Revoked) {
	if i.Held == nil {
		return // the grant in front of it was deferred
	}
	if i.Held.claim.id != e.Claim || i.Held.Revoked {
		i.World.Failf("#%d: an odd revocation", i.No)
	}
	i.Held.Revoked = true
}

func (i *Instance) settle(e machine.Settle) {
	c := i.claim(e.Claim)
	if c == nil {
		if !slices.Contains(i.freed, e.Claim) { // released, and withdrawn behind it
			i.World.Failf("#%d: settled twice: %d", i.No, e.Claim)
		}
		return
	}
	if i.Held != nil && i.Held.claim == c {
		i.Held = nil
	}
	i.drop(c)
}

// over: the possession is, and with it a claim for one.
func (i *Instance) over() {
	c := i.Held.claim
	i.Held = nil
	if c.once {
		i.drop(c)
	}
}

func (i *Instance) drop(c *claim) {
	i.claims = slices.DeleteFunc(i.claims, func(o *claim) bool { return o == c })
}

func (i *Instance) claim(id machine.Claim) *claim {
	for _, c := range i.claims {
		if c.id == id {
			return c
		}
	}
	return nil
}

// want is a new wish of the application's.
func (i *Instance) want(once, try bool) {
	i.last++
	i.claims = append(i.claims, &claim{id: i.last, once: once || try, try: try})
	i.wishes = append(i.wishes, wish{ev: machine.Wanted{Claim: i.last, Once: once || try, Try: try}})
}

func (i *Instance) withdraw(c *claim) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	if i.Held != nil && i.Held.claim == c {
		i.Held.Live = false
	}
	i.wishes = append(i.wishes, wish{ev: machine.Withdrawn{Claim: c.id}})
}

func (i *Instance) release() {
	if h := i.Held; h != nil && h.Live {
		h.Live = false
		i.wishes = append(i.wishes, wish{machine.Released{Claim: h.claim.id}, h})
	}
}
