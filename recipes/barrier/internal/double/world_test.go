package double_test

// The world of schedules: parties as package barrier has them, and what must hold whatever happens.

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

func TestMain(m *testing.M) { tier.Main(m) }

const at = "/b"

// world is a recipetest.World with the faces of its parties, and with what must hold.
type world struct {
	recipetest.Chance
	*recipetest.World
	parties  int
	faces    []*face
	verdicts map[int64]double.Verdict // of the rounds that were decided
	guids    int
	kicks    bool // somebody deletes parties' znodes, who then are inside no more, though they may not know yet
	pairs    bool // several processes of an id may live at a time
	patient  bool // nobody asks for what it has not waited for
	step     stepped
}

// stepped is told each step of a machine.
type stepped func(from string, ev machine.Event, to string)

// face stands for a party's users: what package barrier does, without goroutines.
type face struct {
	world    *world
	actor    *recipetest.Actor
	id       string
	last     uint64
	claims   []double.Wanted
	passages []*passage // not over
	given    map[uint64]bool
	entered  int
	refused  []error
	dead     bool
	replaced bool // a process was started in the place of this dead one
	twin     bool // another process of its id has lived at the same time
	closed   bool
}

type passage struct {
	claim  uint64
	round  int64
	names  []string
	self   string
	holds  bool // it is a possession still
	kicked bool // its znode was deleted
}

func newWorld(c recipetest.Chance, step stepped) *world {
	return &world{
		Chance: c, World: recipetest.NewWorld(c.Pick), verdicts: map[int64]double.Verdict{}, step: step,
		parties: 1 + c.Pick(4), kicks: c.Pick(4) == 0, pairs: c.Pick(2) == 0, patient: c.Pick(2) == 0,
	}
}

// fail ends the schedule with its story, and with where everybody stands.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, f := range w.faces {
		if !f.dead {
			text += fmt.Sprintf("; %s in state %s, with %d wishes and %d passages", f.actor, f.actor.Machine().(watched).State(), len(f.claims), len(f.passages))
		}
	}
	w.Failf("%s\n%s", text, w.Story())
}

func (w *world) guid() znode.GUID {
	w.guids++
	return znode.GUID(fmt.Sprintf("00000000-0000-4000-8000-%012d", w.guids))
}

// watched reports the machine's transitions.
type watched struct {
	*double.Machine
	step stepped
}

func (m watched) Step(ev machine.Event) []machine.Effect {
	from := m.State()
	effects := m.Machine.Step(ev)
	m.step(from.String(), ev, m.State().String())
	return effects
}

func (w *world) party(id string) *face {
	f := &face{world: w, id: id, given: map[uint64]bool{}}
	f.actor = w.Add(recipetest.Player{
		Name: fmt.Sprintf("%s/%d", id, len(w.faces)),
		Machine: func() machine.Machine {
			return watched{double.New(double.Config{Path: at, Parties: w.parties, ID: id, GUID: w.guid}), w.step}
		},
		Standing: f.standing, Perform: f.perform, Lapse: func(*recipetest.Actor) { f.lapse() },
	})
	for _, o := range w.twins(f) {
		o.twin, f.twin = true, true
	}
	w.faces = append(w.faces, f)
	return f
}

// twins are the other living processes of a party's id.
func (w *world) twins(f *face) []*face {
	return slices.DeleteFunc(slices.Clone(w.faces), func(o *face) bool { return o == f || o.id != f.id || o.dead })
}

func (f *face) standing() []machine.Event {
	var all []machine.Event
	for _, p := range f.passages {
		all = append(all, double.Followed{Claim: p.claim, Round: p.round, Names: p.names, Self: p.self})
	}
	for _, c := range f.claims {
		all = append(all, c)
	}
	if f.closed { // as the host does
		all = append(all, machine.Closing{})
	}
	return all
}

func (f *face) want() {
	f.last++
	c := double.Wanted{Claim: f.last, Once: true}
	f.claims = append(f.claims, c)
	f.actor.Tell(c)
}

func (f *face) withdraw() {
	if len(f.claims) == 0 {
		return
	}
	i := f.world.Pick(len(f.claims))
	c := f.claims[i]
	f.claims = slices.Delete(f.claims, i, i+1)
	f.actor.Tell(double.Withdrawn{Claim: c.Claim})
}

func (f *face) depart() {
	for _, p := range f.passages {
		if p.holds {
			p.holds = false
			f.actor.Tell(double.Departed{Claim: p.claim})
		}
	}
}

// goOn departs, or enters the next round: one that is patient when the last one is over.
func (f *face) goOn() {
	f.depart()
	if !f.dead && !f.closed && len(f.claims) == 0 && (len(f.passages) == 0 || !f.world.patient && f.world.Pick(10) == 0) {
		f.want()
	}
}

func (f *face) kill() {
	if !f.dead {
		f.actor.Kill()
		f.dead = true
	}
}

// close winds the party up.
func (f *face) close() {
	f.depart()
	f.claims, f.passages, f.closed = nil, nil, true
	f.actor.Tell(machine.Closing{})
}

// lapse: every possession of the process is over.
func (f *face) lapse() { f.depart() }

func (f *face) perform(a *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case double.Enter:
		f.enter(e)
	case double.Lost:
		if !f.world.kicks {
			f.world.fail("%s: its znode was deleted, and nobody deletes any by hand", f.id)
		}
		f.depart()
	case double.Left:
		f.over(e.Claim)
	case double.Refuse:
		f.take(e.Claim)
		f.refused = append(f.refused, e.Err)
		switch {
		case errors.Is(e.Err, double.ErrReplaced) && !f.twin:
			f.world.fail("%s: replaced, and its id has no other life", f.id)
		case !errors.Is(e.Err, double.ErrReplaced) && !errors.Is(e.Err, double.ErrBroken) && !errors.Is(e.Err, double.ErrCrowd):
			f.world.fail("%s: refused: %v", f.id, e.Err)
		}
	default:
		f.world.fail("unknown effect %T", e)
	}
}

