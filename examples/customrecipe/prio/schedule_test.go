package prio //nolint:testpackage // the machine and its phases are unexported

// Schedules: several processes want the lock, with random faults.

import (
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// user is the application of one process. It acquires the lock once.
type user struct {
	*recipetest.Actor
	had   bool // it got the lock
	holds bool
	path  string // of what it holds
	given bool   // it has given up, or released
}

// crowd is a World with users, and the checks of a schedule.
type crowd struct {
	*recipetest.World
	recipetest.Chance
	users   []*user
	last    int64           // the last token
	deleted map[string]bool // by hand: the holder of one of these is not told, and its Commit fails
	note    func(from, to phase)
}

// noting reports transitions.
type noting struct {
	*lockMachine
	note func(from, to phase)
}

func (n *noting) Step(ev machine.Event) []machine.Effect {
	from := n.phase
	effects := n.lockMachine.Step(ev)
	n.note(from, n.phase)
	return effects
}

// come adds a user with one of four priorities.
func (c *crowd) come() {
	name := fmt.Sprintf("u%d", len(c.users))
	priority := []int{500, 500, 100, 10}[c.Pick(4)]
	u := &user{}
	c.users = append(c.users, u)
	u.Actor = c.Add(recipetest.Player{
		Name:    name,
		Machine: func() machine.Machine { return &noting{newMachine("/l", priority, name), c.note} },
		Standing: func() []machine.Event { // as Grant.standing, and what the host says again
			switch {
			case u.given:
				return []machine.Event{machine.Closing{}}
			case u.had:
				return nil
			}
			return []machine.Event{want{}}
		},
		Perform: func(_ *recipetest.Actor, e machine.Effect) { c.perform(u, e) },
		Lapse: func(a *recipetest.Actor) {
			if u.holds {
				u.holds = false
				a.Tell(lapsed{})
			}
		},
	})
	u.Tell(want{})
}

func (c *crowd) perform(u *user, e machine.Effect) {
	if g, is := e.(granted); is && !u.had && !u.given && u.Trusted(g.Epoch) {
		c.grant(u, g)
	}
}

// grant checks that no other user holds.
func (c *crowd) grant(u *user, e granted) {
	for _, o := range c.users {
		if o.holds && !c.deleted[o.path] && !c.deleted[e.Path] {
			c.Failf("%s and %s hold it\n%s", o, u, c.Story())
		}
	}
	if e.Token <= c.last && !c.deleted[e.Path] {
		c.Failf("token %d after %d\n%s", e.Token, c.last, c.Story())
	}
	u.had, u.holds, u.path, c.last = true, true, e.Path, max(c.last, e.Token)
}

func (c *crowd) leave(u *user) {
	if !u.given {
		u.given, u.holds = true, false
		u.Tell(machine.Closing{})
	}
}

// play lets things happen at random, and then without faults: every user that wants the lock gets
// it, and nothing is left.
func (c *crowd) play(steps int) {
	c.come()
	for range steps {
		u := c.users[c.Pick(len(c.users))]
		switch c.Pick(24) {
		case 0:
			u.Disconnect()
		case 1:
			u.Reconnect()
		case 2:
			u.Expire()
		case 3:
			u.Crash()
		case 4:
			u.Distrust()
		case 5:
			u.Entrust()
		case 6, 7:
			c.come()
		case 8:
			c.leave(u)
		case 9:
			if names := c.Children("/l"); len(names) > 0 {
				path := "/l/" + names[c.Pick(len(names))]
				c.deleted[path] = true
				c.Delete(path)
			}
		default:
			c.Step()
		}
	}
	for range c.users {
		c.rest()
		for _, u := range c.users {
			if u.had {
				c.leave(u)
			}
		}
	}
	c.rest()
	for _, u := range c.users {
		if stopped, err := u.Stopped(); !stopped || err != nil || !u.had && !u.given {
			c.Failf("%s waits for ever, or has failed: %v\n%s", u, err, c.Story())
		}
	}
	if left := c.Children("/l"); len(left) > 0 {
		c.Failf("left: %v\n%s", left, c.Story())
	}
}

func (c *crowd) rest() {
	c.Heal()
	if !c.Settle(20_000) {
		c.Failf("it does not come to rest\n%s", c.Story())
	}
}

func schedules(t *testing.T, tk *taken) {
	t.Helper()
	recipetest.Schedules(t, 300, func(chance recipetest.Chance) {
		c := &crowd{World: recipetest.NewWorld(chance.Pick), Chance: chance, deleted: make(map[string]bool)}
		c.note = func(from, to phase) { tk.note(failing{chance}, from, to) }
		c.play(chance.Pick(200))
	})
}

// failing is the T of one schedule.
type failing struct{ recipetest.Chance }

func (failing) Helper()                             {}
func (f failing) Logf(format string, args ...any)   { f.Log(format, args...) }
func (f failing) Fatalf(format string, args ...any) { f.Failf(format, args...) }
