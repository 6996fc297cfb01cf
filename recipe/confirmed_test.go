package recipe_test

// The confirmation of the end of a possession, of an intent and of an instance: no fault makes it
// come while the znode may exist. Helpers: harness_test.go; Occupy is in export_test.go.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const patience = 12 * time.Second // the timeout of the ZooKeeper session

// ending is a call that ends something, and waits for the confirmation that its znode is gone.
type ending struct {
	name    string
	path    string     // of the znode
	answer  chan error // capacity 1
	existed bool       // the znode did, when the call returned; set before answer
}

// cutOff is a process that is cut off from ZooKeeper with three ends pending: of a claim, of a
// standing intent and of an instance.
type cutOff struct {
	*ground
	id   int64 // of the ZooKeeper session
	heal func()
	released,
	stoodDown,
	closed *ending
	claimed *recipe.Claims[*recipe.Possession]
	refuse  atomic.Bool // credentials
}

func (c *cutOff) endings() []*ending { return []*ending{c.released, c.stoodDown, c.closed} }

// pending checks that no call has returned, and that all znodes exist.
func (c *cutOff) pending() {
	c.Helper()
	synctest.Wait()
	for _, p := range c.endings() {
		require.Empty(c, p.answer, p.name)
		require.True(c, c.ephemeralExists(p.path), p.name)
	}
}

func cutOffInBubble(t *testing.T, test func(c *cutOff)) {
	t.Helper()
	t.Parallel()
	bubbled(t, func(g *ground) {
		c := &cutOff{ground: g}
		g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSetAuth && c.refuse.Load() {
				time.Sleep(time.Millisecond) // for the earlier messages: an instance that is stopped drops those that it has not received
				return zktest.Fail(jute.AuthFailed)
			}
			return zktest.Pass
		})
		require.NoError(t, g.sess.Connect(g.ctx))
		c.id = g.sess.Status().SessionID
		c.ask()
		test(c)
	}, session.WithTimeout(patience), session.WithAuth("digest", []byte("a:b")))
}

// ask acquires three things, cuts the process off, and asks for their end.
func (c *cutOff) ask() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	c.Cleanup(cancel)
	claimed, standing, closing := c.instance("/claimed"), c.instance("/standing"), c.instance("/closing")
	c.claimed = claimed
	p := c.claim(claimed)
	standing.Stand(recipe.Asked{})
	q := <-standing.Won()
	r := c.claim(closing)
	time.Sleep(time.Minute)
	c.heal = c.from.Partition()
	c.released = c.begin("released", p.Path(), func() error { return p.Release(ctx) })
	c.stoodDown = c.begin("stood down", q.Path(), func() error { return standing.StandDown(ctx) })
	c.closed = c.begin("closed", r.Path(), func() error { return closing.Close(ctx) })
	synctest.Wait()
	for _, end := range []*recipe.Possession{p, q, r} {
		require.Error(c, end.Err(), "what was given up ends at once")
	}
	c.pending()
}

func (g *ground) instance(path string) *recipe.Claims[*recipe.Possession] {
	return g.claims(recipe.ClaimsConfig{Path: path})
}

func (g *ground) begin(name, path string, ask func() error) *ending {
	e := &ending{name: name, path: path, answer: make(chan error, 1)}
	go func() { // ends with the answer, for which each case waits
		err := ask()
		e.existed = g.ephemeralExists(path)
		e.answer <- err
	}()
	return e
}

