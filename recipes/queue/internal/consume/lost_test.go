package consume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// loser loses the answer to one transaction of a machine: to the first with such an operation,
// carried out or not.
type loser struct {
	machine.Machine
	actor   func() *recipetest.Actor
	what    string
	carried bool
	ask     uint64
}

func (l *loser) Step(ev machine.Event) []machine.Effect {
	if t, ok := ev.(machine.Transacted); ok && t.Ask == l.ask && l.ask != 0 && t.Code == machine.Done {
		ev = machine.Transacted{Epoch: t.Epoch, Ask: t.Ask, Failed: -1, Code: machine.Unknown}
	}
	effects := l.Machine.Step(ev)
	for n, e := range effects {
		t, ok := e.(machine.Transact)
		if !ok || l.ask != 0 || !strings.Contains(fmt.Sprint(t.Ops), l.what) {
			continue
		}
		l.ask = t.Ask
		if !l.carried {
			effects[n] = machine.Wake{Ask: 1 << 60, After: 1} // nothing
			l.actor().Tell(machine.Transacted{Epoch: t.Epoch, Ask: t.Ask, Failed: -1, Code: machine.Unknown})
		}
	}
	return effects
}

// Whatever transaction's answer is lost, carried out or not: each item is acknowledged once, and
// nothing is left.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{
		"claim": "set /q/cursor", "ack": "delete /q/work/ready-0-0000000000/", "give back": "create /q/work/returned/",
		"sign": "create /q/journal/", "join": "create /q/line/", "move": "delete /q/work/later-", "inherit": "delete /q/journal/dead-1",
		"claim what came back": "delete /q/work/returned/", "leave": "delete /q/line/", "last": "delete /q/journal/taker-1",
	} {
		for _, carried := range []bool{true, false} {
			lostAnswer(t, fmt.Sprintf("%s, %v", name, carried), what, carried)
		}
	}
}

func lostAnswer(t *testing.T, name, what string, carried bool) {
	t.Helper()
	w := newStory(0)
	dead := w.addTaker(consume.Config{GUID: "dead", Stream: true})
	w.producers[0].Tell(produce{1, 0})
	w.take(t, dead)
	l := &loser{what: what, carried: carried}
	c := w.addTaker(consume.Config{Stream: true, Workers: 2}, func(m machine.Machine) machine.Machine {
		l.Machine = m
		return l
	})
	l.actor = func() *recipetest.Actor { return c.actor }
	dead.actor.Kill()
	w.Bury()
	w.producers[0].Tell(produce{2, 0})
	w.producers[0].Tell(produce{1, 1000})
	settled, how := 0, consume.Nack // the first goes back, and comes again
	for n := 0; settled < 5; n++ {
		require.Less(t, n, 3000, "%s: it hangs", name)
		w.Settle(1)
		w.inspect()
		for ; len(c.got) > 0; c.got = c.got[1:] {
			switch e := c.got[0].(type) {
			case consume.Deliver:
				c.actor.Tell(consume.Received{No: e.No})
				c.actor.Tell(consume.Settle{No: e.No, How: how})
				how = consume.Ack
			case consume.Settled:
				require.NoError(t, e.Err, name)
				settled++
			}
		}
	}
	c.actor.Tell(machine.Closing{})
	w.until(t, c.stopped)
	require.NotZero(t, l.ask, name)
	for _, dir := range []string{"/q/journal", "/q/work/alive", "/q/line"} {
		require.Empty(t, w.Children(dir), "%s: %s", name, dir)
	}
}
