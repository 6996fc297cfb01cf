package recipe_test

// Claims and their possessions, when the actor crashes, or gets a message late. How each kind of
// possession ends: test/losses. Helpers: harness_test.go.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// An incarnation that has crashed before an answer came does not go on with it.
func TestACrashedIncarnationDoesNothingMore(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.claims(recipe.ClaimsConfig{Parent: []byte("data")})
		lift := g.throttle(zktest.OpCreate, "/queue")
		i.Stand(recipe.Asked{})
		synctest.Wait()
		crash.Instance(i, "on purpose")
		time.Sleep(10 * time.Second)
		g.srv.ClearJournal()
		lift()
		require.True(g, (<-i.Won()).Valid())
		time.Sleep(time.Minute)
		require.Equal(g, 1, g.creates())
		require.Len(g, g.contenders(), 1)
		require.NoError(g, i.Close(g.ctx))
	})
}

// The epoch ends while an incarnation recovers. A pending Release of the crashed incarnation's
// possession returns, and the next epoch begins without a znode.
func TestTheEpochEndsDuringARecovery(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.claims(recipe.ClaimsConfig{})
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
		require.Equal(g, []string{again.Path()[len("/queue/"):]}, g.contenders())
		require.NoError(g, i.Close(g.ctx))
	})
}

// A possession that ends before it is offered is not offered: the application receives the next
// one.
func TestWhatEndsBeforeItIsOfferedIsNotReceived(t *testing.T) {
	inBubble(t, func(g *ground) {
		wrapped := 0
		i := g.wrapped(recipe.ClaimsConfig{}, func(p *recipe.Possession) *recipe.Possession {
			if wrapped++; wrapped == 1 {
				heal := g.from.Partition()
				<-p.Done()
				heal()
			}
			return p
		})
		i.Stand(recipe.Asked{})
		time.Sleep(time.Minute)
		p := <-i.Won()
		require.NoError(g, p.Err())
		require.Equal(g, 2, wrapped)
		synctest.Wait()
		select {
		case <-i.Won():
			require.Fail(g, "the first is on offer still")
		default:
		}
		require.NoError(g, i.Close(g.ctx))
	})
}

// Held is the possession that is held, from any call: none before its receipt or after its end.
func TestWhatIsHeldCanBeRead(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.claims(recipe.ClaimsConfig{})
		holds := func(want *recipe.Possession) {
			g.Helper()
			p, has := i.Held()
			require.Same(g, want, p)
			require.Equal(g, want != nil, has)
		}
		holds(nil)
		i.Stand(recipe.Asked{})
		synctest.Wait()
		holds(nil) // it was not received
		holds(<-i.Won())
		require.NoError(g, i.StandDown(g.ctx))
		holds(nil)
		p := g.claim(i)
		holds(p)
		require.NoError(g, p.Release(g.ctx))
		holds(nil)
	})
}

// A panic while a possession is being delivered ends that one too, before the application has it.
// The application receives the next one, of another znode.
func TestAPanicEndsWhatIsBeingHandedOver(t *testing.T) {
	inBubble(t, func(g *ground) {
		var first *recipe.Possession
		i := g.wrapped(recipe.ClaimsConfig{}, func(p *recipe.Possession) *recipe.Possession {
			if first == nil {
				first = p
				panic("a bug")
			}
			return p
		})
		i.Stand(recipe.Asked{})
		p := <-i.Won()
		require.ErrorIs(g, first.Err(), session.ErrRestarted)
		require.NotEqual(g, first.Path(), p.Path())
		require.Equal(g, []string{p.Path()[len("/queue/"):]}, g.contenders())
		require.NoError(g, i.Close(g.ctx))
	})
}