// An end is confirmed only when the znode is known to be gone: its deletion was answered, or
// ZooKeeper has said that its session has ended. After any other end of an epoch or of the session,
// another client may still find the znode.
func TestWhatConfirmsAnEnd(t *testing.T) {
	t.Parallel()
	const confirmed, unconfirmed = true, false
	for _, row := range []struct {
		cause     string
		befall    func(c *cutOff)
		confirmed bool  // the three ends
		with      error // the error if they are not
	}{
		{"the deletion was answered", func(c *cutOff) {
			time.Sleep(time.Second)
			c.heal()
		}, confirmed, nil},
		{"expired", func(c *cutOff) {
			time.Sleep(2 * patience)
			c.heal()
		}, confirmed, nil},
		{"replaced by another", func(c *cutOff) {
			time.Sleep(patience * 3 / 4)
			c.srv.ExpireSilently(c.id)
			c.heal()
		}, confirmed, nil},
		{"closed", func(c *cutOff) { c.closeInVain() }, unconfirmed, session.ErrClosed},
		{"a credential was refused", func(c *cutOff) {
			time.Sleep(patience * 3 / 4)
			c.pending()
			c.refuse.Store(true)
			c.heal()
			<-c.sess.Done()
			require.ErrorIs(c, c.sess.Err(), session.ErrAuthFailed)
		}, unconfirmed, session.ErrClosed},
		{"restarted, and a credential was refused", func(c *cutOff) {
			c.bug(1)
			time.Sleep(patience * 3 / 4)
			c.pending()
			c.refuse.Store(true)
			c.heal()
		}, confirmed, nil}, // to close a session needs no credential
		{"the session was given up", func(c *cutOff) {
			c.bug(tooMany)
			<-c.sess.Done()
			require.ErrorIs(c, c.sess.Err(), actors.ErrGivenUp)
		}, unconfirmed, session.ErrClosed},
	} {
		t.Run(row.cause, func(t *testing.T) {
			cutOffInBubble(t, func(c *cutOff) {
				row.befall(c)
				for _, p := range c.endings() {
					err := <-p.answer
					if row.confirmed {
						require.NoError(c, err, p.name)
						require.False(c, p.existed, "%s: reported as gone, and it existed", p.name)
						continue
					}
					require.ErrorIs(c, err, row.with, p.name)
					require.ErrorIs(c, err, c.sess.Err(), "%s: with the reason, whether the session or the instance ended first", p.name)
				}
			})
		})
	}
}

// closeInVain closes the session while ZooKeeper cannot be reached: Close fails.
func (c *cutOff) closeInVain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	require.ErrorIs(c, c.sess.Close(ctx), context.DeadlineExceeded)
	require.True(c, c.ephemeralExists(c.released.path), "the ZooKeeper session is left to expire")
}

// A possession whose znode cannot be watched is ended, and the znode deleted. A Release between the
// two waits for the deletion like any other.
func TestAReleaseOfWhatCannotBeWatchedWaitsForTheDeletion(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.instance("/a")
		letGo := make(chan func(), 1)
		g.srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			switch r.Op {
			case zktest.OpGetData:
				letGo <- i.Occupy() // the answer comes behind it
				return zktest.Fail(zktest.ErrNoAuth)
			case zktest.OpDelete:
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		p := g.claim(i)
		synctest.Wait()
		released := g.begin("released", p.Path(), func() error { return p.Release(g.ctx) })
		synctest.Wait()
		(<-letGo)()
		synctest.Wait()
		require.Empty(g, released.answer, "the znode exists")
		require.NoError(g, <-released.answer)
		require.False(g, released.existed)
		require.NoError(g, i.Close(g.ctx))
	})
}

// An instance crashes while its znode is being deleted, and recovers before ZooKeeper has carried
// that out. Until then the release is not confirmed, and the instance does not enter the queue
// again.
func TestARecoveryWaitsForWhatIsBeingDeleted(t *testing.T) {
	inBubble(t, func(g *ground) {
		i := g.instance("/queue")
		i.Stand(recipe.Asked{})
		p := <-i.Won()
		lift := g.throttle(zktest.OpDelete, p.Path())
		released := g.begin("released", p.Path(), func() error { return p.Release(g.ctx) })
		synctest.Wait()
		crash.Instance(i, "on purpose")
		time.Sleep(time.Minute)
		require.Empty(g, released.answer, "the znode exists")
		require.Len(g, g.contenders(), 1)
		lift()
		require.NoError(g, <-released.answer)
		require.False(g, released.existed)
		require.NotEqual(g, p.Path(), (<-i.Won()).Path())
		require.NoError(g, i.Close(g.ctx))
	})
}

