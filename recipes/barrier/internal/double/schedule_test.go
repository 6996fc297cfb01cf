package double_test

// Schedules: parties come and go, die and break in any order. Then all trouble ends, and those who
// live are not held by what has happened.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	_, allowed := table(t)
	recipetest.Schedules(t, tier.Count(1600, 16_000), func(c recipetest.Chance) {
		schedule(c, func(from string, ev machine.Event, to string) { allowed.Check(c, from, ev, to) })
	})
}

func schedule(c recipetest.Chance, step stepped) {
	w := newWorld(c, step)
	for i := range w.parties + w.Pick(2) { // sometimes one too many
		w.party(fmt.Sprint("p", i))
	}
	admin := w.Add(recipetest.Player{Name: "admin", Machine: func() machine.Machine { return &admin{} }, Perform: func(*recipetest.Actor, machine.Effect) {}})
	for range w.Pick(400) {
		w.look(w.happen(admin))
	}
	if len(w.entered()) == w.parties && w.Pick(2) == 0 {
		w.goesOn()
	} else {
		w.comesToRest()
	}
}

// happen lets one thing happen, good or bad. It tells whether at most one request was carried out
// by it.
func (w *world) happen(admin *recipetest.Actor) bool {
	f := w.faces[w.Pick(len(w.faces))]
	seldom := w.Pick(4) == 0
	switch w.Pick(50) {
	case 0:
		f.actor.Disconnect()
	case 1, 2:
		f.actor.Reconnect()
	case 3:
		f.actor.Distrust()
	case 4, 5:
		f.actor.Entrust()
	case 6:
		f.actor.Expire()
		return false
	case 7:
		f.actor.Crash()
		return false
	case 8:
		if len(w.faces) < 4*w.parties {
			f.kill()
			return false
		}
	case 9, 10:
		w.startAnew(f)
		w.pair(f)
	case 11:
		if seldom {
			w.Bury()
			return false
		}
	case 12:
		if seldom {
			admin.Tell(breakIt{})
		}
	case 13:
		w.kickOne(admin)
	case 14:
		if seldom || !w.patient {
			f.withdraw()
		}
	case 15:
		if seldom && w.Pick(2) == 0 && len(w.living()) > w.parties {
			f.close()
		}
	case 16, 17, 18, 19, 20:
		switch {
		case w.patient:
			f.goOn()
		case w.Pick(3) == 0:
			f.depart()
		case len(f.claims) < 2 && !f.closed:
			f.want()
		}
	default:
		w.Step()
	}
	return true
}

// kickOne has some party's znode deleted, in a world in which that happens.
func (w *world) kickOne(admin *recipetest.Actor) {
	if rounds := double.Rounds(w.Children(at)); w.kicks && len(rounds) > 0 {
		round := double.RoundPath(at, rounds[w.Pick(len(rounds))])
		if parts := []string{"/in", "/out"}; w.Pick(2) == 0 { // as long as it is open, the parties go on in it
			if double.ParseVerdict(w.Data(round)).Kind == double.Open {
				admin.Tell(kick{round + parts[w.Pick(2)]})
			}
			return
		}
		if names := w.standing(round); len(names) > 0 {
			admin.Tell(kick{round + "/" + names[w.Pick(len(names))]})
		}
	}
}

// startAnew starts a process in the place of one that is dead, under its id. Its znodes may stand
// still.
func (w *world) startAnew(f *face) {
	if f.dead && !f.replaced {
		f.replaced = true
		w.party(f.id)
	}
}

// pair starts another process of a living party's id, in a world in which that happens: up to three
// live at a time.
func (w *world) pair(f *face) {
	if w.pairs && !f.dead && len(w.faces) < 4*w.parties && len(w.twins(f)) < 2 {
		w.party(f.id)
	}
}

// bury notes the verdicts that the dead have written, before their znodes go.
func (w *world) bury() {
	w.look(false)
	w.Bury()
}

// heal ends all trouble: one process of each id lives.
func (w *world) heal() {
	for _, f := range w.faces {
		w.startAnew(f)
	}
	w.bury()
	w.Heal()
}

// alone leaves one process of each id. It tells whether there were more.
func (w *world) alone() (more bool) {
	for _, f := range w.faces {
		if !f.dead && len(w.twins(f)) > 0 {
			f.kill()
			more = true
		}
	}
	w.bury()
	return more
}