// A machine that grants a held claim has a bug, and is restarted: otherwise the first possession
// would never end.
func TestAMachineThatGrantsTwiceIsRestarted(t *testing.T) {
	inBubble(t, func(g *ground) {
		machines := 0
		i := g.claims(recipe.ClaimsConfig{Machine: func() machine.Machine {
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
		require.Len(g, g.contenders(), 1)
		require.Contains(g, p.Path(), g.contenders()[0])
		require.NoError(g, i.Close(g.ctx))
	})
}

// The machine is told once of a claim that comes during a recovery, though it is in the ledger and
// its message comes later: there is one possession, one znode, and no further one after the
// release.
func TestAClaimDuringARecoveryIsToldOnce(t *testing.T) {
	inBubble(t, func(g *ground) {
		var standing machine.Standing
		i := g.claims(recipe.ClaimsConfig{Publish: func(m machine.Standing) { standing = m }})
		before := g.claim(i)
		remove := g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti { // with which a recovery begins
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		crash.Instance(i, errors.New("a bug"))
		<-before.Done()
		synctest.Wait()
		claimed := make(chan *recipe.Possession, 1)
		go func() { claimed <- g.claim(i) }()
		time.Sleep(500 * time.Millisecond)
		require.Empty(g, claimed, "it recovers")
		g.srv.ClearJournal()
		p := <-claimed
		remove()
		require.NoError(g, p.Release(g.ctx))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(g, 1, g.creates())
		require.Equal(g, machine.Standing{}, standing)
		require.NoError(g, i.Close(g.ctx))
	})
}

// Calls that give up while ZooKeeper cannot be reached leave nothing in the ledger, also during a
// recovery.
func TestWhatIsGivenUpDoesNotPileUp(t *testing.T) {
	t.Parallel()
	for name, crashes := range map[string]bool{"cut off": false, "cut off, and recovering": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				i := g.claims(recipe.ClaimsConfig{})
				before := g.claim(i)
				heal := g.srv.Isolate()
				if crashes {
					crash.Instance(i, errors.New("a bug"))
					<-before.Done()
					time.Sleep(100 * time.Millisecond)
				}
				for range 100 {
					ctx, cancel := context.WithTimeout(g.ctx, time.Millisecond)
					_, err := i.Claim(ctx, false, recipe.Asked{})
					require.ErrorIs(g, err, context.DeadlineExceeded)
					i.Stand(recipe.Asked{})
					_ = i.StandDown(ctx) // nil if no machine knew of it
					cancel()
				}
				synctest.Wait()
				require.LessOrEqual(g, i.Intents(), 1)
				heal()
				_ = before.Release(g.ctx) // it was lost, where there was a crash
				require.NoError(g, g.claim(i).Release(g.ctx))
				require.NoError(g, i.Close(g.ctx))
				require.Empty(g, g.contenders())
			})
		})
	}
}

// The record of a lost possession stays, even if its claim is withdrawn before the actor is told of
// the loss. The record of a released possession is deleted.
func TestTheRecordOfALostPossessionStays(t *testing.T) {
	t.Parallel()
	type instance = recipe.Claims[*recipe.Possession]
	cutOff := func(g *ground, p *recipe.Possession) {
		heal := g.from.Partition()
		<-p.Done()
		heal()
	}
	withAnother := func(_ *ground, p *recipe.Possession) { p.Lose() }
	for name, c := range map[string]struct {
		standing bool // the standing intent; otherwise a call of Claim
		giveUp   func(i *instance, ctx context.Context) error
		lose     func(g *ground, p *recipe.Possession) // nil: it is not lost
	}{
		"lost, and the intent withdrawn":            {true, (*instance).StandDown, cutOff},
		"a caller's, lost, and closed":              {false, (*instance).Close, cutOff},
		"a caller's, lost with another, and closed": {false, (*instance).Close, withAnother},
		"the intent withdrawn":                      {true, (*instance).StandDown, nil},
		"a caller's, closed":                        {false, (*instance).Close, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				i := g.claims(recipe.ClaimsConfig{Machine: newRecorded})
				var p *recipe.Possession
				if c.standing {
					i.Stand(recipe.Asked{})
					p = <-i.Won()
				} else {
					p = g.claim(i)
				}
				letGo := i.Occupy()
				if c.lose != nil {
					c.lose(g, p)
				}
				ended := make(chan error, 1)
				go func() { ended <- c.giveUp(i, g.ctx) }() // ends with its deletion
				synctest.Wait()
				letGo()
				require.NoError(g, <-ended)
				require.NotContains(g, g.srv.Dump(), p.Path())
				require.Equal(g, c.lose != nil, strings.Contains(g.srv.Dump(), "/queue/held"))
				require.NoError(g, i.Close(g.ctx))
			})
		})
	}
}

