package recipe_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
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

const patience = 12 * time.Second // of ZooKeeper with the session

// pledge is somebody who asked for the end of something while nobody could be reached, and waits
// for its confirmation.
type pledge struct {
	name   string
	path   string     // of its znode
	answer chan error // capacity 1
	stood  bool       // the znode stood when the answer came; set before
}

// cutOff is a process that is cut off from ZooKeeper with three ends pending: of a claim, of a
// standing intent and of an instance.
type cutOff struct {
	*testing.T
	server  *zktest.Server
	session *session.Session
	id      int64 // of the ZooKeeper session
	heal    func()
	released,
	stoodDown,
	closed *pledge
	claimed *recipe.Claims[*recipe.Possession]
	refuse  atomic.Bool   // credentials
	timeout atomic.Uint32 // in milliseconds, that servers negotiate; 0: as they like
}

func (c *cutOff) pledges() []*pledge { return []*pledge{c.released, c.stoodDown, c.closed} }

// reset lets the session's own actor panic as often as that, as a bug in it would: in the epoch,
// and whenever it takes up its work again.
func (c *cutOff) reset(times int) {
	synctest.Wait()
	for range times - 1 {
		first := true
		c.client(func(session.Event) bool { return !first })
		first = false
	}
	c.client(func(session.Event) bool { return true })
}

// client makes a client that panics at an event, once, when it is to.
func (c *cutOff) client(now func(session.Event) bool) {
	done := false
	_, err := c.session.Client("a bug", func(n session.Event) {
		if !done && now(n) {
			done = true
			panic("on purpose")
		}
	})
	require.NoError(c, err)
	synctest.Wait()
}

// pending: no end has been reported, and all znodes stand.
func (c *cutOff) pending() {
	c.Helper()
	synctest.Wait()
	for _, p := range c.pledges() {
		require.Empty(c, p.answer, p.name)
		require.True(c, c.stands(p.path), p.name)
	}
}

func (c *cutOff) stands(path string) bool {
	for _, s := range c.server.Sessions() {
		if slices.Contains(s.Ephemeral, path) {
			return true
		}
	}
	return false
}

// negotiated is a connection over which the server's timeout comes out as it is told.
type negotiated struct {
	net.Conn
	timeout uint32
	read    int
}

func (n *negotiated) Read(p []byte) (int, error) {
	const at = 8 // behind the length and the protocol's version
	if n.timeout != 0 && n.read < at+4 {
		p = p[:min(len(p), at+4-n.read)]
	}
	got, err := n.Conn.Read(p)
	var own [4]byte
	binary.BigEndian.PutUint32(own[:], n.timeout)
	for i := range got {
		if b := n.read + i - at; n.timeout != 0 && b >= 0 && b < 4 {
			p[i] = own[b]
		}
	}
	n.read += got
	return got, err
}

func cutOffInBubble(t *testing.T, test func(c *cutOff)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.New(zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute))
		require.NoError(t, err)
		c := &cutOff{T: t, server: server}
		t.Cleanup(func() {
			require.NoError(t, server.Close())
			synctest.Wait()
		})
		server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSetAuth && c.refuse.Load() {
				time.Sleep(time.Millisecond) // what was told before has been heard by then: an instance that is stopped drops what it has not received
				return zktest.Fail(-115)
			}
			return zktest.Pass
		})
		machine := server.Host("this")
		c.session, err = session.Open(t.Context(), server.Hosts(), session.WithTimeout(patience), session.WithAuth("digest", []byte("a:b")),
			session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				raw, err := machine.Dialer()(ctx, network, addr)
				return &negotiated{Conn: raw, timeout: c.timeout.Load()}, err
			}))
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = c.session.Close(ctx) // what becomes of it is a matter of the case
		})
		c.id = c.session.Status().SessionID
		c.ask(machine)
		test(c)
	})
}

