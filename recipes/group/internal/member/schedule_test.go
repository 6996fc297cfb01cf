package member_test

// The member's decisions in random schedules of faults.

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
)

// Members come, go, die and fail in any order. In the end each that lives is registered with its
// latest data; of two with one id one is, and the other knows. A failure names its schedule and
// tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(3000, 30000), func(c recipetest.Chance) {
		w := recipetest.NewWorld(c.Pick)
		defer func() {
			if f := recover(); f != nil {
				c.Failf("%v\n%s", f, w.Story())
			}
		}()
		schedule(c, w)
	})
}

func TestMain(m *testing.M) { tier.Main(m) }

// face is a member's user: what package group does, without goroutines.
type face struct {
	actor  *recipetest.Actor
	id     string
	number uint64
	data   string
	told   member.Standing
	dead   bool
	left   bool
}

func (f *face) update(data string) {
	f.number++
	f.data = data
	f.actor.Tell(member.Updated{Number: f.number, Data: []byte(data)})
}

// standing is what a host tells a machine that was made anew.
func (f *face) standing() []machine.Event {
	events := []machine.Event{member.Updated{Number: f.number, Data: []byte(f.data)}}
	if f.left {
		events = append(events, machine.Closing{})
	}
	return events
}

func add(w *recipetest.World, id, data string) *face {
	f := &face{id: id, data: data}
	f.actor = w.Add(recipetest.Player{
		Name: id + "/" + data,
		Machine: func() machine.Machine {
			return member.New(member.Config{Path: "/g", ID: id, Data: []byte(f.data), Number: f.number})
		},
		Standing: f.standing,
		Perform: func(_ *recipetest.Actor, e machine.Effect) {
			if s, ok := e.(member.Standing); ok {
				f.told = s
			}
		},
	})
	return f
}

func schedule(c recipetest.Chance, w *recipetest.World) {
	faces := []*face{add(w, "a", "a0"), add(w, "b", "b0")}
	if c.Pick(3) == 0 {
		faces = append(faces, add(w, "a", "again0"))
	}
	for n := range c.Pick(150) {
		f := faces[c.Pick(len(faces))]
		happenings := []struct {
			odds int
			do   func()
		}{
			{1, f.actor.Disconnect},
			{2, f.actor.Reconnect},
			{1, f.actor.Expire},
			{1, f.actor.Crash},
			{1, func() { f.mayDie(c) }},
			{1, w.Bury},
			{1, func() { f.mayLeave(c) }},
			{2, func() { f.update(fmt.Sprint(f.data[:1], n+1)) }},
			{14, func() { w.Step() }},
		}
		drawn := c.Pick(24) // the sum of the odds
		for _, h := range happenings {
			if drawn -= h.odds; drawn < 0 {
				h.do()
				break
			}
		}
	}
	w.Bury()
	w.Heal()
	if !w.Settle(20000) {
		c.Failf("it does not come to rest")
	}
	conclude(c, w, faces)
}

func (f *face) mayDie(c recipetest.Chance) {
	if c.Pick(4) == 0 {
		f.actor.Kill()
		f.dead = true
	}
}

func (f *face) mayLeave(c recipetest.Chance) {
	if c.Pick(4) == 0 && !f.left {
		f.left = true
		f.actor.Tell(machine.Closing{})
	}
}

// conclude fails unless each member that lives is registered, with its latest data, and no other.
func conclude(c recipetest.Chance, w *recipetest.World, faces []*face) {
	present := map[string]string{} // the data of each id
	for _, f := range faces {
		stopped, why := f.actor.Stopped()
		switch {
		case f.dead:
		case f.left && !stopped:
			c.Failf("%s does not leave, in state %v", f.id, f.told.State)
		case stopped && why != nil && !errors.Is(why, member.ErrDuplicate):
			c.Failf("%v", why)
		case stopped && why != nil && len(faces) < 3:
			c.Failf("%s: no other has had the id: %v", f.id, why)
		case stopped && why == nil && !f.left:
			c.Failf("%s has ended for no reason", f.id)
		case stopped:
		case f.told.State != member.Present || f.told.Written != f.number:
			c.Failf("%s is %v, with data %d of %d", f.id, f.told.State, f.told.Written, f.number)
		case present[f.id] != "":
			c.Failf("%s is there twice", f.id)
		default:
			present[f.id] = f.data
			if got := string(w.Data("/g/" + f.id)); got != f.data {
				c.Failf("%s has data %q, not %q", f.id, got, f.data)
			}
		}
	}
	for _, name := range w.Children("/g") {
		if present[name] == "" {
			c.Failf("%s is left behind", name)
		}
	}
}
