package double_test

// What schedules run in: parties in a recipetest.World, each with a user, as its application; and
// the guarantees, which are checked as users are told things (enter, allLeft, perform) and after
// each step of the world (checkVerdicts). What happens in which order: schedule_test.go.

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

// schedule is a recipetest.World with the users of its parties, and with the guarantees.
type schedule struct {
	recipetest.Chance
	*recipetest.World
	users    []*user                  // dead ones too
	admin    *recipetest.Actor        // breaks rounds: see admin below
	verdicts map[int64]double.Verdict // of the decided rounds
	guids    int                      // how many were made
	step     stepped
	// Drawn at the beginning.
	parties int
	kicks   bool // another client deletes parties' znodes; such a party is not inside any more, though it may not know yet
	pairs   bool // several processes of an id may live at a time
	patient bool // users want the next round only when they have left the last one
}

// stepped is called for each step of a machine.
type stepped func(from string, ev machine.Event, to string)

// user is the application of a party, with the part of package barrier that deals with the machine.
type user struct {
	schedule *schedule
	actor    *recipetest.Actor
	id       string
	// What it has asked for and received, by claim.
	last     uint64          // the number of the last claim
	claims   []double.Wanted // not answered
	passages []*passage      // whose rounds not all have left
	given    map[uint64]bool // claims that got a passage
	entered  int             // rounds
	refused  []error
	// Its life.
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
	holds  bool // it is still a possession
	kicked bool // its znode was deleted
}

func newSchedule(c recipetest.Chance, step stepped) *schedule {
	return &schedule{
		Chance: c, World: recipetest.NewWorld(c.Pick), verdicts: map[int64]double.Verdict{}, step: step,
		parties: 1 + c.Pick(4), kicks: c.Pick(4) == 0, pairs: c.Pick(2) == 0, patient: c.Pick(2) == 0,
	}
}

// fail ends the schedule with its story, and with the state of every party.
func (s *schedule) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, u := range s.users {
		if !u.dead {
			text += fmt.Sprintf("; %s in state %s, with %d claims and %d passages", u.actor, u.actor.Machine().(watched).State(), len(u.claims), len(u.passages))
		}
	}
	s.Failf("%s\n%s", text, s.Story())
}

func (s *schedule) guid() znode.GUID {
	s.guids++
	return znode.GUID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.guids))
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

// party starts a process with this id.
func (s *schedule) party(id string) *user {
	u := &user{schedule: s, id: id, given: map[uint64]bool{}}
	u.actor = s.Add(recipetest.Player{
		Name: fmt.Sprintf("%s/%d", id, len(s.users)),
		Machine: func() machine.Machine {
			return watched{double.New(double.Config{Path: at, Parties: s.parties, ID: id, GUID: s.guid}), s.step}
		},
		Standing: u.standing, Perform: u.perform, Lapse: func(*recipetest.Actor) { u.depart() },
	})
	for _, o := range s.twins(u) {
		o.twin, u.twin = true, true
	}
	s.users = append(s.users, u)
	return u
}

// twins are the other living processes of a party's id.
func (s *schedule) twins(u *user) []*user {
	return slices.DeleteFunc(slices.Clone(s.users), func(o *user) bool { return o == u || o.id != u.id || o.dead })
}

// standing are the events for a new machine, as those of package barrier's intents.
func (u *user) standing() []machine.Event {
	var all []machine.Event
	for _, p := range u.passages {
		all = append(all, double.Followed{Claim: p.claim, Round: p.round, Names: p.names, Self: p.self})
	}
	for _, c := range u.claims {
		all = append(all, c)
	}
	if u.closed { // as the host does
		all = append(all, machine.Closing{})
	}
	return all
}

// want, withdraw, depart and close are the calls of the application: Enter, a context that ends,
// Passage.Depart and Double.Close.
func (u *user) want() {
	u.last++
	c := double.Wanted{Claim: u.last, Once: true}
	u.claims = append(u.claims, c)
	u.actor.Tell(c)
}

func (u *user) withdraw() {
	if len(u.claims) == 0 {
		return
	}
	i := u.schedule.Pick(len(u.claims))
	c := u.claims[i]
	u.claims = slices.Delete(u.claims, i, i+1)
	u.actor.Tell(double.Withdrawn{Claim: c.Claim})
}

func (u *user) depart() {
	for _, p := range u.passages {
		if p.holds {
			p.holds = false
			u.actor.Tell(double.Departed{Claim: p.claim})
		}
	}
}

// goOn departs, and wants the next round: a patient user when all have left the last one.
func (u *user) goOn() {
	u.depart()
	if !u.dead && !u.closed && len(u.claims) == 0 && (len(u.passages) == 0 || !u.schedule.patient && u.schedule.Pick(10) == 0) {
		u.want()
	}
}

// kill is kill -9.
func (u *user) kill() {
	if !u.dead {
		u.actor.Kill()
		u.dead = true
	}
}

func (u *user) close() {
	u.depart()
	u.claims, u.passages, u.closed = nil, nil, true
	u.actor.Tell(machine.Closing{})
}

