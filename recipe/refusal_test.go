package recipe_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
)

// scripted is a machine that answers an event with what a test says.
type scripted func(ev machine.Event) []machine.Effect

func (s scripted) Step(ev machine.Event) []machine.Effect { return s(ev) }

// run starts an instance of a scripted machine, without anything that performs effects of its own.
func (g *ground) run(s scripted, ended func(error)) *recipe.Host {
	g.Helper()
	h, err := recipe.New(recipe.Config{
		Session: g.sess, Kind: "script", Path: "/script", Machine: func() machine.Machine { return s }, Ended: ended,
	})
	require.NoError(g, err)
	return h
}

var errStuck = errors.New("stuck")

// stops is a machine that ends with an error when it is closed.
func stops(ev machine.Event) []machine.Effect {
	if _, ok := ev.(machine.Closing); ok {
		return []machine.Effect{machine.Stop{Err: errStuck}}
	}
	return nil
}

func TestCloseReturnsTheErrorThatTheMachineEndsWith(t *testing.T) {
	inBubble(t, func(g *ground) {
		h := g.run(stops, nil)
		require.ErrorIs(g, h.Close(g.ctx), errStuck)
		require.ErrorIs(g, h.Err(), errStuck)
		require.NoError(g, h.Close(g.ctx), "it is over already")
	})
}

func TestAnInstanceIsOverAlsoIfTheRecipePanicsThere(t *testing.T) {
	inBubble(t, func(g *ground) {
		h := g.run(stops, func(error) { panic("in Ended") })
		require.ErrorIs(g, h.Close(g.ctx), errStuck)
		select {
		case <-h.Done():
		case <-time.After(time.Minute):
			g.Fatal("not done")
		}
	})
}

// What nobody carries out is told, not dropped: the machine would wait for an answer for ever.
func TestAnEffectThatNobodyCarriesOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect machine.Effect
		want   string
	}{
		"of claims":       {machine.Settle{Claim: 1}, "machine.Settle is for a machine that is run with NewClaims"},
		"of the recipe":   {planted{}, "nobody performs recipe_test.planted"},
		"a pointer to it": {&machine.Read{}, "nobody performs *machine.Read"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				h := g.run(func(machine.Event) []machine.Effect { return []machine.Effect{c.effect} }, nil)
				require.True(g, h.Tell(plant{}))
				select {
				case <-h.Done():
				case <-time.After(time.Hour):
					g.Fatal("not told")
				}
				require.ErrorContains(g, h.Err(), c.want)
			})
		})
	}
}