// Under random faults of the session and the instances every end is reported, and none is confirmed
// while the znode exists.
func TestEndsAreTrueWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			cutOffInBubble(t, func(c *cutOff) {
				rng := rand.New(rand.NewPCG(seed, 1))
				bugs := 9 // the session survives ten panics in a minute: see actors.Restarts
				for range 1 + rng.IntN(6) {
					switch rng.IntN(6) {
					case 0, 1:
						n := min(1+rng.IntN(3), bugs)
						bugs -= n
						if n > 0 {
							c.bug(n)
						}
					case 2:
						crash.Instance(c.claimed, "on purpose")
					case 3:
						c.srv.Disconnect(c.id)
					case 4:
						c.heal()
					case 5:
						if rng.IntN(4) == 0 {
							c.srv.Expire(c.id)
						}
					}
					time.Sleep(time.Duration(rng.Int64N(int64(patience / 2))))
				}
				c.heal()
				for _, p := range c.endings() {
					require.NoError(c, <-p.answer, p.name)
					require.False(c, p.existed, "%s: reported as gone, and it existed", p.name)
				}
				require.NoError(c, c.sess.Err())
			})
		})
	}
}

// A Close whose context ends first ends the instance, without a confirmation: so another Close of
// the same instance, which still waits, fails. With the session's Close: "closed" above.
func TestACloseThatEndsFirstConfirmsNothing(t *testing.T) {
	inBubble(t, func(g *ground) {
		g.plant("red")
		g.srv.Partition(g.sess.Status().SessionID)
		ended := make(chan error, 1)
		go func() { ended <- g.h.Close(g.ctx) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(g.ctx, time.Second)
		defer cancel()
		require.ErrorIs(g, g.h.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(g, <-ended, session.ErrClosed)
		require.NoError(g, g.h.Close(g.ctx), "it has ended")
	})
}

// A machine is told of the end of an epoch when ZooKeeper has confirmed it: then its znodes are
// gone. So the Close of an instance returns without an error then.
func TestWhatConfirmsTheEndOfAnInstance(t *testing.T) {
	t.Parallel()
	for cause, row := range map[string]struct {
		befall func(g *ground)
		err    error // of Close; nil: confirmed
	}{
		"removed":                             {func(*ground) {}, nil},
		"expired":                             {func(*ground) { time.Sleep(2 * patience) }, nil},
		"the instance restarted, and expired": {func(g *ground) { crash.Instance(g.h, "on purpose"); time.Sleep(2 * patience) }, nil},
		"both restarted":                      {func(g *ground) { crash.Instance(g.h, "on purpose"); g.bug(1); crash.Instance(g.h, "on purpose") }, nil},
		"the session was given up":            {func(g *ground) { g.bug(tooMany) }, session.ErrClosed},
	} {
		t.Run(cause, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				g.plant("red")
				heal := g.from.Partition()
				var existed bool // the flag, when Close returned; set before
				closed := make(chan error, 1)
				go func() { // ends with the instance
					err := g.h.Close(g.ctx)
					existed = g.ephemeralExists("/flags/red")
					closed <- err
				}()
				synctest.Wait()
				require.Empty(g, closed)
				row.befall(g)
				time.Sleep(time.Minute / 6) // less than the session's timeout
				synctest.Wait()
				if row.err == nil {
					require.Empty(g, closed, "ZooKeeper cannot be reached")
					heal()
				}
				err := <-closed
				require.ErrorIs(g, err, row.err)
				if row.err == nil {
					require.NoError(g, err)
					require.False(g, existed, "reported as gone, and it existed")
				}
			}, session.WithTimeout(patience))
		})
	}
}
