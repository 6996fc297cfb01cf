package recipe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/zktest"
)

// tree is a machine that watches /dir and all below it for as long as it is let.
type tree struct {
	requests machine.Requests[string]
	told     func(ev machine.Event)
}

func (m *tree) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.requests.Begin(ev.Epoch)
		m.requests.Ask(machine.Watch{Path: "/dir"}, "watch")
		return m.requests.Flush()
	case machine.Closing:
		return []machine.Effect{machine.Unwatch{Epoch: m.requests.Epoch(), Path: "/dir"}, machine.Stop{}}
	}
	if _, ok := m.requests.Accept(ev); !ok {
		return nil
	}
	m.told(ev)
	if ev, ok := ev.(machine.Fired); ok && ev.Change == machine.WatchRemoved {
		m.requests.Ask(machine.Watch{Path: "/dir"}, "watch")
	}
	return m.requests.Flush()
}

func TestAMachineWatchesATree(t *testing.T) {
	inBubble(t, func(g *ground) {
		events := make(chan string, 100)
		m := &tree{told: func(ev machine.Event) { events <- recipetest.Format(ev) }}
		want := func(all ...string) {
			g.Helper()
			synctest.Wait()
			for _, ev := range all {
				select {
				case got := <-events:
					require.Equal(g, ev, got)
				default:
					g.Fatalf("not told: %s", ev)
				}
			}
			require.Empty(g, events)
		}
		h := g.run(m.Step, nil)
		require.NoError(g, g.sess.Connect(g.ctx))
		want("Watched Epoch=1 Ask=1 Path=/dir")
		for _, path := range []string{"/dir", "/dir/a"} {
			_, err := g.sess.Create(g.ctx, path, nil)
			require.NoError(g, err)
		}
		require.NoError(g, g.sess.Delete(g.ctx, "/dir/a", -1))
		want("Fired Epoch=1 Path=/dir Change=created", "Fired Epoch=1 Path=/dir/a Change=created", "Fired Epoch=1 Path=/dir/a Change=deleted")
		g.srv.Disconnect(g.sess.Status().SessionID)
		time.Sleep(time.Second)
		want("Suspended Epoch=1", "Fired Epoch=1 Path=/dir Change=watch removed", "Resumed Epoch=1", "Watched Epoch=1 Ask=2 Path=/dir")
		_, err := g.sess.Set(g.ctx, "/dir", nil, -1)
		require.NoError(g, err)
		want("Fired Epoch=1 Path=/dir Change=data")
		require.NoError(g, h.Close(g.ctx))
		synctest.Wait()
		info, _ := g.srv.Session(g.sess.Status().SessionID)
		require.Zero(g, info.Watches)
	})
}

// Where ZooKeeper has no such watch, the machine is told.
func TestAMachineIsToldThatATreeCannotBeWatched(t *testing.T) {
	inBubble(t, func(g *ground) {
		g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpAddWatch {
				return zktest.Fail(zktest.ErrUnimplemented)
			}
			return zktest.Pass
		})
		answers := make(chan machine.Event, 1)
		h := g.run((&tree{told: func(ev machine.Event) { answers <- ev }}).Step, nil)
		require.NoError(g, g.sess.Connect(g.ctx))
		require.Equal(g, machine.Refused, (<-answers).(machine.Watched).Code)
		require.NoError(g, h.Close(g.ctx))
	})
}
