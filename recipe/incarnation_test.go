package recipe_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// say is a wish: ask for these effects, after a pause in which the actor does nothing else.
type say struct {
	pause   time.Duration
	effects []machine.Effect
}

// teller is a machine that asks for what it is told to, and writes down what it hears.
type teller struct {
	mu    sync.Mutex
	heard [][]machine.Event // by each incarnation
}

type incarnation struct {
	*teller
	number int
}

func (t *teller) make() machine.Machine {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, nil)
	return &incarnation{t, len(t.heard) - 1}
}

func (i *incarnation) Step(ev machine.Event) []machine.Effect {
	i.mu.Lock()
	i.heard[i.number] = append(i.heard[i.number], ev)
	i.mu.Unlock()
	switch ev := ev.(type) {
	case say:
		time.Sleep(ev.pause)
		return ev.effects
	case machine.Closing:
		return []machine.Effect{machine.Stop{}}
	}
	return nil
}

// by is what an incarnation has heard so far of one type.
func by[E machine.Event](t *teller, number int) []E {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []E
	if number < len(t.heard) {
		for _, ev := range t.heard[number] {
			if e, ok := ev.(E); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

func (g *ground) telling() (*recipe.Host, *teller) {
	g.Helper()
	t := &teller{}
	h, err := recipe.New(recipe.Config{Session: g.sess, Kind: "teller", Path: "/t", Machine: t.make})
	require.NoError(g, err)
	require.NoError(g, g.sess.Connect(g.ctx))
	require.Len(g, by[machine.EpochBegan](t, 0), 1)
	return h, t
}

// throttle answers the requests of a kind with "try again", until it is lifted.
func (g *ground) throttle(op zktest.Op, path string) (lift func()) {
	return g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == op && r.Path == path {
			return zktest.Fail(zktest.ErrThrottled)
		}
		return zktest.Pass
	})
}

// What a crashed incarnation asked for is answered when its successor is at work already, which has
// numbers of its own for what it asks.
func TestAnAnswerIsForTheIncarnationThatAsked(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, told := g.telling()
		lift := g.throttle(zktest.OpGetData, "/t")
		require.True(g, h.Tell(say{effects: []machine.Effect{machine.Read{Epoch: 1, Ask: 1, Path: "/t"}}}))
		synctest.Wait()
		crash.Instance(h, "on purpose")
		time.Sleep(10 * time.Second)
		require.Len(g, by[machine.EpochBegan](told, 1), 1, "it is at work")
		lift()
		time.Sleep(time.Minute)
		require.Empty(g, by[machine.Seen](told, 1))
		require.True(g, h.Tell(say{effects: []machine.Effect{machine.Read{Epoch: 1, Ask: 1, Path: "/t"}}}))
		require.Len(g, by[machine.Seen](told, 1), 1)
	})
}

func TestATimerThatIsCancelled(t *testing.T) {
	t.Parallel()
	wake, cancel := machine.Wake{Ask: 1, After: 500}, machine.Cancel{Ask: 1}
	for name, busy := range map[string]time.Duration{"before it goes off": 0, "as it goes off": time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				h, told := g.telling()
				require.True(g, h.Tell(say{effects: []machine.Effect{wake}}))
				require.True(g, h.Tell(say{pause: busy, effects: []machine.Effect{cancel}}))
				time.Sleep(time.Minute)
				require.Empty(g, by[machine.Woke](told, 0))
				require.True(g, h.Tell(say{effects: []machine.Effect{wake}}))
				time.Sleep(time.Minute)
				require.Len(g, by[machine.Woke](told, 0), 1, "the number may be used again")
			})
		})
	}
}

// The state of the session, with which a new machine begins, contains what is on its way to the
// actor as a message still. It is told once.
func TestWhatANewMachineBeginsWithIsToldOnce(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, told := g.telling()
		crash.Instance(h, "on purpose")
		tell := h.Hear(session.Disconnected{Epoch: 1})
		time.Sleep(10 * time.Second)
		require.Len(g, by[machine.Suspended](told, 1), 1)
		tell()
		require.Len(g, by[machine.Suspended](told, 1), 1)
		h.Hear(session.Reconnected{Epoch: 1})()
		require.Len(g, by[machine.Resumed](told, 1), 1)
	})
}

// A session proves that it lives for as long as somebody stands by to hold something, and not when
// nothing depends on it.
func TestStandBy(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, _ := g.telling()
		h.StandBy(1, true)
		time.Sleep(time.Minute)
		hold, err := h.Hold(1, "/t", 1, func(error) {})
		require.NoError(g, err)
		require.True(g, h.End(hold, session.ErrReleased))
		h.StandBy(1, false)
		time.Sleep(time.Minute)
		_, err = h.Hold(1, "/t", 1, func(error) {})
		require.ErrorIs(g, err, session.ErrUntrusted)
	})
}

