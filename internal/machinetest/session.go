package machinetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Request is an effect on its way to the server.
type Request struct {
	Effect  machine.Effect
	epoch   uint64
	told    bool // its answer was delivered, or never will be
	orphan  bool // who asked has crashed
	forgone bool // it arms nothing: see [machine.Unwatch]
}

type (
	answer struct {
		ev machine.Event
		to *Request
	}
	fire struct {
		ev    machine.Fired
		by    *Request
		heard int // notices that must come first
	}
	wish struct {
		ev machine.Event
		of *Hold // of Released
	}
	wake struct {
		ask   uint64
		since int64
	}
)

// begin connects the instance in a new epoch.
func (i *Instance) begin() {
	i.World.sessions++
	i.Session, i.epoch, i.gone, i.down, i.trusted = i.World.sessions, i.epoch+1, false, false, true
	i.arms = map[string]*Request{}
	i.step(machine.EpochBegan{Epoch: i.epoch, SessionID: i.Session, Trusted: true})
}

// end is the end of an epoch, as the session tells it: the holds have ended by then.
func (i *Instance) end() {
	id := i.Session
	i.Session, i.arms, i.notices, i.answers, i.requests, i.fires, i.wakes = 0, nil, nil, nil, nil, nil, nil
	if i.Held != nil {
		i.Held.Live = false
	}
	i.step(machine.EpochEnded{Epoch: i.epoch})
	i.World.expire(id)
}

// distrust ends what is held, as the session does; the host tells the machine. If the application
// withdraws the claim at that moment, that overtakes the word of it.
func (i *Instance) distrust() {
	i.trusted = false
	i.notices = append(i.notices, machine.TrustEnded{Epoch: i.epoch})
	h := i.Held
	if h == nil || !h.Live {
		return
	}
	h.Live = false
	i.Lost[h.Token] = true
	if h.lost = i.World.Pick(3) == 0; h.lost {
		i.withdraw(h.claim)
		return
	}
	i.over()
	i.step(machine.HoldEnded{Claim: h.claim.id})
}

func (i *Instance) trust() {
	i.trusted = true
	i.notices = append(i.notices, machine.TrustGained{Epoch: i.epoch})
}

func (i *Instance) suspend() {
	i.down = true
	i.notices = append(i.notices, machine.Suspended{Epoch: i.epoch})
}

func (i *Instance) resume() {
	i.down = false
	i.notices = append(i.notices, machine.Resumed{Epoch: i.epoch})
}

// Arm puts the watch of a read on a path, unless there is one.
func (i *Instance) Arm(path string, r *Request) {
	if i.arms[path] == nil && !r.forgone {
		i.arms[path] = r
	}
}

// unwatch takes the watch off a path, and off the reads that are to arm it.
func (i *Instance) unwatch(path string) {
	delete(i.arms, path)
	for _, r := range i.requests {
		if e, ok := r.Effect.(machine.Read); ok && e.Path == path {
			r.forgone = true
		}
	}
}

// Watches tells whether a watch is on the path.
func (i *Instance) Watches(path string) bool { return i.arms[path] != nil }

// serve lets the server answer a request. Those of one session are carried out in order.
func (i *Instance) serve() bool {
	if len(i.requests) == 0 || i.gone || i.down {
		return false
	}
	r := i.requests[0]
	i.requests = i.requests[1:]
	if r.epoch != i.epoch {
		return true
	}
	for _, ev := range i.World.Tree.Serve(i, r) {
		if !r.orphan {
			i.answers = append(i.answers, answer{ev, r})
		}
	}
	return true
}

// deliver passes one thing on to the machine: answers in any order, events not before the answer
// that armed them.
func (i *Instance) deliver() bool {
	var can []func()
	if len(i.notices) > 0 {
		can = append(can, i.deliverNotice)
	}
	for k := range i.answers {
		can = append(can, func() { i.deliverAnswer(k) })
	}
	if len(i.fires) > 0 && i.fires[0].heard == 0 && (i.fires[0].by.told || i.fires[0].by.epoch != i.epoch) {
		can = append(can, func() { i.step(next(&i.fires).ev) })
	}
	if len(i.wakes) > 0 {
		can = append(can, i.deliverWake)
	}
	if len(i.wishes) > 0 {
		can = append(can, func() { i.tell(next(&i.wishes)) })
	}
	return i.World.OneOf(can)
}

// next takes the first.
func next[E any](queue *[]E) E {
	e := (*queue)[0]
	*queue = (*queue)[1:]
	return e
}

func (i *Instance) deliverNotice() {
	ev := next(&i.notices)
	for k := range i.fires {
		i.fires[k].heard = max(i.fires[k].heard-1, 0)
	}
	i.step(ev)
}

func (i *Instance) deliverAnswer(k int) {
	a := i.answers[k]
	i.answers = slices.Delete(i.answers, k, k+1)
	a.to.told = true
	i.step(a.ev)
}

func (i *Instance) deliverWake() {
	k := next(&i.wakes)
	i.Rested = k.since
	i.step(machine.Woke{Ask: k.ask})
}

// tell passes on what concerns the present possession and claims that are not over, as a host does.
func (i *Instance) tell(f wish) {
	switch e := f.ev.(type) {
	case machine.Released:
		if i.Held == f.of {
			i.step(e)
		}
	case machine.Withdrawn:
		if c := i.claim(e.Claim); c != nil {
			e.Lost = i.Held != nil && i.Held.claim == c && i.Held.lost
			i.step(e)
		}
	default:
		i.step(e)
	}
}
