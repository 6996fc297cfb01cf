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
			if u := recover(); u != nil {
				c.Failf("%v\n%s", u, w.Story())
			}
		}()
		schedule(c, w)
	})
}

func TestMain(m *testing.M) { tier.Main(m) }

// user is the application of a member, with the part of package group that deals with the machine.
type user struct {
	actor  *recipetest.Actor
	id     string
	number uint64
	data   string
	told   member.Standing // by the machine
	dead   bool
	left   bool // it was told to leave
}

func (u *user) update(data string) {
	u.number++
	u.data = data
	u.actor.Tell(member.Updated{Number: u.number, Data: []byte(data)})
}

// standing is what a host tells a machine that was made anew.
func (u *user) standing() []machine.Event {
	events := []machine.Event{member.Updated{Number: u.number, Data: []byte(u.data)}}
	if u.left {
		events = append(events, machine.Closing{})
	}
	return events
}

func add(w *recipetest.World, id, data string) *user {
	u := &user{id: id, data: data}
	u.actor = w.Add(recipetest.Player{
		Name: id + "/" + data,
		Machine: func() machine.Machine {
			return member.New(member.Config{Path: "/g", ID: id, Data: []byte(u.data), Number: u.number})
		},
		Standing: u.standing,
		Perform: func(_ *recipetest.Actor, e machine.Effect) {
			if s, ok := e.(member.Standing); ok {
				u.told = s
			}
		},
	})
	return u
}

func schedule(c recipetest.Chance, w *recipetest.World) {
	users := []*user{add(w, "a", "a0"), add(w, "b", "b0")}
	if c.Pick(3) == 0 {
		users = append(users, add(w, "a", "again0"))
	}
	for n := range c.Pick(150) {
		u := users[c.Pick(len(users))]
		happenings := []struct {
			odds int
			do   func()
		}{
			{1, u.actor.Disconnect},
			{2, u.actor.Reconnect},
			{1, u.actor.Expire},
			{1, u.actor.Crash},
			{1, func() { u.mayDie(c) }},
			{1, w.Bury},
			{1, func() { u.mayLeave(c) }},
			{2, func() { u.update(fmt.Sprint(u.data[:1], n+1)) }},
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
	conclude(c, w, users)
}

func (u *user) mayDie(c recipetest.Chance) {
	if c.Pick(4) == 0 {
		u.actor.Kill()
		u.dead = true
	}
}

func (u *user) mayLeave(c recipetest.Chance) {
	if c.Pick(4) == 0 && !u.left {
		u.left = true
		u.actor.Tell(machine.Closing{})
	}
}

// conclude fails unless each member that lives is registered, with its latest data, and no other.
func conclude(c recipetest.Chance, w *recipetest.World, users []*user) {
	present := map[string]string{} // the data of each id
	for _, u := range users {
		stopped, why := u.actor.Stopped()
		switch {
		case u.dead:
		case u.left && !stopped:
			c.Failf("%s does not leave, in state %v", u.id, u.told.State)
		case stopped && why != nil && !errors.Is(why, member.ErrDuplicate):
			c.Failf("%v", why)
		case stopped && why != nil && len(users) < 3:
			c.Failf("%s: no other has had the id: %v", u.id, why)
		case stopped && why == nil && !u.left:
			c.Failf("%s has ended for no reason", u.id)
		case stopped:
		case u.told.State != member.Present || u.told.Written != u.number:
			c.Failf("%s is %v, with data %d of %d", u.id, u.told.State, u.told.Written, u.number)
		case present[u.id] != "":
			c.Failf("%s is there twice", u.id)
		default:
			present[u.id] = u.data
			if got := string(w.Data("/g/" + u.id)); got != u.data {
				c.Failf("%s has data %q, not %q", u.id, got, u.data)
			}
		}
	}
	for _, name := range w.Children("/g") {
		if present[name] == "" {
			c.Failf("%s is left behind", name)
		}
	}
}