// claims are those of a lock on the ground's session.
func (g *ground) claims(cfg recipe.ClaimsConfig[*recipe.Possession]) *recipe.Claims[*recipe.Possession] {
	g.Helper()
	cfg.Session, cfg.Kind, cfg.Path = g.sess, "lock", "/line"
	if cfg.Name == "" {
		cfg.Name = "lock-"
	}
	if cfg.Machine == nil {
		cfg.Machine = newAlone
	}
	cfg.Wrap = func(p *recipe.Possession) *recipe.Possession { return p }
	cfg.Publish = func(machine.Standing) {}
	i, err := recipe.NewClaims(cfg)
	require.NoError(g, err)
	return i
}

// creates are the znodes in line that were asked for.
func (g *ground) creates() (n int) {
	for _, r := range g.srv.Journal() {
		if r.Op == zktest.OpCreate2 {
			n++
		}
	}
	return n
}

// What an answer leads to is not done by an incarnation that has crashed before it came.
func TestACrashedIncarnationDoesNothingMore(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.claims(recipe.ClaimsConfig[*recipe.Possession]{Parent: []byte("data")})
		lift := g.throttle(zktest.OpCreate, "/line")
		i.Stand(recipe.Asked{})
		synctest.Wait()
		crash.Instance(i, "on purpose")
		time.Sleep(10 * time.Second)
		g.srv.ClearJournal()
		lift()
		require.True(g, (<-i.Won()).Valid())
		time.Sleep(time.Minute)
		require.Equal(g, 1, g.creates())
		require.Len(g, g.line(), 1)
		require.NoError(g, i.Close(g.ctx))
	})
}

// The epoch ends while an incarnation recovers: whoever waits for the end of a possession of the
// one before is told, and the next epoch begins with nothing.
func TestTheEpochEndsDuringARecovery(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.claims(recipe.ClaimsConfig[*recipe.Possession]{})
		i.Stand(recipe.Asked{})
		p := <-i.Won()
		id := g.sess.Status().SessionID
		g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpMulti { // with which a recovery begins
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		})
		released := make(chan error, 1)
		crash.Instance(i, "on purpose")
		<-p.Done()
		go func() { released <- p.Release(g.ctx) }()
		time.Sleep(time.Second)
		g.srv.Expire(id)
		again := <-i.Won()
		assert.ErrorIs(g, <-released, session.ErrRestarted)
		require.EqualValues(g, 2, g.sess.Status().Epoch)
		require.Equal(g, []string{again.Path()[len("/line/"):]}, g.line())
		require.NoError(g, i.Close(g.ctx))
	})
}

// A writer becomes a reader, and the actor crashes, while that is carried out or when it is done.
// Nothing comes of the reader's znode any more. Who has it, or asked for it, is told so; whoever
// wants the lock next stands in line anew.
func TestACrashAroundADowngrade(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]bool{"during": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				i := g.claims(recipe.ClaimsConfig[*recipe.Possession]{Name: "write-"})
				writer, err := i.Claim(g.ctx, false, recipe.Asked{})
				require.NoError(g, err)
				i.Stand(recipe.Asked{})
				synctest.Wait()
				if during {
					g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
						if r.Op == zktest.OpMulti && len(r.Ops) == 2 && r.Ops[1].Op == zktest.OpCreate {
							crash.Instance(i, "on purpose")
							return zktest.CutAfter
						}
						return zktest.Pass
					})
				}
				reader, err := i.Downgrade(g.ctx, writer)
				if during {
					require.ErrorIs(g, err, session.ErrRestarted)
				} else {
					require.NoError(g, err)
					crash.Instance(i, "on purpose")
					<-reader.Done()
					require.ErrorIs(g, reader.Err(), session.ErrRestarted)
				}
				next := <-i.Won()
				require.Contains(g, next.Path(), "-write-")
				require.Greater(g, next.Token(), writer.Token())
				require.Len(g, g.line(), 1)
				require.NoError(g, i.Close(g.ctx))
				require.Empty(g, g.line())
			})
		})
	}
}

// twice is a machine that grants a claim twice.
type twice struct{ machine.Machine }

func (m twice) Step(ev machine.Event) (all []machine.Effect) {
	for _, e := range m.Machine.Step(ev) {
		all = append(all, e)
		if _, grants := e.(machine.Grant); grants {
			all = append(all, e)
		}
	}
	return all
}

// A machine that grants what is held has a bug, and is restarted: of two possessions nobody would
// end the first.
func TestAMachineThatGrantsTwiceIsRestarted(t *testing.T) {
	inBubble(t, func(g *ground) {
		machines := 0
		i := g.claims(recipe.ClaimsConfig[*recipe.Possession]{Machine: func() machine.Machine {
			if machines++; machines == 1 {
				return twice{newAlone()}
			}
			return newAlone()
		}})
		i.Stand(recipe.Asked{})
		time.Sleep(time.Minute) // until then it is restarted
		p := <-i.Won()
		require.Equal(g, 2, machines)
		require.NoError(g, p.Err())
		require.Len(g, g.line(), 1)
		require.Contains(g, p.Path(), g.line()[0])
		require.NoError(g, i.Close(g.ctx))
	})
}
