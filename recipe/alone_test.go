package recipe_test

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// alone is a small machine for claims: that of a contender with whom nobody contends. Its turn
// comes as soon as its znode stands.
type alone struct {
	record   bool // who holds is written into a record, which a release takes with it
	epoch    uint64
	ask      uint64
	claims   []machine.Wanted // in order: the possession is the first one's
	own      string           // path of its znode
	token    int64
	state    machine.Phase // Determining: the znode stands, and may not be had yet
	leaving  bool
	lost     bool             // the possession ended by itself
	whenGone []machine.Effect // what is said when the znode is gone
	told     machine.Phase
	out      []machine.Effect
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
		a.over(machine.EndExpired, nil)
		a.epoch = 0
		a.gone()
	case machine.TrustGained, machine.Resumed:
		a.turn()
	case machine.Recovered:
		a.own = ev.Path
		if ev.Granted {
			a.leave()
			return
		}
		a.state = machine.Determining
		a.read()
	case machine.Entered:
		a.onEntered(ev)
	case machine.Seen:
		a.onSeen(ev)
	case machine.Fired:
		switch {
		case ev.Path != a.own || a.leaving || a.state == machine.Waiting: // a downgrade deletes it
		case ev.Change == machine.Deleted:
			a.over(machine.EndDeleted, nil)
			a.gone()
		default:
			a.read()
		}
	case machine.Recorded:
		if ev.Token == a.token && a.state == machine.Determining {
			a.grant()
		}
	case machine.Removed:
		if ev.Path == a.own {
			a.gone()
		}
	case machine.Downgraded:
		switch {
		case ev.Gone:
			a.gone()
		case ev.Err == nil:
			a.own = ev.New
			a.grant()
		}
	default:
		a.onWish(ev)
	}
}

func (a *alone) onWish(ev machine.Event) {
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
	case machine.DowngradeWanted:
		if a.holds(ev.Claim) {
			a.state = machine.Waiting
			a.do(machine.Downgrade{Epoch: a.epoch, Path: a.own, Token: a.token})
		}
	case machine.Deferred:
		if a.holds(ev.Claim) {
			a.state = machine.Determining
		}
	}
}

// answer says something about a claim as soon as nothing of it stands. The znode goes with it if
// nobody else wants it.
func (a *alone) answer(e machine.Effect, last bool) {
	switch {
	case a.epoch == 0 || a.state == machine.Idle && !a.leaving || !a.leaving && !last:
		a.do(e)
		return
	case !a.leaving && a.own != "":
		a.leave()
	}
	a.whenGone = append(a.whenGone, e)
}

// enter asks for a znode if it is wanted.
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
	a.own, a.token, a.state = ev.Path, ev.Czxid, machine.Determining
	if len(a.claims) == 0 {
		a.leave()
		return
	}
	a.turn()
	a.read()
}

func (a *alone) onSeen(ev machine.Seen) {
	switch {
	case ev.Path != a.own || a.leaving || a.state == machine.Waiting:
	case ev.Err != nil:
		a.lost = true
		a.over(machine.EndUnwatched, ev.Err)
		a.fail(ev.Err)
		a.leave()
	case !ev.Exists:
		a.over(machine.EndDeleted, nil)
		a.gone()
	case a.token == 0:
		a.token = ev.Stat.Czxid
		a.turn()
	}
}

// turn: the znode stands, so the thing may be had.
func (a *alone) turn() {
	switch {
	case a.state != machine.Determining || a.token == 0 || a.leaving:
	case a.record:
		a.do(machine.Record{Epoch: a.epoch, Ask: a.number(), Path: a.own, Token: a.token, Version: -1})
	default:
		a.grant()
	}
}

func (a *alone) grant() {
	a.state = machine.Holding
	a.do(machine.Grant{Epoch: a.epoch, Claim: a.claims[0].Claim, Path: a.own, Token: a.token})
}

// over ends the possession, if there is one.
func (a *alone) over(cause machine.Cause, err error) {
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
		a.do(machine.Release{Epoch: a.epoch, Path: a.own})
		return
	}
	a.do(machine.Remove{Epoch: a.epoch, Path: a.own})
}

// gone: nothing of the znode is left.
func (a *alone) gone() {
	a.do(a.whenGone...)
	a.own, a.token, a.leaving, a.lost, a.whenGone = "", 0, false, false, nil
	a.enter()
}

func (a *alone) holds(c machine.Claim) bool {
	return a.state == machine.Holding && a.claims[0].Claim == c
}

func (a *alone) read() {
	a.do(machine.Read{Epoch: a.epoch, Ask: a.number(), Path: a.own, Watch: true})
}

func (a *alone) number() uint64 {
	a.ask++
	return a.ask
}
