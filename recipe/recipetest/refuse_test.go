package recipetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// A znode that is barred is refused to everybody, and of a transaction the operation on it.
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

// A transaction that no server accepts is refused as a whole.
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
