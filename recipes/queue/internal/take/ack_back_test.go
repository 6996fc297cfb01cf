package take_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

const claimed = bucket + "/taken-0000000001-0000000001-mememe1"

// taken begins a story: one item is held. It returns the timer of its visibility.
func taken(tr *recipetest.Trace) (timer uint64) {
	a := listed(tr, 1, name(1))
	c := asks(tr.Tell(seen(a[0], 1, "one", 0)))
	return wakes(tr.Tell(done(c[0], 2)))[0]
}

// TestTraceAckMeetsBack: each order of an acknowledgement and of what takes the item away. The
// acknowledgement is carried out, or answered with ErrLost: the success of giving back is not its
// own.
func TestTraceAckMeetsBack(t *testing.T) {
	t.Parallel()
	back := map[string]func(tr *recipetest.Trace, timer uint64) []machine.Effect{
		"visibility": func(tr *recipetest.Trace, timer uint64) []machine.Effect { return tr.Tell(machine.Woke{Ask: timer}) },
		"closing":    func(tr *recipetest.Trace, _ uint64) []machine.Effect { return tr.Tell(machine.Closing{}) },
		"over":       func(tr *recipetest.Trace, _ uint64) []machine.Effect { return tr.Tell(take.Over{No: 1}) },
		"loss": func(tr *recipetest.Trace, _ uint64) []machine.Effect {
			a := asks(tr.Tell(machine.EpochEnded{Epoch: 1}, machine.EpochBegan{Epoch: 2, SessionID: 8, Trusted: true}))
			if len(a) > 0 { // it looks for an item whose acknowledgement may have been carried out
				return tr.Tell(machine.Seen{Epoch: 2, Ask: a[0], Exists: true, Stat: machine.Stat{Version: 1}})
			}
			return nil
		},
		"delete": func(tr *recipetest.Trace, _ uint64) []machine.Effect {
			return tr.Tell(machine.Fired{Epoch: 1, Path: claimed, Change: machine.Deleted})
		},
	}
	ack := take.Settle{No: 1, How: take.Ack}
	for way, giveBack := range back {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			tr := story(t, take.Config{Visibility: 1000})

			tr.Say("The acknowledgement comes first: " + way + " finds it under way.")
			timer := taken(tr)
			effects := tr.Tell(ack)
			sent := asks(effects)
			effects = append(effects, giveBack(tr, timer)...)
			effects = append(effects, answered(tr, way, sent[0])...)
			if way == "loss" || way == "delete" {
				lost(t, effects)
			} else {
				require.Equal(t, []take.Settled{{No: 1}}, answers(effects))
			}
			tr.Compare("ack-before-" + way)

			tr = story(t, take.Config{Visibility: 1000})
			tr.Say(way + " comes first, and the acknowledgement while the item goes back.")
			timer = taken(tr)
			effects = giveBack(tr, timer)
			sent = asks(effects)
			effects = append(effects, tr.Tell(ack)...)
			if len(sent) > 0 {
				effects = append(effects, answered(tr, "", sent[len(sent)-1])...)
			}
			lost(t, effects)
			tr.Compare("ack-during-" + way)

			tr = story(t, take.Config{Visibility: 1000})
			tr.Say(way + " comes first, and the acknowledgement when the item is back.")
			timer = taken(tr)
			effects = giveBack(tr, timer)
			if sent = asks(effects); len(sent) > 0 {
				effects = append(effects, answered(tr, "", sent[len(sent)-1])...)
			}
			if way == "closing" { // it has ended
				require.Empty(t, answers(effects))
				return
			}
			lost(t, append(effects, tr.Tell(ack)...))
			tr.Compare("ack-after-" + way)
		})
	}
}

// The answer to giving back is lost, and the acknowledgement comes before it is known that the item
// is back: in a znode of its own, and in a pack.
func TestTraceAckMeetsBackInDoubt(t *testing.T) {
	t.Parallel()
	for kind, item := range map[string]string{"alone": name(1), "packed": pack(0, 1, 2)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tr := story(t, take.Config{Visibility: 1000})
			tr.Say("The answer to giving back is lost.")
			a := listed(tr, 1, item)
			c := asks(tr.Tell(machine.Seen{Epoch: 1, Ask: a[0], Exists: true, Data: []byte("1:a,1:b,")}))
			w := wakes(tr.Tell(done(c[0], 5)))
			effects := tr.Tell(machine.Woke{Ask: w[0]})
			effects = append(effects, tr.Tell(machine.Transacted{Epoch: 1, Ask: asks(effects)[0], Code: machine.Unknown, Failed: -1})...)
			effects = append(effects, tr.Tell(take.Settle{No: 1, How: take.Ack})...)
			tr.Say("It turns out to be carried out.")
			r := asks(effects)
			effects = append(effects, tr.Tell(machine.Seen{Epoch: 1, Ask: r[1], Path: claimed})...)
			lost(t, effects)
			tr.Compare("ack-in-doubt-" + kind)
		})
	}
}

// answered is the answer to a settlement after way: none with an epoch that is over, and a refusal
// when the claim is deleted.
func answered(tr *recipetest.Trace, way string, ask uint64) []machine.Effect {
	switch way {
	case "loss":
		return nil
	case "delete":
		return tr.Tell(machine.Transacted{Epoch: 1, Ask: ask, Code: machine.NoNode, Failed: 0})
	}
	return tr.Tell(done(ask, 2))
}

// answers are what the face is told of settlements.
func answers(effects []machine.Effect) []take.Settled {
	var all []take.Settled
	for _, e := range effects {
		if s, ok := e.(take.Settled); ok {
			all = append(all, s)
		}
	}
	return all
}

// lost asserts that there is one answer, and that it says that the item was lost.
func lost(t *testing.T, effects []machine.Effect) {
	t.Helper()
	all := answers(effects)
	require.Len(t, all, 1)
	require.ErrorIs(t, all[0].Err, take.ErrLost)
}
