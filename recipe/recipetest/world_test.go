package recipetest_test

// The world: the order of a MultiRead, and refused requests. The schedules of the recipes test the
// rest.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// asker is a machine that emits the effects that it is told to, and records the answers.
type asker struct{ answers []machine.Event }

func (a *asker) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan, machine.EpochEnded, machine.Suspended, machine.Resumed:
		return nil
	case machine.MultiRead, machine.Transact, machine.List, machine.Read, machine.Ensure:
		return []machine.Effect{ev}
	}
	a.answers = append(a.answers, ev)
	return nil
}

// everyOrder plays a story once for each possible sequence of choices. chosen are those of a play,
// of so many each; for the next play the last one that is not at its end is counted up.
func everyOrder(play func(choose func(n int) int)) {
	var chosen, of []int
	for {
		made := 0
		play(func(n int) int {
			if made == len(chosen) {
				chosen, of = append(chosen, 0), append(of, n)
			}
			made++
			return chosen[made-1]
		})
		last := len(chosen) - 1
		for ; last >= 0 && chosen[last] == of[last]-1; last-- {
			chosen, of = chosen[:last], of[:last]
		}
		if last < 0 {
			return
		}
		chosen[last]++
	}
}

// Other processes may write between two queries of a MultiRead, and no answer is older than one
// before it.
func TestAMultiReadSeesNothingOlder(t *testing.T) {
	t.Parallel()
	saw := map[[2]int]bool{}
	everyOrder(func(choose func(n int) int) {
		w := recipetest.NewWorld(choose)
		reader := &asker{}
		r := w.Add(recipetest.Player{Name: "reader", Machine: func() machine.Machine { return reader }})
		writer := w.Add(recipetest.Player{Name: "writer", Machine: func() machine.Machine { return &asker{} }})
		require.True(t, w.Settle(100))
		r.Tell(machine.MultiRead{Epoch: 1, Ask: 7, Queries: []machine.Query{{Path: "/a"}, {Path: "/a", Children: true}, {Path: "/none"}}})
		writer.Tell(machine.Transact{Epoch: 1, Ask: 1, Ops: []machine.Op{{Do: machine.Create, Path: "/a"}, {Do: machine.Create, Path: "/a/b"}}})
		for range choose(9) { // all is done after eight steps, or earlier
			w.Step()
		}
		if lost := choose(2) == 1; lost {
			r.Disconnect()
			r.Reconnect()
		}
		require.True(t, w.Settle(100))
		require.Len(t, reader.answers, 1)
		l := reader.answers[0].(machine.MultiSeen)
		require.Len(t, l.Answers, 3)
		seen, listed := l.Answers[0].(machine.Seen), l.Answers[1].(machine.Listed)
		require.Equal(t, []uint64{7, 7, 7}, []uint64{l.Ask, seen.Ask, listed.Ask})
		require.Zero(t, listed.Stat)
		require.False(t, l.Answers[2].(machine.Seen).Exists)
		outcome := [2]int{0, len(listed.Names)}
		if seen.Exists {
			outcome[0] = 1
		}
		saw[outcome] = true
	})
	require.Equal(t, map[[2]int]bool{{0, 0}: true, {0, 1}: true, {1, 1}: true}, saw)
}

func TestFormatOfAMultiRead(t *testing.T) {
	t.Parallel()
	require.Equal(t, "MultiRead Ask=1 Queries=[read /a list /b]", recipetest.Format(machine.MultiRead{Ask: 1, Queries: []machine.Query{{Path: "/a"}, {Path: "/b", Children: true}}}))
	require.Equal(t, `MultiSeen Ask=1 Answers=[Seen Path=/a Exists=true Data="x" | Listed Path=/b Names=[c]]`, recipetest.Format(machine.MultiSeen{
		Ask: 1, Answers: []machine.Event{machine.Seen{Path: "/a", Exists: true, Data: []byte("x")}, machine.Listed{Path: "/b", Names: []string{"c"}}},
	}))
}

// Requests for a barred znode are refused to all processes, and transactions with an operation on
// it.
func TestBar(t *testing.T) {
	w := recipetest.NewWorld(func(int) int { return 0 })
	m := &asker{}
	a := w.Add(recipetest.Player{Name: "a", Machine: func() machine.Machine { return m }})
	require.True(t, w.Settle(100))
	ask := func(r machine.Event) machine.Event {
		a.Tell(r)
		require.True(t, w.Settle(100))
		return m.answers[len(m.answers)-1]
	}
	create := machine.Transact{Epoch: 1, Ops: []machine.Op{{Do: machine.Create, Path: "/b"}, {Do: machine.Create, Path: "/a/x"}}}
	require.NoError(t, ask(machine.Ensure{Epoch: 1, Path: "/a"}).(machine.Ensured).Err)
	w.Bar("/a")
	require.Equal(t, machine.Refused, ask(machine.Read{Epoch: 1, Path: "/a"}).(machine.Seen).Code)
	require.Equal(t, machine.Refused, ask(machine.List{Epoch: 1, Path: "/a"}).(machine.Listed).Code)
	require.Equal(t, machine.Refused, ask(machine.Ensure{Epoch: 1, Path: "/a/y"}).(machine.Ensured).Code)
	refused := ask(create).(machine.Transacted)
	require.Equal(t, []any{machine.Refused, 1, recipetest.ErrRefused}, []any{refused.Code, refused.Failed, refused.Err})
	w.Unbar()
	require.Equal(t, machine.Done, ask(create).(machine.Transacted).Code)
}

// A transaction that is too large is refused as a whole.
func TestTooLarge(t *testing.T) {
	w := recipetest.NewWorld(func(int) int { return 0 })
	m := &asker{}
	a := w.Add(recipetest.Player{Name: "a", Machine: func() machine.Machine { return m }})
	require.True(t, w.Settle(100))
	a.Tell(machine.Transact{Epoch: 1, Ops: []machine.Op{{Do: machine.Create, Path: "/a", Data: make([]byte, 1<<20)}}})
	require.True(t, w.Settle(100))
	refused := m.answers[0].(machine.Transacted)
	require.Equal(t, []any{machine.Refused, -1}, []any{refused.Code, refused.Failed})
}
