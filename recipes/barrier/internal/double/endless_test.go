package double_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// TestEndless: parties with ids of their own go from round to round, while some are killed and
// started anew, expire, crash, lose answers and break rounds. After the last of that each goes on,
// whatever it is in the middle of: a party that waits for ever is found as a world in which nothing
// can happen any more.
func TestEndless(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(400, 4000), judged(endlessly))
}

// TestEndlessPairs: the same, while several processes of an id live at a time. Each id goes on.
func TestEndlessPairs(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(400, 4000), judged(pairs(endlessly)))
}

func endlessly(w *world) error {
	for i := range w.parties {
		w.party(fmt.Sprint("p", i), w.parties)
	}
	admin := w.Add(recipetest.Player{Name: "admin", Machine: func() machine.Machine { return &admin{} }, Perform: func(*recipetest.Actor, machine.Effect) {}})
	for range w.choose(600) {
		w.look(w.trouble(admin))
	}
	return w.calm()
}

// trouble lets one thing happen, mostly a good one. It tells whether at most one request was
// carried out by it.
func (w *world) trouble(admin *recipetest.Actor) bool {
	f := w.faces[w.choose(len(w.faces))]
	switch w.choose(60) {
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
		if w.choose(4) == 0 {
			w.Bury()
			return false
		}
	case 12:
		if w.choose(4) == 0 {
			admin.Tell(breakIt{})
		}
	case 13:
		if w.choose(4) == 0 {
			w.kickOne(admin)
		}
	case 14:
		if w.choose(4) == 0 {
			f.withdraw()
		}
	case 15:
		f.goOn(w.choose(10) == 0)
	case 16, 17, 18, 19:
		f.goOn(false)
	default:
		w.Step()
	}
	return true
}

// startAnew starts a process in the place of one that is dead, under its id. Its znodes may stand
// still.
func (w *world) startAnew(f *face) {
	if f.dead && !f.replaced {
		f.replaced = true
		w.party(f.id, w.parties)
	}
}

// goOn departs, or enters the next round when the last one is over. Whoever is impatient does not
// wait for the others to leave.
func (f *face) goOn(impatient bool) {
	f.depart()
	if !f.dead && len(f.claims) == 0 && (impatient || len(f.passages) == 0) {
		f.want()
	}
}

// calm: there is no trouble any more, and everybody goes through several rounds; at last with one
// process of each id.
func (w *world) calm() error {
	for _, f := range w.faces {
		w.startAnew(f)
	}
	w.Bury()
	w.Heal()
	for again := true; again; {
		if err := w.goOn(3); err != nil {
			return err
		}
		again = false
		for _, f := range w.faces {
			if !f.dead && len(w.twins(f)) > 0 {
				f.kill()
				again = true
			}
		}
		w.Bury()
	}
	return nil
}

// goOn lets each id go through so many rounds.
func (w *world) goOn(rounds int) error {
	before := w.entered()
	for range 20000 * rounds {
		waiting := false
		for id, n := range w.entered() {
			waiting = waiting || n < before[id]+rounds
		}
		for _, f := range w.faces {
			f.goOn(false)
		}
		if !waiting {
			return nil
		}
		if !w.Step() {
			return w.standstill()
		}
		w.look(true)
	}
	return errors.New("it does not come to an end")
}

// entered is how often each id has entered a round.
func (w *world) entered() map[string]int {
	sum := map[string]int{}
	for _, f := range w.faces {
		sum[f.id] += f.entered
	}
	return sum
}

func (w *world) standstill() error {
	text := "nothing can happen any more:"
	for _, f := range w.faces {
		if !f.dead {
			text += fmt.Sprintf(" %s in state %s, with %d wishes and %d passages;", f.actor, f.actor.Machine().(watched).Phase(), len(f.claims), len(f.passages))
		}
	}
	return errors.New(text)
}
