package recipe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// A machine is answered to each query of a look what it is answered to the same read alone, but for
// the Stat of a listing.
func TestALook(t *testing.T) {
	inBubble(t, func(g *ground) {
		_, err := g.sess.Create(g.ctx, "/dir", []byte("x"))
		require.NoError(g, err)
		_, err = g.sess.Create(g.ctx, "/dir/closed", nil, session.NodeACL(session.AnyoneACL(session.PermWrite)...))
		require.NoError(g, err)
		queries := []machine.Query{
			{Path: "/dir"}, {Path: "/dir", Children: true}, {Path: "/none"}, {Path: "/none", Children: true}, {Path: "/dir/closed"}, {Path: ""},
		}
		looked := make(chan machine.Looked, 2)
		alone := make(map[int]machine.Event)
		var requests machine.Requests[int]
		step := func(ev machine.Event) {
			key, _ := requests.Accept(ev)
			switch ev := ev.(type) {
			case machine.EpochBegan:
				requests.Begin(ev.Epoch)
				for i, q := range queries {
					if q.Children {
						requests.Ask(machine.List{Path: q.Path}, i)
					} else {
						requests.Ask(machine.Read{Path: q.Path}, i)
					}
				}
			case machine.Seen:
				ev.Ask = 0
				alone[key] = ev
			case machine.Listed:
				ev.Ask, ev.Stat = 0, machine.Stat{}
				alone[key] = ev
			case machine.Looked:
				looked <- ev
			case machine.Closing:
				requests.Emit(machine.Stop{})
			}
			if len(alone) == len(queries) && requests.Last() == uint64(len(queries)) {
				requests.Ask(machine.Look{Queries: queries}, 0)
				requests.Ask(machine.Look{}, 1)
			}
		}
		h := g.run(func(ev machine.Event) []machine.Effect {
			step(ev)
			return requests.Flush()
		}, nil)
		both := map[int]machine.Looked{}
		for range 2 {
			l := <-looked
			both[len(l.Answers)] = l
		}
		require.Contains(g, both, 0, "a look at nothing is answered too")
		l := both[len(queries)]
		for i, a := range l.Answers {
			switch a := a.(type) {
			case machine.Seen:
				require.Equal(g, l.Ask, a.Ask)
				a.Ask = 0
				require.Equal(g, alone[i], a)
			case machine.Listed:
				require.Equal(g, l.Ask, a.Ask)
				a.Ask = 0
				require.Equal(g, alone[i], a)
			}
		}
		require.Equal(g, machine.Refused, l.Answers[4].(machine.Seen).Code)
		require.NoError(g, h.Close(g.ctx))
	})
}