func (f *face) wants(claim uint64) bool {
	return slices.ContainsFunc(f.claims, func(c double.Wanted) bool { return c.Claim == claim })
}

func (f *face) take(claim uint64) {
	i := slices.IndexFunc(f.claims, func(c double.Wanted) bool { return c.Claim == claim })
	if i >= 0 {
		f.claims = slices.Delete(f.claims, i, i+1)
	}
}

// enter checks what holds of whoever enters: its round was released, with it and as many others as
// agreed, and it is told the same names as all of them.
func (f *face) enter(e double.Enter) {
	switch {
	case !f.wants(e.Claim): // withdrawn: its departure is told at once
		f.actor.Tell(double.Departed{Claim: e.Claim})
		return
	case !f.actor.Trusted(e.Epoch):
		f.actor.Tell(double.Deferred{Claim: e.Claim, Once: true})
		return
	}
	v, decided := f.world.verdicts[e.Round]
	switch {
	case !decided || v.Kind != double.Released:
		f.world.fail("%s enters round %d, which is not released", f.id, e.Round)
	case !slices.Equal(v.Names, e.Names) || !slices.Contains(e.Names, e.Self):
		f.world.fail("%s enters round %d with %v, released with %v", f.id, e.Round, e.Names, v.Names)
	case !f.world.kicks && !f.world.Exists(e.Path):
		f.world.fail("%s enters without a znode", f.id) // its end would have come before
	}
	for _, o := range append(f.world.twins(f), f) {
		for _, p := range o.passages {
			if p.holds && (o == f || !p.kicked) {
				f.world.fail("%s is inside twice, in rounds %d and %d", f.id, p.round, e.Round)
			}
		}
	}
	f.take(e.Claim)
	f.given[e.Claim] = true
	f.entered++
	f.passages = append(f.passages, &passage{claim: e.Claim, round: e.Round, names: e.Names, self: e.Self, holds: true})
}

// over checks that nobody who lives is inside.
func (f *face) over(claim uint64) {
	i := slices.IndexFunc(f.passages, func(p *passage) bool { return p.claim == claim })
	if i < 0 {
		if f.given[claim] && !f.closed {
			f.world.fail("%s: over twice: %d", f.id, claim)
		}
		return // it never had the passage: word of that is on its way
	}
	round := f.passages[i].round
	for _, o := range f.world.faces {
		for _, p := range o.passages {
			if p.round == round && p.holds && !p.kicked {
				f.world.fail("round %d is over for %s while %s is inside", round, f.id, o.id)
			}
		}
	}
	f.passages = slices.Delete(f.passages, i, i+1)
}

// look notes the verdicts, and checks that each is given once, and, if only one thing can have
// happened since, that no round is released without all its parties.
func (w *world) look(one bool) {
	w.lookForKicked()
	for _, n := range double.Rounds(w.Children(at)) {
		path := double.RoundPath(at, n)
		v := double.ParseVerdict(w.Data(path))
		before, decided := w.verdicts[n]
		switch {
		case v.Kind == double.Unreadable:
			w.fail("%s", "unreadable: "+string(w.Data(path)))
		case decided && (before.Kind != v.Kind || !slices.Equal(before.Names, v.Names)):
			w.fail("round %d changes its verdict", n)
		case v.Kind == double.Open || decided:
			continue
		}
		w.verdicts[n] = v
		if one && v.Kind == double.Released {
			if missing := slices.DeleteFunc(slices.Clone(v.Names), func(name string) bool { return w.Exists(path + "/" + name) }); len(missing) > 0 {
				w.fail("round %d is released without %v", n, missing)
			}
		}
	}
}

func (w *world) standing(round string) []string {
	return slices.DeleteFunc(w.Children(round), func(name string) bool { _, ok := double.PartyID(name); return !ok })
}

func (w *world) lookForKicked() {
	if !w.kicks {
		return
	}
	for _, f := range w.faces {
		for _, p := range f.passages {
			p.kicked = p.kicked || !w.Exists(double.RoundPath(at, p.round)+"/"+p.self)
		}
	}
}

// admin breaks the newest round when it is told to, in one try, and deletes what it is told to.
type admin struct {
	epoch uint64
	ask   uint64
	round int64
}

type (
	breakIt struct{}
	kick    struct{ path string }
)

func (m *admin) Step(ev machine.Event) []machine.Effect {
	m.ask++
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.epoch = ev.Epoch
	case kick:
		return []machine.Effect{machine.Remove{Epoch: m.epoch, Ask: m.ask, Path: ev.path}}
	case breakIt:
		return []machine.Effect{machine.List{Epoch: m.epoch, Ask: m.ask, Path: at}}
	case machine.Listed:
		if rounds := double.Rounds(ev.Names); len(rounds) > 0 {
			m.round = rounds[len(rounds)-1]
			return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: m.ask, Path: double.RoundPath(at, m.round)}}
		}
	case machine.Seen:
		if v := double.ParseVerdict(ev.Data); v.Kind == double.Open && double.Present(ev.Stat.Children) > 0 {
			broken := double.Verdict{Kind: double.Broken, Parties: v.Parties, Why: double.Asked}
			ops := []machine.Op{{Do: machine.Set, Path: ev.Path, Data: broken.Bytes(), Version: ev.Stat.Version}}
			return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: m.ask, Ops: append(ops, double.Opening(at, m.round+1, v.Parties, machine.Any)...)}}
		}
	}
	return nil
}
