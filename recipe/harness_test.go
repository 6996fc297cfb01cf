package recipe_test

// The harness of these tests: a server, a session, and an instance of the flag recipe. The machines
// are in machines_test.go; what tests do to an instance from inside, in export_test.go.

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// ground is a server, a session on a machine of its own, and an instance of the flag recipe.
type ground struct {
	*testing.T
	srv  *zktest.Server
	from zktest.Host // the machine
	sess *session.Session
	ctx  context.Context // never ends

	h        *recipe.Host
	flags    chan flag          // possessions of h
	fired    chan machine.Fired // events that h's machine got
	standing []machine.Event    // the intents of h
}

// inBubble runs a test in virtual time, beside other tests. bubbled is for callers that are
// parallel already.
func inBubble(t *testing.T, test func(g *ground), opts ...session.Option) {
	t.Helper()
	t.Parallel()
	bubbled(t, test, opts...)
}

func bubbled(t *testing.T, test func(g *ground), opts ...session.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.New(zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute))
		require.NoError(t, err)
		g := &ground{T: t, srv: srv, from: srv.Host("this"), flags: make(chan flag, 100), fired: make(chan machine.Fired, 100), ctx: context.Background()}
		g.sess, err = session.New(srv.Hosts(), append([]session.Option{session.WithDialer(g.from.Dialer())}, opts...)...)
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

// plant records an intent and tells it, as a face does, and waits for the flag.
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

// run starts an instance of a scripted machine. It performs no effects of its own.
func (g *ground) run(s scripted, ended func(error)) *recipe.Host {
	g.Helper()
	h, err := recipe.New(recipe.Config{
		Session: g.sess, Kind: "script", Path: "/script", Machine: func() machine.Machine { return s }, Ended: ended,
	})
	require.NoError(g, err)
	return h
}

// telling starts an instance of a teller, in an epoch.
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

// claims starts an instance of a lock, whose possessions are its own.
func (g *ground) claims(cfg recipe.ClaimsConfig) *recipe.Claims[*recipe.Possession] {
	g.Helper()
	return g.wrapped(cfg, func(p *recipe.Possession) *recipe.Possession { return p })
}

// wrapped is claims with a function that makes the application's face of a possession.
func (g *ground) wrapped(cfg recipe.ClaimsConfig, wrap func(*recipe.Possession) *recipe.Possession) *recipe.Claims[*recipe.Possession] {
	g.Helper()
	cfg.Session, cfg.Kind = g.sess, "lock"
	if cfg.Path == "" {
		cfg.Path = "/queue"
	}
	if cfg.Name == "" {
		cfg.Name = "lock-"
	}
	if cfg.Machine == nil {
		cfg.Machine = newAlone
	}
	if cfg.Publish == nil {
		cfg.Publish = func(machine.Standing) {}
	}
	i, err := recipe.NewClaims(cfg, wrap)
	require.NoError(g, err)
	return i
}

// creates counts the requests to create a contender.
func (g *ground) creates() (n int) {
	for _, r := range g.srv.Journal() {
		if r.Op == zktest.OpCreate2 {
			n++
		}
	}
	return n
}

// contenders are the names of the contenders, when nothing happens any more.
func (g *ground) contenders() []string {
	g.Helper()
	synctest.Wait()
	names, _, err := g.sess.Children(g.ctx, "/queue")
	require.NoError(g, err)
	return names
}

// tooMany is more panics in a row than an actor is restarted for.
const tooMany = 12

// bug lets the session's own actor panic that many times: the last client made here panics over the
// present state, the others over their second event, which comes with a restart at the latest.
func (g *ground) bug(times int) {
	g.Helper()
	for k := range times {
		seen := 0
		_, err := seam.NewClient(g.sess, "a bug", func(seam.Event) {
			seen++
			if last := k == times-1; last && seen == 1 || !last && seen == 2 {
				panic("on purpose")
			}
		}, nil)
		require.NoError(g, err)
		synctest.Wait()
	}
}

// ephemeralExists tells whether an ephemeral znode exists at the server.
func (g *ground) ephemeralExists(path string) bool {
	for _, s := range g.srv.Sessions() {
		if slices.Contains(s.Ephemeral, path) {
			return true
		}
	}
	return false
}

// claim wins a possession for a caller.
func (g *ground) claim(i *recipe.Claims[*recipe.Possession]) *recipe.Possession {
	g.Helper()
	p, err := i.Claim(g.ctx, false, recipe.Asked{})
	require.NoError(g, err)
	return p
}

// gaveUp is the error of a wait for a possession that ends after a time.
func (g *ground) gaveUp(i *recipe.Claims[*recipe.Possession], d time.Duration) error {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.ctx, d)
	defer cancel()
	_, err := i.Claim(ctx, false, recipe.Asked{})
	require.ErrorIs(g, err, context.DeadlineExceeded)
	return err
}
