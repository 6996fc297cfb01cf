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
		if err := schedule(w, c.Pick); err != nil {
			c.Failf("%v\n%s", err, w.Story())
		}
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

func schedule(w *recipetest.World, choose func(n int) int) (err error) {
	defer func() {
		if u := recover(); u != nil {
			err = fmt.Errorf("panic: %v", u)
		}
	}()
	faces := []*face{add(w, "a", "a0"), add(w, "b", "b0")}
	if choose(3) == 0 {
		faces = append(faces, add(w, "a", "again0"))
	}
	for n := range choose(150) {
		f := faces[choose(len(faces))]
		switch choose(24) {
		case 0:
			f.actor.Disconnect()
		case 1, 2:
			f.actor.Reconnect()
		case 3:
			f.actor.Expire()
		case 4:
			f.actor.Crash()
		case 5:
			if choose(4) == 0 {
				f.actor.Kill()
				f.dead = true
			}
		case 6:
			w.Bury()
		case 7:
			if choose(4) == 0 && !f.left {
				f.left = true
				f.actor.Tell(machine.Closing{})
			}
		case 8, 9:
			f.update(fmt.Sprint(f.data[:1], n+1))
		default:
			w.Step()
		}
	}
	w.Bury()
	w.Heal()
	if !w.Settle(20000) {
		return errors.New("it does not come to rest")
	}
	return conclude(w, faces)
}

func conclude(w *recipetest.World, faces []*face) error {
	standing := map[string]string{}
	for _, f := range faces {
		stopped, why := f.actor.Stopped()
		switch {
		case f.dead:
		case f.left && !stopped:
			return fmt.Errorf("%s does not leave, in state %v", f.id, f.told.State)
		case stopped && why != nil && !errors.Is(why, member.ErrDuplicate):
			return why
		case stopped && why != nil && len(faces) < 3:
			return fmt.Errorf("%s: no other has had the id: %w", f.id, why)
		case stopped && why == nil && !f.left:
			return fmt.Errorf("%s has ended for no reason", f.id)
		case stopped:
		case f.told.State != member.Present || f.told.Written != f.number:
			return fmt.Errorf("%s is %v, with data %d of %d", f.id, f.told.State, f.told.Written, f.number)
		case standing[f.id] != "":
			return fmt.Errorf("%s is there twice", f.id)
		default:
			standing[f.id] = f.data
		}
	}
	for id, data := range standing {
		if got := string(w.Data("/g/" + id)); got != data {
			return fmt.Errorf("%s has data %q, not %q", id, got, data)
		}
	}
	for _, name := range w.Children("/g") {
		if standing[name] == "" {
			return fmt.Errorf("%s is left behind", name)
		}
	}
	return nil
}
