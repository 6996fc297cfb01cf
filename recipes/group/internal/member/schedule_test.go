package member_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
)

// TestSchedules runs many schedules fast. A failure names its schedule and tells its story.
func TestSchedules(t *testing.T) {
	t.Parallel()
	recipetest.Schedules(t, tier.Count(400, 4000), judged)
}

// TestRapid runs schedules that rapid can shrink.
func TestRapid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		recipetest.Schedule(rt, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }, judged)
	})
}

// judged is a schedule that fails with its story.
func judged(c recipetest.Chance) {
	if story, err := schedule(c.Pick); err != nil {
		c.Failf("%v\n%s", err, story)
	}
}

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
	wishes := []machine.Event{member.Updated{Number: f.number, Data: []byte(f.data)}}
	if f.left {
		wishes = append(wishes, machine.Closing{})
	}
	return wishes
}

func add(w *recipetest.World, id, data string, take func(step)) *face {
	f := &face{id: id, data: data}
	f.actor = w.Add(recipetest.Player{
		Name: id + "/" + data,
		Machine: func() machine.Machine {
			return watched{member.New(member.Config{Path: "/g", ID: id, Data: []byte(f.data), Number: f.number}), take}
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

// schedule lets members come, go, die and fail in any order. In the end each that lives is
// registered with its latest data; of two with one id one is, and the other knows.
func schedule(choose func(n int) int) (story string, err error) { return observed(choose, nil) }

// observed is schedule, which tells of each transition.
func observed(choose func(n int) int, take func(step)) (story string, err error) {
	w := recipetest.NewWorld(choose)
	defer func() {
		switch u := recover().(type) {
		case nil:
		case undeclared:
			story, err = w.Story(), errors.New(string(u))
		default:
			story, err = w.Story(), fmt.Errorf("panic: %v", u)
		}
	}()
	faces := []*face{add(w, "a", "a0", take), add(w, "b", "b0", take)}
	if choose(3) == 0 {
		faces = append(faces, add(w, "a", "again0", take))
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
		return w.Story(), errors.New("it does not come to rest")
	}
	if err := conclude(w, faces); err != nil {
		return w.Story(), err
	}
	return "", nil
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
