package double_test

// Schedules: parties come and go, die and break in any order. Then all trouble ends, and the live
// parties go on, or leave. The parties, their users and the guarantees: world_test.go.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// TestSchedules plays many schedules. A failure names its schedule and tells its story. Here are
// also the tests of B60 (GH-1290, K4, D1: a slow party learns that its round was opened, however
// fast the others leave) and of B63 (K5: a party that dies inside holds no other one, whenever it
// dies).
func TestSchedules(t *testing.T) {
	t.Parallel()
	_, allowed := table(t)
	recipetest.Schedules(t, tier.Count(1600, 16_000), func(c recipetest.Chance) {
		play(c, func(from string, ev machine.Event, to string) { allowed.Check(c, from, ev, to) })
	})
}

func play(c recipetest.Chance, step stepped) {
	s := newSchedule(c, step)
	for i := range s.parties + s.Pick(2) { // sometimes one too many
		s.party(fmt.Sprint("p", i))
	}
	s.admin = s.Add(recipetest.Player{Name: "admin", Machine: func() machine.Machine { return &admin{} }, Perform: func(*recipetest.Actor, machine.Effect) {}})
	for range s.Pick(400) {
		s.checkVerdicts(s.happen())
	}
	if len(s.entered()) == s.parties && s.Pick(2) == 0 {
		s.goesOn()
	} else {
		s.comesToRest()
	}
}

// chances are the things that may happen to a user, with their odds, 50 in all. Where one is not
// possible at the moment, nothing happens. many: several requests may be carried out by it.
var chances = []struct {
	odds   int
	many   bool
	happen func(s *schedule, u *user)
}{
	{29, false, func(s *schedule, _ *user) { s.Step() }},

	// Faults of a session, and their ends.
	{1, false, func(_ *schedule, u *user) { u.actor.Disconnect() }},
	{2, false, func(_ *schedule, u *user) { u.actor.Reconnect() }},
	{1, false, func(_ *schedule, u *user) { u.actor.Distrust() }},
	{2, false, func(_ *schedule, u *user) { u.actor.Entrust() }},
	{1, true, func(_ *schedule, u *user) { u.actor.Expire() }},

	// Processes crash, die and start. Bury ends the sessions of the dead.
	{1, true, func(_ *schedule, u *user) { u.actor.Crash() }},
	{1, true, func(s *schedule, u *user) {
		if len(s.users) < 4*s.parties {
			u.kill()
		}
	}},
	{2, false, func(s *schedule, u *user) { s.startAnew(u); s.pair(u) }},
	{1, true, func(s *schedule, _ *user) {
		if s.seldom() {
			s.Bury()
		}
	}},

	// Other clients break a round, and delete znodes.
	{1, false, func(s *schedule, _ *user) {
		if s.seldom() {
			s.admin.Tell(breakIt{})
		}
	}},
	{1, false, func(s *schedule, _ *user) { s.kickOne() }},

	// The application.
	{1, false, func(s *schedule, u *user) {
		if !s.patient || s.seldom() {
			u.withdraw()
		}
	}},
	{1, false, func(s *schedule, u *user) {
		if len(s.living()) > s.parties && s.seldom() && s.Pick(2) == 0 {
			u.close()
		}
	}},
	{5, false, (*schedule).act},
}

func (s *schedule) seldom() bool { return s.Pick(4) == 0 }

// happen lets one thing happen, good or bad. It tells whether at most one request was carried out
// by it.
func (s *schedule) happen() bool {
	u, n := s.users[s.Pick(len(s.users))], s.Pick(50)
	for _, c := range chances {
		if n -= c.odds; n < 0 {
			c.happen(s, u)
			return !c.many
		}
	}
	panic("the odds are 50 in all")
}

// act has a user depart, or want the next round.
func (s *schedule) act(u *user) {
	switch {
	case s.patient:
		u.goOn()
	case s.Pick(3) == 0:
		u.depart()
	case len(u.claims) < 2 && !u.closed:
		u.want()
	}
}

// kickOne deletes the znode of a party, or in or out, in a schedule in which that happens. in and
// out are deleted only while the round is open: the parties create them again then.
func (s *schedule) kickOne() {
	rounds := double.Rounds(s.Children(at))
	if !s.kicks || len(rounds) == 0 {
		return
	}
	round := double.RoundPath(at, rounds[s.Pick(len(rounds))])
	parts, open := []string{"in", "out"}, double.ParseVerdict(s.Data(round)).Kind == double.Open
	if s.Pick(2) == 0 {
		parts, open = s.partiesIn(round), true
	}
	if open && len(parts) > 0 {
		s.Delete(round + "/" + parts[s.Pick(len(parts))])
	}
}

// startAnew starts a process with the id of a dead one, whose znodes may still exist.
func (s *schedule) startAnew(u *user) {
	if u.dead && !u.replaced {
		u.replaced = true
		s.party(u.id)
	}
}

// pair starts another process with the id of a live one, in a schedule in which that happens: up to
// three live at a time.
func (s *schedule) pair(u *user) {
	if s.pairs && !u.dead && len(s.users) < 4*s.parties && len(s.twins(u)) < 2 {
		s.party(u.id)
	}
}

