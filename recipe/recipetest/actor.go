package recipetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Player describes a process: an [Actor] is made of it.
type Player struct {
	Name    string
	Machine func() machine.Machine

	// Standing are the intents that a new machine is told after a crash; nil for none.
	Standing func() []machine.Event

	// Perform carries out the recipe's own effects.
	Perform func(a *Actor, e machine.Effect)

	// Lapse is called when every possession has ended: trust has run out, the machine has crashed,
	// or the process is dead. It is called before another process can know.
	Lapse func(a *Actor)
}

// Actor is one process with its session and its machine.
type Actor struct {
	Player

	world *World

	// The session, which outlives a killed process until [World.Bury].
	epochs       uint64 // the number of the present epoch
	session      int64  // of the present epoch
	sessionLives bool   // at the server; if not, up and trusted mean nothing
	up           bool   // it is connected
	trusted      bool

	// The machine. If killed or stopped, it gets no event any more.
	machine machine.Machine
	epoch   uint64 // as the machine was told, 0 between two
	killed  bool   // the process was
	stopped bool   // the machine has asked for it
	err     error  // why it stopped

	// What is under way.
	requests []*request          // not carried out yet
	inbox    []*delivery         // not made yet
	timers   map[uint64]int64    // the instants, by the requests' numbers
	watches  map[watch]*delivery // the answer of the read that armed it
}

// delivery is an event on its way to the machine.
type delivery struct {
	event  machine.Event
	epoch  uint64      // of an answer or a watch's event; 0: an intent, or a notice of the session
	after  []*delivery // those that must be made before it
	done   bool        // it was made, or is dropped: no other delivery waits for it
	retry  *request    // of an answer: asked again if the connection is lost before the delivery
	sleeps bool        // see [World.Sleep]
}

// request is an effect on its way to the server.
type request struct {
	effect  machine.Effect
	epoch   uint64
	orphan  bool            // the machine has crashed: there is no answer
	answers []machine.Event // to the queries of a [machine.MultiRead] so far
}

// String is the player's name.
func (a *Actor) String() string { return a.Name }

// Machine is the present machine.
func (a *Actor) Machine() machine.Machine { return a.machine }

// Session is the number of the present ZooKeeper session.
func (a *Actor) Session() int64 { return a.session }

// Trusted tells whether a possession can be made now in this epoch.
func (a *Actor) Trusted(epoch uint64) bool {
	return !a.killed && a.sessionLives && a.trusted && a.epochs == epoch
}

// Stopped tells whether the machine has asked for Stop, and why.
func (a *Actor) Stopped() (bool, error) { return a.stopped, a.err }

// Tell sends an intent to the machine. Intents keep their order.
func (a *Actor) Tell(ev machine.Event) { a.post(ev, 0, nil) }

func (a *Actor) post(ev machine.Event, epoch uint64, retry *request) *delivery {
	d := &delivery{event: ev, epoch: epoch, retry: retry}
	d.sleeps = a.world.sleepOneIn > 0 && a.world.choose(a.world.sleepOneIn) == 0
	if epoch == 0 {
		d.after = a.ordered()
	}
	a.inbox = append(a.inbox, d)
	return d
}

// notice posts a notice of the session, behind all earlier notices and events. It never sleeps.
func (a *Actor) notice(ev machine.Event) {
	d := &delivery{event: ev, after: a.ordered()}
	a.inbox = append(a.inbox, d)
}

// ordered are the deliveries that keep their order among themselves: intents, notices and events of
// watches.
func (a *Actor) ordered() []*delivery {
	var all []*delivery
	for _, d := range a.inbox {
		if d.retry == nil {
			all = append(all, d)
		}
	}
	return all
}

// deliver passes an event to the machine.
func (a *Actor) deliver(d *delivery) {
	d.done = true
	a.inbox = slices.DeleteFunc(a.inbox, func(o *delivery) bool { return o == d })
	switch ev := d.event.(type) {
	case machine.EpochBegan:
		a.epoch = ev.Epoch
	case machine.EpochEnded:
		a.epoch = 0
		a.requests = slices.DeleteFunc(a.requests, func(r *request) bool { return r.epoch == ev.Epoch })
	}
	a.step(d.event)
}

// step passes an event to the machine, and carries out its effects.
func (a *Actor) step(ev machine.Event) {
	if a.stopped || a.killed {
		return
	}
	a.world.log("%s ◀ %s", a.Name, formatted{ev})
	for _, e := range a.machine.Step(ev) {
		a.world.log("%s ▶ %s", a.Name, formatted{e})
		a.carryOut(e)
	}
}

func (a *Actor) carryOut(e machine.Effect) {
	switch e := e.(type) {
	case machine.List, machine.Read, machine.MultiRead, machine.Transact, machine.Ensure, machine.Remove:
		if epochOf(e) == a.epochs && a.sessionLives {
			a.requests = append(a.requests, &request{effect: e, epoch: epochOf(e)})
		}
	case machine.Wake:
		pause := e.After
		if pause == 0 { // about as package recipe, without jitter: 20 ms doubled, 5 s at most
			pause = 20 << min(e.Try, 8)
		}
		a.timers[e.Ask] = a.world.now + pause
	case machine.Cancel:
		delete(a.timers, e.Ask)
	case machine.Unwatch: // the event may come all the same
	case machine.Stop:
		a.stopped, a.err = true, e.Err
		a.lapse()
	default:
		a.Perform(a, e)
	}
}

func (a *Actor) lapse() {
	if a.Lapse != nil {
		a.Lapse(a)
	}
}

func epochOf(e machine.Effect) uint64 {
	switch e := e.(type) {
	case machine.List:
		return e.Epoch
	case machine.Read:
		return e.Epoch
	case machine.MultiRead:
		return e.Epoch
	case machine.Transact:
		return e.Epoch
	case machine.Ensure:
		return e.Epoch
	case machine.Remove:
		return e.Epoch
	}
	return 0
}
