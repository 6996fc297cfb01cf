package prio //nolint:testpackage // the machine and its phases are looked at from inside

// Schedules: four processes that want the lock, while everything goes wrong.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// user is the application of one process: it wants the lock again and again.
type user struct {
	mode  Mode
	claim uint64
	busy  bool // the claim is not gone: the face lets nobody else in
	wants bool // a claim stands
	holds bool
	token int64
	late  uint64 // the claim whose possession could not be made
}

// ward is a world of users.
type ward struct {
	*recipetest.World
	t     require.TestingT
	users map[*recipetest.Actor]*user
	last  int64 // token of the last writer
}

func newWard(t require.TestingT, choose func(n int) int) *ward {
	return &ward{World: recipetest.NewWorld(choose), t: t, users: map[*recipetest.Actor]*user{}}
}

func (w *ward) add(note func(from, to string), name string, mode Mode, priority int) {
	u := &user{mode: mode}
	a := w.Add(recipetest.Player{
		Name:     name,
		Machine:  func() machine.Machine { return &noting{newMachine("/l", mode, priority), note} },
		Standing: func() []machine.Event { return w.standing(u, name) },
		Perform:  func(a *recipetest.Actor, e machine.Effect) { w.perform(a, u, e) },
		Lapse: func(a *recipetest.Actor) {
			if u.holds {
				u.holds = false
				a.Tell(lapsed{u.claim})
			}
		},
	})
	w.users[a] = u
}

// noting reports transitions.
type noting struct {
	*lockMachine
	note func(from, to string)
}

func (n *noting) Step(ev machine.Event) []machine.Effect {
	from := n.Phase()
	effects := n.lockMachine.Step(ev)
	n.note(from, n.Phase())
	return effects
}

func (w *ward) standing(u *user, name string) []machine.Event {
	if !u.wants {
		u.busy = false // nothing is left of it
		return nil
	}
	return []machine.Event{want{Claim: u.claim, ID: name}}
}

func (w *ward) want(a *recipetest.Actor) {
	if u := w.users[a]; !u.busy {
		u.claim++
		u.busy, u.wants = true, true
		a.Tell(want{Claim: u.claim, ID: a.Name})
	}
}

func (w *ward) give(a *recipetest.Actor) {
	if u := w.users[a]; u.wants || u.holds {
		u.wants, u.holds = false, false
		a.Tell(give{u.claim})
	}
}

func (w *ward) perform(a *recipetest.Actor, u *user, e machine.Effect) {
	switch e := e.(type) {
	case granted:
		switch {
		case e.Claim != u.claim || !u.wants:
		case !a.Trusted(e.Epoch):
			u.late = e.Claim
			a.Tell(missed{e.Claim})
		default:
			w.grant(a, u, e)
		}
	case ended:
		if e.Claim == u.claim {
			u.holds = false
		}
	case gone:
		if e.Claim != u.claim {
			return
		}
		require.False(w.t, u.holds || u.wants && u.late != u.claim, "it is gone, and stands\n%s", w.Story())
		if u.busy = u.wants; u.wants { // granted, and over before it was had
			u.claim++
			a.Tell(want{Claim: u.claim, ID: a.Name})
		}
	case failed:
		require.Fail(w.t, "it failed", "%v\n%s", e.Err, w.Story())
	}
}

// grant is where two would hold what one may.
func (w *ward) grant(a *recipetest.Actor, u *user, e granted) {
	for other, o := range w.users {
		if other != a && o.holds && (o.mode == Write || u.mode == Write) {
			require.Fail(w.t, "two hold it", "%s and %s\n%s", a, other, w.Story())
		}
	}
	require.Greater(w.t, e.Token, w.last, "tokens grow\n%s", w.Story())
	if u.mode == Write {
		w.last = e.Token
	}
	u.wants, u.holds, u.token = false, true, e.Token
}

// play lets things happen at random, and then all come to rest: whoever wants it holds it in the
// end.
func (w *ward) play(steps int, pick func(n int) int) {
	for range steps {
		a := w.Actors()[pick(len(w.users))]
		switch pick(24) {
		case 0:
			a.Disconnect()
		case 1:
			a.Reconnect()
		case 2:
			a.Expire()
		case 3:
			a.Crash()
		case 4:
			a.Distrust()
		case 5:
			a.Entrust()
		case 6, 7, 8:
			w.want(a)
		case 9:
			w.give(a)
		case 10:
			if names := w.Children("/l/line"); len(names) > 0 {
				w.Delete("/l/line/" + names[pick(len(names))])
			}
		default:
			w.Step()
		}
	}
	for range 2 * len(w.users) {
		w.Heal()
		require.True(w.t, w.Settle(20_000), "it does not come to rest\n%s", w.Story())
		waiting := 0
		for _, a := range w.Actors() {
			if u := w.users[a]; u.holds {
				w.give(a)
			} else if u.wants {
				waiting++
			}
		}
		if waiting == 0 {
			break
		}
	}
	w.Heal()
	require.True(w.t, w.Settle(20_000))
	for a, u := range w.users {
		require.False(w.t, u.wants, "%s waits for ever\n%s", a, w.Story())
		if !u.holds {
			continue
		}
		w.give(a)
	}
	require.True(w.t, w.Settle(20_000))
	require.Empty(w.t, w.Children("/l/line"), "something is left\n%s", w.Story())
}

// cast adds the users of all schedules: two readers, two writers, one of them urgent.
func (w *ward) cast(note func(from, to string)) {
	w.add(note, "a", Read, 500)
	w.add(note, "b", Write, 500)
	w.add(note, "c", Read, 100)
	w.add(note, "d", Write, 10)
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "next") }
		w := newWard(r, pick)
		w.cast(func(from, to string) { note(t, from, to) })
		w.play(rapid.IntRange(0, 150).Draw(r, "steps"), pick)
	})
}

// schedules plays some without rapid, faster.
func schedules(t *testing.T, n int) {
	t.Helper()
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWard(t, r.IntN)
		w.cast(func(from, to string) { note(t, from, to) })
		w.play(r.IntN(200), r.IntN)
	}
}
