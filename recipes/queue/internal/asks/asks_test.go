package asks_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/asks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnswersFindWhoAsked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(epoch, ask uint64) machine.Event{
		"listed":     func(epoch, ask uint64) machine.Event { return machine.Listed{Epoch: epoch, Ask: ask} },
		"seen":       func(epoch, ask uint64) machine.Event { return machine.Seen{Epoch: epoch, Ask: ask} },
		"transacted": func(epoch, ask uint64) machine.Event { return machine.Transacted{Epoch: epoch, Ask: ask} },
		"ensured":    func(epoch, ask uint64) machine.Event { return machine.Ensured{Epoch: epoch, Ask: ask} },
		"removed":    func(epoch, ask uint64) machine.Event { return machine.Removed{Epoch: epoch, Ask: ask} },
	} {
		b := asks.New()
		var got []machine.Event
		take := func(ev machine.Event) []machine.Effect {
			got = append(got, ev)
			return []machine.Effect{machine.Stop{}}
		}
		one, two := b.Note(take), b.Note(take)
		require.NotEqual(t, one, two, name)
		require.NotEqual(t, two, b.Number(), name)
		require.Equal(t, 2, b.Len(), name)
		require.Nil(t, b.Answer(answer(8, one), 7), "of another epoch")
		require.Nil(t, b.Answer(answer(7, two+7), 7), "nobody has asked")
		require.Len(t, b.Answer(answer(7, two), 7), 1, name)
		require.Nil(t, b.Answer(answer(7, two), 7), "answered twice")
		require.Equal(t, []machine.Event{answer(7, two)}, got, name)
		b.Drop(one)
		require.Nil(t, b.Answer(answer(7, one), 7), "dropped")
		b.Note(take)
		b.Clear()
		require.Zero(t, b.Len(), name)
	}
	b := asks.New()
	ask := b.Note(func(machine.Event) []machine.Effect { return []machine.Effect{machine.Stop{}} })
	require.Nil(t, b.Answer(machine.Closing{}, 1), "no answer at all")
	require.Len(t, b.Answer(machine.Woke{Ask: ask}, 1), 1)
}
