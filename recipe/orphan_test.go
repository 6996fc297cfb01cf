package recipe_test

// Sequential znodes whose create had an unknown outcome when the actor crashed: they are found by
// the GUIDs in their names. Helpers: harness_test.go; the sitter is in machines_test.go.

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// sitting starts an instance of a sitter, and returns the answers that it gets.
func (g *ground) sitting(head, data string, lost func() []machine.Effect) (*recipe.Host, *[]machine.Transacted) {
	g.Helper()
	made := new([]machine.Transacted)
	op := machine.Op{Do: machine.Create, Path: "/queue/" + head, Data: []byte(data), Ephemeral: true, Sequential: true}
	h, err := recipe.New(recipe.Config{
		Session: g.sess, Kind: "sitter", Path: "/queue",
		Machine:  func() machine.Machine { return &sitter{op: op, made: made, lost: lost} },
		Standing: func() []machine.Event { return []machine.Event{sit{}} },
	})
	require.NoError(g, err)
	return h, made
}

// answerCreates sets the verdict on the next create of a sequential znode, by its data, once each.
func (g *ground) answerCreates(verdicts map[string]zktest.Verdict) {
	g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op != zktest.OpMulti || r.Ops[0].Op != zktest.OpCreate {
			return zktest.Pass
		}
		data := string(r.Ops[0].Data)
		v, ok := verdicts[data]
		if !ok {
			return zktest.Pass
		}
		delete(verdicts, data)
		return v
	})
}

func panics() []machine.Effect { panic("a bug") }

// The answer to the create of a sequential znode is lost, and the actor crashes before it has read:
// the next incarnation finds no such znode, for any form of the name.
func TestACrashLeavesNoSequentialZnodeOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"with a GUID": "_c_7d1c1b0f-5a1c-4e3e-9d43-0a4f5e1d2c3b-seat-", "without": "seat-", "without a dash": "seat",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				require.NoError(g, g.sess.EnsurePath(g.ctx, "/queue"))
				g.answerCreates(map[string]zktest.Verdict{"a": zktest.CutAfter})
				h, made := g.sitting(head, "a", panics)
				require.True(g, h.Tell(sit{}))
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Len(g, *made, 2, "the lost answer, and that of the next incarnation")
				path := (*made)[1].Results[0].Path
				require.Equal(g, []string{path[len("/queue/"):]}, g.contenders(), "the predecessor's is gone")
				require.NoError(g, h.Close(g.ctx))
				require.Empty(g, g.contenders())
			})
		})
	}
}

// The same for an instance that ends instead.
func TestTheEndLeavesNoSequentialZnodeOfUnknownOutcome(t *testing.T) {
	inBubble(t, func(g *ground) {
		require.NoError(g, g.sess.EnsurePath(g.ctx, "/queue"))
		g.answerCreates(map[string]zktest.Verdict{"a": zktest.CutAfter})
		h, _ := g.sitting("seat-", "a", func() []machine.Effect { return []machine.Effect{machine.Stop{}} })
		require.True(g, h.Tell(sit{}))
		<-h.Done()
		require.Empty(g, g.contenders())
	})
}

// The znode that another instance on the same session makes under the same name at the same time is
// not deleted, whether its own answer comes or is lost too.
func TestACrashLeavesTheSequentialZnodesOfOthers(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]zktest.Verdict{"answered": zktest.Delay(time.Second), "lost too": zktest.DropReply} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				require.NoError(g, g.sess.EnsurePath(g.ctx, "/queue"))
				g.answerCreates(map[string]zktest.Verdict{"a": zktest.CutBefore, "b": others})
				b, answers := g.sitting("seat-", "b", func() []machine.Effect { return nil })
				a, made := g.sitting("seat-", "a", panics)
				require.True(g, b.Tell(sit{}))
				synctest.Wait()
				require.True(g, a.Tell(sit{})) // behind b's, whose answer is pending
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Len(g, *made, 2)
				require.Len(g, *answers, 1)
				require.Len(g, g.contenders(), 2)
				require.NoError(g, a.Close(g.ctx))
				left := g.contenders()
				require.Len(g, left, 1)
				data, _, err := g.sess.Get(g.ctx, "/queue/"+left[0])
				require.NoError(g, err)
				require.Equal(g, "b", string(data))
				require.NoError(g, b.Close(g.ctx))
				require.Empty(g, g.contenders())
			})
		})
	}
}

// Znodes that the application itself made on the session, before that create or after it, are not
// deleted.
func TestACrashLeavesWhatWasMadeBeforeAndAfter(t *testing.T) {
	inBubble(t, func(g *ground) {
		require.NoError(g, g.sess.EnsurePath(g.ctx, "/queue"))
		byHand := func() string {
			path, err := g.sess.Create(g.ctx, "/queue/seat-", []byte("a"), session.Ephemeral(), session.Sequential())
			require.NoError(g, err)
			return path[len("/queue/"):]
		}
		before, unknown, crash := byHand(), make(chan struct{}), make(chan struct{})
		g.answerCreates(map[string]zktest.Verdict{"a": zktest.CutBefore})
		h, made := g.sitting("seat-", "a", func() []machine.Effect {
			close(unknown)
			<-crash
			panic("a bug")
		})
		require.True(g, h.Tell(sit{}))
		<-unknown
		after := byHand()
		close(crash)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(g, *made, 2)
		require.ElementsMatch(g, []string{before, after, (*made)[1].Results[0].Path[len("/queue/"):]}, g.contenders())
	})
}

// Two incarnations in a row crash during the search for such a znode, so that three searches run at
// once. The last incarnation recovers too.
func TestTwoCrashesWhileAnOrphanIsLookedFor(t *testing.T) {
	inBubble(t, func(g *ground) {
		require.NoError(g, g.sess.EnsurePath(g.ctx, "/queue"))
		g.answerCreates(map[string]zktest.Verdict{"a": zktest.CutAfter})
		lists := 0
		g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetChildren2 && r.Path == "/queue" {
				if lists++; lists == 1 {
					return zktest.Delay(time.Second)
				}
			}
			return zktest.Pass
		})
		h, made := g.sitting("seat-", "a", panics)
		require.True(g, h.Tell(sit{}))
		time.Sleep(300 * time.Millisecond)
		crash.Instance(h, errors.New("another bug"))
		time.Sleep(300 * time.Millisecond)
		crash.Instance(h, errors.New("another bug"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Len(g, *made, 2, "the lost answer, and that of the last incarnation")
	})
}