// perform receives what the machine tells the application.
func (u *user) perform(a *recipetest.Actor, e machine.Effect) {
	switch e := e.(type) {
	case double.Enter:
		u.enter(e)
	case double.Lost:
		if !u.schedule.kicks {
			u.schedule.fail("%s: its znode was deleted, and no client deletes any by hand", u.id)
		}
		u.depart()
	case double.Left:
		u.allLeft(e.Claim)
	case double.Refuse:
		u.take(e.Claim)
		u.refused = append(u.refused, e.Err)
		switch {
		case errors.Is(e.Err, double.ErrReplaced) && !u.twin:
			u.schedule.fail("%s: replaced, and its id has no other life", u.id)
		case !errors.Is(e.Err, double.ErrReplaced) && !errors.Is(e.Err, double.ErrBroken) && !errors.Is(e.Err, double.ErrCrowd):
			u.schedule.fail("%s: refused: %v", u.id, e.Err)
		}
	default:
		u.schedule.fail("unknown effect %T", e)
	}
}

func (u *user) wants(claim uint64) bool {
	return slices.ContainsFunc(u.claims, func(c double.Wanted) bool { return c.Claim == claim })
}

func (u *user) take(claim uint64) {
	i := slices.IndexFunc(u.claims, func(c double.Wanted) bool { return c.Claim == claim })
	if i >= 0 {
		u.claims = slices.Delete(u.claims, i, i+1)
	}
}

// enter checks the guarantees for a party that enters: its round was released with this party as a
// member, and it is told the same names as all of them.
func (u *user) enter(e double.Enter) {
	switch {
	case !u.wants(e.Claim): // withdrawn: it departs at once
		u.actor.Tell(double.Departed{Claim: e.Claim})
		return
	case !u.actor.Trusted(e.Epoch):
		u.actor.Tell(double.Deferred{Claim: e.Claim, Once: true})
		return
	}
	v, decided := u.schedule.verdicts[e.Round]
	switch {
	case !decided || v.Kind != double.Released:
		u.schedule.fail("%s enters round %d, which is not released", u.id, e.Round)
	case !slices.Equal(v.Names, e.Names) || !slices.Contains(e.Names, e.Self):
		u.schedule.fail("%s enters round %d with %v, released with %v", u.id, e.Round, e.Names, v.Names)
	case !u.schedule.kicks && !u.schedule.Exists(e.Path):
		u.schedule.fail("%s enters without a znode", u.id) // the machine would have told of the deletion before
	}
	for _, o := range append(u.schedule.twins(u), u) {
		for _, p := range o.passages {
			if p.holds && (o == u || !p.kicked) {
				u.schedule.fail("%s is inside twice, in rounds %d and %d", u.id, p.round, e.Round)
			}
		}
	}
	u.take(e.Claim)
	u.given[e.Claim] = true
	u.entered++
	u.passages = append(u.passages, &passage{claim: e.Claim, round: e.Round, names: e.Names, self: e.Self, holds: true})
}

// allLeft checks that no live party is inside.
func (u *user) allLeft(claim uint64) {
	i := slices.IndexFunc(u.passages, func(p *passage) bool { return p.claim == claim })
	if i < 0 {
		if u.given[claim] && !u.closed {
			u.schedule.fail("%s: told twice that all have left: %d", u.id, claim)
		}
		return // it never had the passage: its Deferred or Departed is in the mailbox
	}
	round := u.passages[i].round
	for _, o := range u.schedule.users {
		for _, p := range o.passages {
			if p.round == round && p.holds && !p.kicked {
				u.schedule.fail("all have left round %d for %s while %s is inside", round, u.id, o.id)
			}
		}
	}
	u.passages = slices.Delete(u.passages, i, i+1)
}

// checkVerdicts records the verdicts, and checks that each is given once, and, if only one thing
// can have happened since, that no round is released without all its parties.
func (s *schedule) checkVerdicts(one bool) {
	s.markKicked()
	for _, n := range double.Rounds(s.Children(at)) {
		path := double.RoundPath(at, n)
		v := double.ParseVerdict(s.Data(path))
		before, decided := s.verdicts[n]
		switch {
		case v.Kind == double.Unreadable:
			s.fail("%s", "unreadable: "+string(s.Data(path)))
		case decided && (before.Kind != v.Kind || !slices.Equal(before.Names, v.Names)):
			s.fail("round %d changes its verdict", n)
		case v.Kind == double.Open || decided:
			continue
		}
		s.verdicts[n] = v
		if one && v.Kind == double.Released {
			if missing := slices.DeleteFunc(slices.Clone(v.Names), func(name string) bool { return s.Exists(path + "/" + name) }); len(missing) > 0 {
				s.fail("round %d is released without %v", n, missing)
			}
		}
	}
}

func (s *schedule) partiesIn(round string) []string {
	return slices.DeleteFunc(s.Children(round), func(name string) bool { _, ok := double.PartyID(name); return !ok })
}

// markKicked finds the passages whose znodes were deleted.
func (s *schedule) markKicked() {
	if !s.kicks {
		return
	}
	for _, u := range s.users {
		for _, p := range u.passages {
			p.kicked = p.kicked || !s.Exists(double.RoundPath(at, p.round)+"/"+p.self)
		}
	}
}

// admin breaks the newest round when it is told to (breakIt), in one try: it lists the rounds,
// reads the newest and writes the verdict, as Double.Break does.
type admin struct {
	epoch uint64
	ask   uint64
	round int64
}

type breakIt struct{}

func (m *admin) Step(ev machine.Event) []machine.Effect {
	m.ask++
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.epoch = ev.Epoch
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