// An instance ends with its session while Close ends a possession. It had not ended when Close was
// called, so Close reports that the deletion of the znode is not confirmed.
func TestAnInstanceThatEndsWhileCloseIsAtItsPossessions(t *testing.T) { //nolint:paralleltest // it holds up all possessions
	server := zktest.Start(t)
	s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
	require.NoError(t, err)
	i, err := recipe.NewClaims(recipe.ClaimsConfig{
		Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
		Machine: newAlone,
		Publish: func(machine.Standing) {},
	}, func(p *recipe.Possession) *recipe.Possession { return p })
	require.NoError(t, err)
	p, err := i.Claim(t.Context(), false, recipe.Asked{})
	require.NoError(t, err)
	heal := server.Isolate()
	letGo := recipe.HoldUp()
	closed := make(chan error, 1)
	go func() { closed <- i.Close(context.Background()) }() // ends with the session
	<-p.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	<-i.Done()
	letGo()
	require.ErrorIs(t, <-closed, session.ErrClosed)
	heal()
	require.NoError(t, s.Close(t.Context()))
}

// A possession is released, and its znode deleted, while whoever ends it has not told of the end.
// The standing intent is told as wanted again after that end all the same.
func TestAnIntentIsToldAgainAfterTheEnd(t *testing.T) { //nolint:paralleltest // it holds up all possessions
	server, told := zktest.Start(t), make(chan session.EventKind, 10)
	s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()), session.WithEvents(func(_ *session.Session, ev session.Event) {
		if ev.Kind == session.EventWanted || ev.Kind == session.EventReleased {
			told <- ev.Kind
		}
	}))
	require.NoError(t, err)
	i, err := recipe.NewClaims(recipe.ClaimsConfig{
		Session: s, Kind: "lock", Path: "/a/b", Name: "lock-",
		Machine: newAlone,
		Publish: func(machine.Standing) {},
	}, func(p *recipe.Possession) *recipe.Possession { return p })
	require.NoError(t, err)
	i.Stand(recipe.Asked{})
	p := <-i.Won()
	letGo := recipe.HoldUp()
	released := make(chan error, 1)
	go func() { released <- p.Release(context.Background()) }() // ends with the deletion
	<-p.Done()
	require.NoError(t, s.Delete(t.Context(), p.Path(), -1))
	require.Equal(t, session.EventWanted, <-told)
	next := <-told
	letGo()
	require.Equal(t, session.EventReleased, next)
	require.Equal(t, session.EventWanted, <-told)
	require.NoError(t, <-released)
	require.NoError(t, i.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}

// An intent is told as wanted before an actor can know of it, also one that restarts at that
// moment and finds it in the ledger: its entry ends with that.
func TestAnIntentIsToldBeforeAnActorKnowsOfIt(t *testing.T) { //nolint:paralleltest // it sees what all sessions tell
	tell := seam.Emit.(func(*session.Session, session.Event))
	t.Cleanup(func() { seam.Emit = tell })
	bubbled(t, func(g *ground) {
		i, recording := g.claims(recipe.ClaimsConfig{}), []bool{}
		seam.Emit = func(s *session.Session, ev session.Event) {
			if ev.Kind == session.EventWanted {
				recording = append(recording, i.Recording())
			}
			tell(s, ev)
		}
		i.Stand(recipe.Asked{})
		p := <-i.Won()
		require.NoError(g, g.sess.Delete(g.ctx, p.Path(), -1))
		<-i.Won()
		require.NoError(g, i.StandDown(g.ctx))
		g.claim(i)
		require.Equal(g, []bool{true, true, true}, recording) // the second is wanted after a loss
	})
}
