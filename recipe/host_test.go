package recipe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// ground is a server, a session and an instance of the flag recipe.
type ground struct {
	*testing.T
	srv      *zktest.Server
	sess     *session.Session
	h        *recipe.Host
	flags    chan flag
	fired    chan machine.Fired
	standing []machine.Event
	ctx      context.Context
}

func inBubble(t *testing.T, test func(g *ground)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.New()
		require.NoError(t, err)
		g := &ground{T: t, srv: srv, flags: make(chan flag, 100), fired: make(chan machine.Fired, 100), ctx: context.Background()}
		g.sess, err = session.New(srv.Hosts(), session.WithDialer(srv.Dialer()))
		require.NoError(t, err)
		g.h, err = recipe.New(recipe.Config{
			Session: g.sess, Kind: "flags", Path: "/flags", Machine: newFlags("/flags"),
			Standing: func() []machine.Event { return g.standing },
			Perform:  g.perform,
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = g.sess.Close(ctx) // the tests that need it to succeed say so
			require.NoError(t, srv.Close())
			synctest.Wait()
		})
		test(g)
	})
}

func (g *ground) perform(e machine.Effect) {
	switch e := e.(type) {
	case planted:
		hold, err := g.h.Hold(e.epoch, e.path, e.token, func(error) { g.h.Tell(overdue{e.name}) })
		if err == nil {
			g.flags <- flag{hold, e.name}
		}
	case machine.Fired:
		g.fired <- e
	}
}

// plant enters a wish and tells it, as a face does, and waits for what comes of it.
func (g *ground) plant(name string) flag {
	g.Helper()
	g.standing = append(g.standing, plant{name})
	require.True(g, g.h.Tell(plant{name}))
	return <-g.flags
}

func (g *ground) exists(name string) bool {
	g.Helper()
	_, exists, err := g.sess.Exists(g.ctx, "/flags/"+name)
	require.NoError(g, err)
	return exists
}

func TestAWishBecomesAPossession(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.True(g, f.Valid())
		require.True(g, g.exists("a"))
		require.NoError(g, g.sess.Delete(g.ctx, "/flags/a", -1))
		require.Equal(g, machine.Fired{Epoch: 1, Path: "/flags/a", Change: machine.Deleted}, <-g.fired)
		require.True(g, g.h.End(f.Hold, session.ErrDeleted))
		require.ErrorIs(g, f.Err(), session.ErrDeleted)
		require.False(g, g.h.End(f.Hold, session.ErrDeleted))
	})
}

func TestAWishOutlivesTheEpoch(t *testing.T) {
	inBubble(t, func(g *ground) {
		first := g.plant("a")
		g.srv.Expire(g.sess.Status().SessionID)
		<-first.Done()
		require.ErrorIs(g, first.Err(), session.ErrLost)
		second := <-g.flags
		require.Greater(g, second.Token(), first.Token())
	})
}

// TestAPanic: possessions end, the znodes go, and the wishes are taken up by the next incarnation.
func TestAPanic(t *testing.T) {
	inBubble(t, func(g *ground) {
		a, b := g.plant("a"), g.plant("b")
		crash.Instance(g.h, "on purpose")
		<-a.Done()
		<-b.Done()
		require.ErrorIs(g, a.Err(), session.ErrRestarted)
		for _, again := range []flag{<-g.flags, <-g.flags} {
			require.Greater(g, again.Token(), b.Token(), "the old znode was deleted, and a new one made")
		}
		require.NoError(g, g.h.Close(g.ctx))
		require.False(g, g.exists("a") || g.exists("b"))
	})
}

func TestAPanicWhileDisconnectedAndTheEndOfTheEpoch(t *testing.T) {
	inBubble(t, func(g *ground) {
		first := g.plant("a")
		g.srv.ExpireSilently(g.sess.Status().SessionID)
		g.srv.Kill(0)
		crash.Instance(g.h, "on purpose")
		<-first.Done()
		require.ErrorIs(g, first.Err(), session.ErrRestarted)
		synctest.Wait()
		require.NoError(g, g.srv.Restart(0))
		again := <-g.flags
		require.True(g, again.Valid())
		require.EqualValues(g, 2, g.sess.Status().Epoch)
	})
}

func TestTooManyPanics(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		for range 12 { // one each second; those that come during a pause wait for the next incarnation
			crash.Instance(g.h, errors.New("again"))
			time.Sleep(time.Second)
		}
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), actors.ErrGivenUp)
		var op *session.OpError
		require.ErrorAs(g, g.h.Err(), &op)
		require.Equal(g, "/flags", op.Path)
		require.ErrorIs(g, f.Err(), session.ErrRestarted)
		require.False(g, g.h.Tell(plant{"b"}))
		synctest.Wait()
		require.False(g, g.exists("a"), "nothing is left")
	})
}

// TestAMachineThatFails ends the instance with its reason.
func TestAMachineThatFails(t *testing.T) {
	inBubble(t, func(g *ground) {
		require.True(g, g.h.Tell(plant{""})) // whose path ends in a slash
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), session.ErrInvalidPath)
	})
}

func TestClose(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.NoError(g, g.h.Close(g.ctx))
		require.NoError(g, g.h.Close(g.ctx))
		require.ErrorIs(g, g.h.Err(), session.ErrClosed)
		require.ErrorIs(g, f.Err(), session.ErrClosed)
		require.False(g, g.exists("a"))
	})
}

func TestCloseWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		g.srv.Kill(0)
		ctx, cancel := context.WithTimeout(g.ctx, time.Second)
		defer cancel()
		require.ErrorIs(g, g.h.Close(ctx), context.DeadlineExceeded)
		<-g.h.Done()
		<-f.Done()
		require.NoError(g, g.srv.Restart(0))
		require.NoError(g, g.sess.Sync(g.ctx, "/"))
		synctest.Wait()
		require.False(g, g.exists("a"), "the session deletes it when it can")
	})
}

func TestTheEndOfTheSession(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.NoError(g, g.sess.Close(g.ctx))
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), session.ErrClosed)
		require.ErrorIs(g, f.Err(), session.ErrClosed)
		_, err := recipe.New(recipe.Config{Session: g.sess, Kind: "flags", Path: "/flags", Machine: newFlags("/flags"), Perform: g.perform})
		require.ErrorIs(g, err, session.ErrClosed)
	})
}

// TestPanicsAtEveryRequest: whatever is under way when the actor panics, the wish is granted in the
// end and one znode stands.
func TestPanicsAtEveryRequest(t *testing.T) {
	t.Parallel()
	for k := range 6 {
		t.Run("", func(t *testing.T) {
			inBubble(t, func(g *ground) {
				n := 0
				remove := g.srv.Intercept(func(*zktest.Request) zktest.Verdict {
					if n++; n == k+3 {
						crash.Instance(g.h, n)
					}
					return zktest.Pass
				})
				g.standing = append(g.standing, plant{"a"})
				require.True(g, g.h.Tell(plant{"a"}))
				time.Sleep(5 * time.Second)
				remove()
				var last flag
				for len(g.flags) > 0 {
					last = <-g.flags
				}
				require.True(g, last.Valid())
				require.True(g, g.exists("a"))
			})
		})
	}
}