// goesOn: everybody goes through several rounds; at last with one process of each id.
func (w *world) goesOn() {
	for _, f := range w.faces {
		if f.closed {
			f.kill()
		}
	}
	w.heal()
	for again := true; again; again = w.alone() {
		w.through(3)
	}
}

// through lets each id go through so many rounds. A party that waits for ever is found as a world
// in which nothing can happen any more.
func (w *world) through(rounds int) {
	before := w.entered()
	for range 20000 * rounds {
		waiting := false
		for id, n := range w.entered() {
			waiting = waiting || n < before[id]+rounds
		}
		for _, f := range w.faces {
			f.goOn()
		}
		if !waiting {
			return
		}
		if !w.Step() {
			w.fail("nothing can happen any more")
		}
		w.look(true)
	}
	w.fail("it does not come to an end")
}

// entered is how often each id has entered a round.
func (w *world) entered() map[string]int {
	sum := map[string]int{}
	for _, f := range w.faces {
		sum[f.id] += f.entered
	}
	return sum
}

// comesToRest: nobody wants anything any more, and nobody is held. Then as many parties as there
// are to be go through a round, and leave nothing.
func (w *world) comesToRest() {
	w.bury()
	w.Heal()
	for _, f := range w.living() {
		for len(f.claims) > 0 {
			f.withdraw()
		}
	}
	w.rest()
	for _, f := range w.faces { // what is left of a party that has stopped goes with it
		if f.closed {
			if stopped, _ := f.actor.Stopped(); !stopped && !f.dead {
				w.fail("%s does not wind up", f.actor)
			}
			f.kill()
		}
	}
	w.bury()
	for range 3 { // a crash after its passage was wished may bring another
		for _, f := range w.living() {
			f.depart()
		}
		w.rest()
	}
	w.alone()
	w.rest()
	for _, f := range w.living() {
		if len(f.passages) > 0 {
			w.fail("%s is held in round %d", f.actor, f.passages[0].round)
		}
	}
	w.another()
	w.clean()
}

// another round, with those who live. Not all of them leave it alive.
func (w *world) another() {
	team := w.living()
	if len(team) < w.parties {
		return
	}
	team = team[:w.parties]
	before := w.entered()
	for _, f := range team {
		f.refused = nil
		f.want()
	}
	w.rest()
	for _, f := range team {
		if w.entered()[f.id] != before[f.id]+1 {
			w.fail("%s does not enter: %v", f.actor, f.refused)
		}
	}
	w.leave(team)
}

// leave: all depart, and some of them die on the way out, at any moment. Nobody is left behind.
// Nothing else happens, since most trouble would free a party that waits for ever.
func (w *world) leave(team []*face) {
	for _, f := range team {
		f.depart()
	}
	for range w.Pick(len(team)) {
		for range w.Pick(50) {
			w.Step()
			w.look(true)
		}
		team[w.Pick(len(team))].kill()
		w.bury()
	}
	w.rest()
	for _, f := range team {
		if len(f.passages) > 0 && !f.dead {
			w.fail("%s does not leave", f.actor)
		}
	}
}

// clean: a party that comes new finds, and leaves, no round but the next.
func (w *world) clean() {
	f := w.party("sweeper")
	f.want()
	w.rest()
	f.withdraw()
	w.rest()
	rounds := double.Rounds(w.Children(at))
	if w.parties > 1 && len(rounds) != 1 {
		w.fail("rounds are left: %v", rounds)
	}
	for _, n := range rounds {
		if left := w.standing(double.RoundPath(at, n)); w.parties > 1 && len(left) > 0 {
			w.fail("parties are left in round %d: %v", n, left)
		}
	}
	for _, f := range w.living() {
		f.close()
	}
	w.rest()
	for _, f := range w.faces {
		if stopped, _ := f.actor.Stopped(); !stopped && !f.dead {
			w.fail("%s does not stop", f.actor)
		}
	}
}

// rest lets things happen until nothing can any more, and looks after each.
func (w *world) rest() {
	for range 20000 {
		if !w.Step() {
			return
		}
		w.look(true)
	}
	w.fail("it does not come to rest")
}

func (w *world) living() []*face {
	return slices.DeleteFunc(slices.Clone(w.faces), func(f *face) bool {
		stopped, _ := f.actor.Stopped()
		return stopped || f.dead || f.closed
	})
}
