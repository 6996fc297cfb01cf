package consume_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// taker is a consumer that does nothing by itself: a test tells what it is to do.
type taker struct {
	actor *recipetest.Actor
	got   []machine.Effect
	acks  bool // it receives and acknowledges each item at once
}

func (w *world) addTaker(cfg consume.Config, wrap ...func(machine.Machine) machine.Machine) *taker {
	c := &taker{}
	cfg.Root, cfg.Dead = root, graves
	if cfg.GUID == "" {
		cfg.GUID = "taker"
	}
	c.actor = w.Add(recipetest.Player{
		Name: cfg.GUID,
		Machine: func() machine.Machine {
			var m machine.Machine = consume.New(cfg)
			for _, f := range wrap {
				m = f(m)
			}
			return m
		},
		Perform: func(a *recipetest.Actor, e machine.Effect) {
			c.got = append(c.got, e)
			if d, ok := e.(consume.Deliver); ok && c.acks {
				a.Tell(consume.Received{No: d.No})
				a.Tell(consume.Settle{No: d.No, How: consume.Ack})
			}
		},
	})
	return c
}

// last is what was delivered last.
func (c *taker) last() consume.Deliver {
	for _, e := range slices.Backward(c.got) {
		if d, ok := e.(consume.Deliver); ok {
			return d
		}
	}
	return consume.Deliver{}
}

// take waits for the next item.
func (w *world) take(t *testing.T, c *taker) consume.Deliver {
	t.Helper()
	before := c.last().No
	w.until(t, func() bool { return c.last().No > before })
	return c.last()
}

// told waits for what the machine tells next.
func (w *world) told(t *testing.T, c *taker) machine.Effect {
	t.Helper()
	before := len(c.got)
	w.until(t, func() bool { return len(c.got) > before })
	return c.got[before]
}

func (c *taker) stopped() bool {
	over, _ := c.actor.Stopped()
	return over
}

// until lets things happen until something is so.
func (w *world) until(t *testing.T, so func() bool) {
	t.Helper()
	for range 2000 {
		if so() {
			return
		}
		require.False(t, w.Settle(1), "it comes to rest")
		w.inspect()
	}
	require.Fail(t, "it does not come")
}