// ask acquires three things, cuts the process off, and asks for their end.
func (c *cutOff) ask(from zktest.Host) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	c.Cleanup(cancel)
	claimed, standing, closing := c.instance("/claimed"), c.instance("/standing"), c.instance("/closing")
	c.claimed = claimed
	p, err := claimed.Claim(ctx, false, recipe.Asked{})
	require.NoError(c, err)
	standing.Stand(recipe.Asked{})
	q := <-standing.Won()
	r, err := closing.Claim(ctx, false, recipe.Asked{})
	require.NoError(c, err)
	time.Sleep(time.Minute)
	c.heal = from.Partition()
	c.released = c.begin("released", p.Path(), func() error { return p.Release(ctx) })
	c.stoodDown = c.begin("stood down", q.Path(), func() error { return standing.StandDown(ctx) })
	c.closed = c.begin("closed", r.Path(), func() error { return closing.Close(ctx) })
	synctest.Wait()
	for _, end := range []*recipe.Possession{p, q, r} {
		require.Error(c, end.Err(), "what was given up ends at once")
	}
	c.pending()
}

func (c *cutOff) instance(path string) *recipe.Claims[*recipe.Possession] {
	i, err := recipe.NewClaims(recipe.ClaimsConfig[*recipe.Possession]{
		Session: c.session, Kind: "lock", Path: path, Name: "lock-",
		Machine: newAlone,
		Wrap:    func(p *recipe.Possession) *recipe.Possession { return p },
		Publish: func(machine.Standing) {},
	})
	require.NoError(c, err)
	return i
}

func (c *cutOff) begin(name, path string, ask func() error) *pledge {
	p := &pledge{name: name, path: path, answer: make(chan error, 1)}
	go func() { // ends with the answer, for which each case waits
		err := ask()
		p.stood = c.stands(path)
		p.answer <- err
	}()
	return p
}

// An end is reported as confirmed only when the znode is known to be gone: its deletion was
// answered, or ZooKeeper has said that its session is over. Whatever else an epoch, or the session,
// ends with, somebody else may find the znode standing.
func TestWhatConfirmsAnEnd(t *testing.T) {
	t.Parallel()
	const confirmed, unconfirmed = true, false
	for _, row := range []struct {
		cause  string
		befall func(c *cutOff)
		ends   bool  // the znodes are known to be gone, and the ends are confirmed; else they end with
		with   error // …
	}{
		{"the deletion was answered", func(c *cutOff) {
			time.Sleep(time.Second)
			c.heal()
		}, confirmed, nil},
		{"a shorter timeout was negotiated", func(c *cutOff) {
			c.timeout.Store(8000)
			time.Sleep(patience * 3 / 4) // the connection is given up after two thirds
			c.pending()
			c.heal()
		}, confirmed, nil},
		{"expired", func(c *cutOff) {
			time.Sleep(2 * patience)
			c.heal()
		}, confirmed, nil},
		{"replaced by another", func(c *cutOff) {
			time.Sleep(patience * 3 / 4)
			c.server.ExpireSilently(c.id)
			c.heal()
		}, confirmed, nil},
		{"restarted", func(c *cutOff) {
			c.reset(1)
			time.Sleep(time.Second)
			c.pending()
			c.heal()
		}, confirmed, nil},
		{"restarted again and again", func(c *cutOff) {
			c.reset(5)
			time.Sleep(10 * time.Second)
			c.pending()
			c.heal()
		}, confirmed, nil},
		{"restarted, and expired", func(c *cutOff) {
			c.reset(1)
			time.Sleep(2 * patience)
			for _, p := range c.pledges() {
				require.Empty(c, p.answer, "nobody has said so yet")
			}
			c.heal()
		}, confirmed, nil},
		{"restarted, expired and replaced", func(c *cutOff) {
			c.reset(1)
			c.server.ExpireSilently(c.id)
			time.Sleep(2 * patience)
			c.heal()
		}, confirmed, nil},
		{"restarted with its instances", func(c *cutOff) {
			crash.Instance(c.claimed, "on purpose")
			c.reset(1)
			time.Sleep(time.Second)
			c.pending()
			crash.Instance(c.claimed, "on purpose")
			time.Sleep(time.Second)
			c.pending()
			c.heal()
		}, confirmed, nil},
		{"restarted, and closed", func(c *cutOff) {
			c.reset(1)
			time.Sleep(time.Second)
			c.pending()
			c.closeInVain()
		}, unconfirmed, session.ErrClosed},
		{"closed", func(c *cutOff) { c.closeInVain() }, unconfirmed, session.ErrClosed},
		{"a credential was refused", func(c *cutOff) {
			time.Sleep(patience * 3 / 4)
			c.pending()
			c.refuse.Store(true)
			c.heal()
			<-c.session.Done()
			require.ErrorIs(c, c.session.Err(), session.ErrAuthFailed)
		}, unconfirmed, session.ErrClosed},
		{"restarted, and a credential was refused", func(c *cutOff) {
			c.reset(1)
			time.Sleep(patience * 3 / 4)
			c.pending()
			c.refuse.Store(true)
			c.heal()
		}, confirmed, nil}, // nobody asks for a credential to close a session
		{"the session was given up", func(c *cutOff) {
			c.reset(12)
			<-c.session.Done()
			require.ErrorIs(c, c.session.Err(), actors.ErrGivenUp)
		}, unconfirmed, session.ErrClosed},
	} {
		t.Run(row.cause, func(t *testing.T) {
			cutOffInBubble(t, func(c *cutOff) {
				row.befall(c)
				for _, p := range c.pledges() {
					err := <-p.answer
					if row.ends == confirmed {
						require.NoError(c, err, p.name)
						require.False(c, p.stood, "%s: reported as gone, and it stood", p.name)
						continue
					}
					require.ErrorIs(c, err, row.with, p.name)
					require.ErrorIs(c, err, c.session.Err(), "%s: with the reason, however the ends of the two fall together", p.name)
				}
			})
		})
	}
}

