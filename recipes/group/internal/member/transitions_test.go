package member_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
)

type step struct {
	from member.State
	on   string
	to   member.State
}

var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range member.Transitions() {
		set[step{tr.From, tr.On, tr.To}] = true
	}
	return set
}()

// watched checks each transition against the table.
type watched struct {
	*member.Machine
	take func(step)
}

func (m watched) Step(ev machine.Event) []machine.Effect {
	from := m.State()
	effects := m.Machine.Step(ev)
	s := step{from, reflect.TypeOf(ev).Name(), m.State()}
	if s.from != s.to && s.on != "EpochEnded" {
		if !declared[s] {
			panic(undeclared(fmt.Sprintf("undeclared: {%v, %q, %v}", s.from, s.on, s.to)))
		}
		if m.take != nil {
			m.take(s)
		}
	}
	return effects
}

type undeclared string

// TestTransitions: some schedules and the refusals take every transition that the table declares,
// and it declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Len(t, declared, len(member.Transitions()), "declared twice")
	taken := map[step]bool{}
	take := func(s step) { taken[s] = true }
	for n := range uint64(3000) {
		_, err := observed(rand.New(rand.NewPCG(n, 3)).IntN, take)
		require.NoError(t, err)
	}
	rights := errors.New("no rights")
	for _, events := range [][]machine.Event{
		{machine.Closing{}},
		{epoch, made(1), seen(2, "1", 7, 5), member.Updated{Number: 1, Data: []byte("2")}, failed(3, machine.NoNode), machine.Closing{}, machine.EpochEnded{Epoch: 1}},
		{epoch, machine.Transacted{Epoch: 1, Ask: 1, Code: machine.Refused, Err: rights}},
		{epoch, failed(1, machine.NoNode), machine.Ensured{Epoch: 1, Ask: 2, Code: machine.Refused, Err: rights}},
		{
			epoch, made(1), seen(2, "1", 7, 5),
			member.Updated{Number: 1, Data: []byte("2")},
			machine.Transacted{Epoch: 1, Ask: 3, Code: machine.Refused, Err: rights},
		},
	} {
		m := watched{member.New(member.Config{Path: "/g", ID: "ann", Data: []byte("1")}), take}
		for _, ev := range events {
			m.Step(ev)
		}
		require.Equal(t, member.Over, m.State())
	}
	for _, tr := range member.Transitions() {
		require.NotEmpty(t, tr.Why)
		assert.True(t, taken[step{tr.From, tr.On, tr.To}], "never taken: {%v, %q, %v}", tr.From, tr.On, tr.To)
	}
}