// bury records the verdicts that the dead have written, before their znodes are deleted.
func (s *schedule) bury() {
	s.checkVerdicts(false)
	s.Bury()
}

// heal ends all trouble. At least one process of each id lives then.
func (s *schedule) heal() {
	for _, u := range s.users {
		s.startAnew(u)
	}
	s.bury()
	s.Heal()
}

// alone leaves one live process of each id. It tells whether there were more.
func (s *schedule) alone() (more bool) {
	for _, u := range s.users {
		if !u.dead && len(s.twins(u)) > 0 {
			u.kill()
			more = true
		}
	}
	s.bury()
	return more
}

// goesOn: all go through several rounds; at last with one process of each id.
func (s *schedule) goesOn() {
	for _, u := range s.users {
		if u.closed {
			u.kill()
		}
	}
	s.heal()
	for again := true; again; again = s.alone() {
		s.through(3)
	}
}

// through has each id go through this number of rounds. If a party waits for ever, nothing can
// happen any more at some point.
func (s *schedule) through(rounds int) {
	before := s.entered()
	for range 20000 * rounds {
		waiting := false
		for id, n := range s.entered() {
			waiting = waiting || n < before[id]+rounds
		}
		for _, u := range s.users {
			u.goOn()
		}
		if !waiting {
			return
		}
		if !s.Step() {
			s.fail("nothing can happen any more")
		}
		s.checkVerdicts(true)
	}
	s.fail("it does not come to an end")
}

// entered is the number of rounds that each id has entered.
func (s *schedule) entered() map[string]int {
	sum := map[string]int{}
	for _, u := range s.users {
		sum[u.id] += u.entered
	}
	return sum
}

// comesToRest: all claims are withdrawn, and no party is held. Then as many parties as agreed go
// through a round, and leave nothing.
func (s *schedule) comesToRest() {
	s.bury()
	s.Heal()
	for _, u := range s.living() {
		for len(u.claims) > 0 {
			u.withdraw()
		}
	}
	s.rest()
	for _, u := range s.users { // the znodes of a stopped party end with its session
		if u.closed {
			if stopped, _ := u.actor.Stopped(); !stopped && !u.dead {
				s.fail("%s does not wind up", u.actor)
			}
			u.kill()
		}
	}
	s.bury()
	for range 3 { // a crash may have repeated a claim, which brings another passage
		for _, u := range s.living() {
			u.depart()
		}
		s.rest()
	}
	s.alone()
	s.rest()
	for _, u := range s.living() {
		if len(u.passages) > 0 {
			s.fail("%s is held in round %d", u.actor, u.passages[0].round)
		}
	}
	s.another()
	s.clean()
}

// another plays one more round with the live parties, some of which die in it.
func (s *schedule) another() {
	team := s.living()
	if len(team) < s.parties {
		return
	}
	team = team[:s.parties]
	before := s.entered()
	for _, u := range team {
		u.refused = nil
		u.want()
	}
	s.rest()
	for _, u := range team {
		if s.entered()[u.id] != before[u.id]+1 {
			s.fail("%s does not enter: %v", u.actor, u.refused)
		}
	}
	s.leave(team)
}

// leave: all depart, and some of them die at any moment before they have left. No live party is
// left behind. Nothing else happens, since most trouble would free a party that waits for ever.
func (s *schedule) leave(team []*user) {
	for _, u := range team {
		u.depart()
	}
	for range s.Pick(len(team)) {
		for range s.Pick(50) {
			s.Step()
			s.checkVerdicts(true)
		}
		team[s.Pick(len(team))].kill()
		s.bury()
	}
	s.rest()
	for _, u := range team {
		if len(u.passages) > 0 && !u.dead {
			s.fail("%s does not leave", u.actor)
		}
	}
}

// clean: a new party finds, and leaves, no round but the next.
func (s *schedule) clean() {
	u := s.party("sweeper")
	u.want()
	s.rest()
	u.withdraw()
	s.rest()
	rounds := double.Rounds(s.Children(at))
	if s.parties > 1 && len(rounds) != 1 {
		s.fail("rounds are left: %v", rounds)
	}
	for _, n := range rounds {
		if left := s.partiesIn(double.RoundPath(at, n)); s.parties > 1 && len(left) > 0 {
			s.fail("parties are left in round %d: %v", n, left)
		}
	}
	for _, u := range s.living() {
		u.close()
	}
	s.rest()
	for _, u := range s.users {
		if stopped, _ := u.actor.Stopped(); !stopped && !u.dead {
			s.fail("%s does not stop", u.actor)
		}
	}
}

// rest takes steps until nothing can happen any more, and checks the verdicts after each.
func (s *schedule) rest() {
	for range 20000 {
		if !s.Step() {
			return
		}
		s.checkVerdicts(true)
	}
	s.fail("it does not come to rest")
}

func (s *schedule) living() []*user {
	return slices.DeleteFunc(slices.Clone(s.users), func(u *user) bool {
		stopped, _ := u.actor.Stopped()
		return stopped || u.dead || u.closed
	})
}