// closeInVain closes the session while nobody can be reached: it says that it could not be
// confirmed.
func (c *cutOff) closeInVain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	require.ErrorIs(c, c.session.Close(ctx), context.DeadlineExceeded)
	require.True(c, c.stands(c.released.path), "the ZooKeeper session is left to expire")
}

// A possession that nothing can watch is ended, and its znode deleted. A release that is heard of
// between the two waits for the deletion like any other.
func TestAReleaseOfWhatCannotBeWatchedWaitsForTheDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		s, err := session.Open(t.Context(), server.Hosts(), session.WithDialer(server.Dialer()))
		require.NoError(t, err)
		c := &cutOff{T: t, server: server, session: s}
		i := c.instance("/a")
		letGo := make(chan func(), 1)
		server.Intercept(func(r *zktest.Request) zktest.Verdict {
			switch r.Op {
			case zktest.OpGetData:
				letGo <- i.Occupy() // the answer comes behind it
				return zktest.Fail(zktest.ErrNoAuth)
			case zktest.OpDelete:
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		p, err := i.Claim(t.Context(), false, recipe.Asked{})
		require.NoError(t, err)
		synctest.Wait()
		released := c.begin("released", p.Path(), func() error { return p.Release(t.Context()) })
		synctest.Wait()
		(<-letGo)()
		synctest.Wait()
		require.Empty(t, released.answer, "the znode stands")
		require.NoError(t, <-released.answer)
		require.False(t, released.stood)
		require.NoError(t, i.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))
	})
}

// Whatever befalls the session and the instances, and in whichever order: every end is reported,
// and none as confirmed while the znode stands.
func TestEndsAreTrueWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			cutOffInBubble(t, func(c *cutOff) {
				rng := rand.New(rand.NewPCG(seed, 1))
				bugs := 9 // more in a minute, and the session would be given up
				for range 1 + rng.IntN(6) {
					switch rng.IntN(7) {
					case 0, 1:
						n := min(1+rng.IntN(3), bugs)
						bugs -= n
						if n > 0 {
							c.reset(n)
						}
					case 2:
						crash.Instance(c.claimed, "on purpose")
					case 3:
						c.server.Disconnect(c.id)
					case 4:
						c.heal()
					case 5:
						c.timeout.Store([]uint32{0, 8000, 10_000}[rng.IntN(3)])
					case 6:
						if rng.IntN(4) == 0 {
							c.server.Expire(c.id)
						}
					}
					time.Sleep(time.Duration(rng.Int64N(int64(patience / 2))))
				}
				c.heal()
				for _, p := range c.pledges() {
					require.NoError(c, <-p.answer, p.name)
					require.False(c, p.stood, "%s: reported as gone, and it stood", p.name)
				}
				require.NoError(c, c.session.Err())
			})
		})
	}
}
