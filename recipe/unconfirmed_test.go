package recipe_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// An end that nobody confirmed is not reported as one because somebody else has lost patience, with
// the instance or with the session.
func TestAnEndThatNobodyConfirmed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(g *ground, ctx context.Context) error{
		"instance": func(g *ground, ctx context.Context) error { return g.h.Close(ctx) },
		"session":  func(g *ground, ctx context.Context) error { return g.sess.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				g.plant("red")
				g.srv.Partition(g.sess.Status().SessionID)
				ended := make(chan error, 1)
				go func() { ended <- g.h.Close(g.ctx) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(g.ctx, time.Second)
				defer cancel()
				require.ErrorIs(g, lose(g, ctx), context.DeadlineExceeded)
				require.ErrorIs(g, <-ended, session.ErrClosed)
				require.NoError(g, g.h.Close(g.ctx), "it is over")
			})
		})
	}
}

// The end of an epoch reaches a machine when ZooKeeper has confirmed it: what stood in it is gone,
// and whoever waited for that may be told so. A machine that winds up is the one that would.
func TestWhatConfirmsTheEndOfAnInstance(t *testing.T) {
	t.Parallel()
	const patience = 12 * time.Second
	for _, row := range []struct {
		cause  string
		befall func(g *ground, id int64)
		err    error // of Close; nil: confirmed
	}{
		{"removed", func(*ground, int64) { time.Sleep(time.Second) }, nil},
		{"expired", func(*ground, int64) { time.Sleep(2 * patience) }, nil},
		{"replaced", func(g *ground, id int64) { g.srv.ExpireSilently(id) }, nil},
		{"the session restarted", func(g *ground, _ int64) { g.bug(1) }, nil},
		{"the session restarted again and again", func(g *ground, _ int64) { g.bug(5) }, nil},
		{"the session restarted, and expired", func(g *ground, _ int64) { g.bug(1); time.Sleep(2 * patience) }, nil},
		{"the instance restarted", func(g *ground, _ int64) { crash.Instance(g.h, "on purpose") }, nil},
		{"the instance restarted, and expired", func(g *ground, _ int64) { crash.Instance(g.h, "on purpose"); time.Sleep(2 * patience) }, nil},
		{"both restarted", func(g *ground, _ int64) {
			crash.Instance(g.h, "on purpose")
			g.bug(1)
			crash.Instance(g.h, "on purpose")
		}, nil},
		{"both restarted the other way round", func(g *ground, _ int64) { g.bug(1); crash.Instance(g.h, "on purpose") }, nil},
		{"the session was given up", func(g *ground, _ int64) { g.bug(12) }, session.ErrClosed},
		{"the session was closed", func(g *ground, _ int64) {
			ctx, cancel := context.WithTimeout(g.ctx, time.Second)
			defer cancel()
			require.ErrorIs(g, g.sess.Close(ctx), context.DeadlineExceeded)
		}, session.ErrClosed},
	} {
		t.Run(row.cause, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				from := g.srv.Host("this")
				g.move(session.WithDialer(from.Dialer()), session.WithTimeout(patience))
				g.plant("red")
				id := g.sess.Status().SessionID
				heal := from.Partition()
				var stood bool // when Close returned; set before
				closed := make(chan error, 1)
				go func() { // ends with the instance
					err := g.h.Close(g.ctx)
					stood = g.stands("red")
					closed <- err
				}()
				synctest.Wait()
				require.Empty(g, closed)
				row.befall(g, id)
				time.Sleep(time.Minute / 6) // less than the server's patience
				synctest.Wait()
				if row.err == nil {
					require.Empty(g, closed, "nobody has heard anything")
					heal()
				}
				err := <-closed
				require.ErrorIs(g, err, row.err)
				if row.err == nil {
					require.NoError(g, err)
					require.False(g, stood, "reported as gone, and it stood")
				}
			})
		})
	}
}

// move has the instance anew, on another session.
func (g *ground) move(opts ...session.Option) {
	g.Helper()
	require.NoError(g, g.sess.Close(g.ctx))
	var err error
	g.sess, err = session.New(g.srv.Hosts(), opts...)
	require.NoError(g, err)
	g.h, err = recipe.New(recipe.Config{
		Session: g.sess, Kind: "flags", Path: "/flags", Machine: newFlags("/flags"),
		Standing: func() []machine.Event { return g.standing },
		Perform:  g.perform,
	})
	require.NoError(g, err)
}

// bug lets the session's own actor panic as often as that: in its epoch, and whenever it takes up
// its work again.
func (g *ground) bug(times int) {
	g.Helper()
	for k := range times {
		seen := 0
		_, err := g.sess.Client("a bug", func(session.Event) {
			if seen++; seen == 1 && k == times-1 || seen == 2 && k < times-1 {
				panic("on purpose")
			}
		})
		require.NoError(g, err)
		synctest.Wait()
	}
}

// stands tells whether a flag is there, as the server has it.
func (g *ground) stands(name string) bool {
	for _, s := range g.srv.Sessions() {
		if slices.Contains(s.Ephemeral, "/flags/"+name) {
			return true
		}
	}
	return false
}
