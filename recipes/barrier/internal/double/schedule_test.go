package double_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(400, 4000), judged(schedule))
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		recipetest.Schedule(rt, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, judged(schedule))
	})
}

// TestPairs: the same, while several processes of an id live at a time.
func TestPairs(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(400, 4000), judged(pairs(schedule)))
}

// pairs lets several processes of an id live at a time.
func pairs(schedule func(w *world) error) func(w *world) error {
	return func(w *world) error {
		w.pairs = true
		return schedule(w)
	}
}

// judged is a schedule that takes declared transitions alone, and fails with its story.
func judged(schedule func(w *world) error) func(recipetest.Chance) {
	return func(c recipetest.Chance) {
		if story, err := play(schedule, c.Pick, checkDeclared); err != nil {
			c.Failf("%v\n%s", err, story)
		}
	}
}

// play runs a schedule in a new world.
func play(schedule func(w *world) error, choose func(n int) int, step func(from, on, to string)) (story string, err error) {
	w := newWorld(1+choose(4), choose, step)
	w.kicks = choose(4) == 0
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f
		default:
			err = fmt.Errorf("panic: %v", f)
		}
		if err != nil {
			story = w.Story()
		}
	}()
	return "", schedule(w)
}

// schedule lets parties come and go, die and break in any order; and then checks that those who
// live are not held by what has happened.
func schedule(w *world) error {
	for i := range w.parties + w.choose(2) { // sometimes one too many
		w.party(fmt.Sprint("p", i), w.parties)
	}
	b := w.Add(recipetest.Player{Name: "admin", Machine: func() machine.Machine { return &admin{} }, Perform: func(*recipetest.Actor, machine.Effect) {}})
	for range w.choose(240) {
		w.look(w.happen(b))
	}
	return w.conclude()
}

// happen lets one thing happen, good or bad. It tells whether at most one request was carried out
// by it.
func (w *world) happen(b *recipetest.Actor) bool {
	f := w.faces[w.choose(len(w.faces))]
	switch w.choose(40) {
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
		switch {
		case f.dead || w.choose(3) > 0:
		case len(w.faces) < 8 && w.choose(2) == 0: // and started anew at once
			f.kill()
			w.party(f.id, w.parties)
			return false
		case len(w.living()) > w.parties:
			f.kill()
			return false
		}
	case 9:
		w.pair(f)
		if w.choose(6) == 0 && len(w.living()) > w.parties {
			f.close()
		}
		w.Bury()
	case 10:
		f.withdraw()
	case 11:
		if w.choose(4) == 0 {
			b.Tell(breakIt{})
		}
	case 12:
		w.kickOne(b)
	case 13, 14:
		f.depart()
	case 15, 16, 17, 18:
		if len(f.claims) < 2 && !f.closed {
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
		round := double.RoundPath(at, rounds[w.choose(len(rounds))])
		if names := w.standing(round); len(names) > 0 {
			admin.Tell(kick{round + "/" + names[w.choose(len(names))]})
		}
	}
}

func (w *world) living() []*face {
	var all []*face
	for _, f := range w.faces {
		if stopped, _ := f.actor.Stopped(); !stopped && !f.dead && !f.closed {
			all = append(all, f)
		}
	}
	return all
}

// conclude brings everything to rest, and then lets as many parties as there are to be go through a
// round: nothing of the past may hold them.
func (w *world) conclude() error {
	w.Bury()
	w.Heal()
	for _, f := range w.living() {
		for len(f.claims) > 0 {
			f.withdraw()
		}
	}
	if !w.run(20000) {
		return errors.New("it does not come to rest")
	}
	for _, f := range w.faces { // what is left of a party that has stopped goes with it
		if stopped, _ := f.actor.Stopped(); f.closed && !stopped && !f.dead && !f.closed {
			return fmt.Errorf("%s does not wind up, in state %s", f.id, f.actor.Machine().(watched).Phase())
		}
		if f.closed {
			f.kill()
		}
	}
	w.Bury()
	for range 3 { // a crash after its passage was wished may bring another
		for _, f := range w.living() {
			f.depart()
		}
		if !w.run(20000) {
			return errors.New("it does not come to rest")
		}
	}
	for _, f := range w.living() {
		if len(f.passages) > 0 {
			return fmt.Errorf("%s is held in round %d, in state %s", f.id, f.passages[0].round, f.actor.Machine().(watched).Phase())
		}
	}
	return w.another()
}

// another round, with those who live.
func (w *world) another() error {
	var team []*face
	for _, f := range w.living() { // one process of an id
		if len(team) < w.parties && !slices.ContainsFunc(team, func(o *face) bool { return o.id == f.id }) {
			team = append(team, f)
		}
	}
	if len(team) < w.parties {
		return nil
	}
	before := map[*face]int{}
	for _, f := range team {
		before[f] = f.entered
		f.refused = nil
		f.want()
	}
	if !w.run(20000) {
		return errors.New("the last round does not come to rest")
	}
	for _, f := range team {
		if f.entered != before[f]+1 {
			return fmt.Errorf("%s does not enter: %v, in state %s", f.id, f.refused, f.actor.Machine().(watched).Phase())
		}
	}
	for _, f := range team {
		f.depart()
	}
	if !w.run(20000) {
		return errors.New("the last leave does not come to rest")
	}
	for _, f := range team {
		if len(f.passages) > 0 {
			return fmt.Errorf("%s does not leave, in state %s", f.id, f.actor.Machine().(watched).Phase())
		}
	}
	return w.clean()
}

// clean: a party that comes new finds, and leaves, no round but the next.
func (w *world) clean() error {
	f := w.party("sweeper", w.parties)
	f.want()
	w.run(20000)
	f.withdraw()
	w.run(20000)
	rounds := double.Rounds(w.Children(at))
	if w.parties > 1 && len(rounds) != 1 {
		return fmt.Errorf("rounds are left: %v", rounds)
	}
	for _, n := range rounds {
		if left := w.standing(double.RoundPath(at, n)); w.parties > 1 && len(left) > 0 {
			return fmt.Errorf("parties are left in round %d: %v", n, left)
		}
	}
	for _, f := range w.living() {
		f.close()
	}
	w.run(20000)
	for _, f := range w.faces {
		if stopped, _ := f.actor.Stopped(); !stopped && !f.dead {
			return fmt.Errorf("%s does not stop, in state %s", f.id, f.actor.Machine().(watched).Phase())
		}
	}
	return nil
}
