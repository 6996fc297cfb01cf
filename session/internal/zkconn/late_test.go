// Writes of a lost connection that a server may still have: it is not asked for the session before
// it has answered in another one. Helpers: leave and since below, helper_test.go.

package zkconn_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// asked is a connection, as a server sees it.
type asked struct {
	session int64 // that was asked for; 0: a new one
	ops     []jute.Op
}

var (
	resumed = asked{session: 7}                                       // for the session of the Conn
	settled = asked{ops: []jute.Op{jute.OpSync, jute.OpCloseSession}} // for its late writes
	waiting = asked{ops: []jute.Op{jute.OpSync}}                      // that is not answered yet
)

// since are the connections to an address, or to all if that is "", from the nth of all on.
func (b *bench) since(n int, addr string) (all []asked) {
	b.script(func() {
		for _, v := range b.visits[n:] {
			if addr == "" || addr == v.addr {
				all = append(all, asked{v.hello.SessionID, v.ops()})
			}
		}
	})
	return all
}

// only lets these addresses be reached.
func only(addrs ...string) func(addr string) error {
	return func(addr string) error {
		if slices.Contains(addrs, addr) {
			return nil
		}
		return errRefused
	}
}

// reaches lets only these addresses be reached, and gives session 8 to a connection that asks for a
// new one.
func (b *bench) reaches(addrs ...string) {
	b.script(func() {
		b.refuse = only(addrs...)
		b.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			answer := agrees(q)
			if q.SessionID == 0 {
				answer.SessionID = 8
			}
			return answer, true
		}
	})
}

// leave lets the first connection, visit 0, be lost while a request is not answered. Its server is
// the only one that can be reached, and answers nothing yet: visit 1 waits for that.
func (b *bench) leave(request func(*zkconn.Conn)) (server string) {
	left := b.connected()
	b.answers(answersNothing)
	b.reaches(left.addr)
	go request(b.Conn) // ends with the connection
	synctest.Wait()
	left.hangUp()
	time.Sleep(timeout/6 - time.Millisecond) // after a sixth the attempt is given up
	return left.addr
}

func creates(c *zkconn.Conn) { _, _ = c.Create("/a", nil, jute.FlagPersistent, 0, nil) }

func TestAServerThatMayHaveWritesIsAskedForThemFirst(t *testing.T) {
	inBubble(t, func(b *bench) {
		server := b.leave(creates)
		require.Equal(b, []asked{waiting}, b.since(1, ""), "not for the session, as long as it does not answer")
		b.answers(nil)
		b.visit(1).hangUp() // on the question that it has not answered
		time.Sleep(time.Second)
		require.Equal(b, []asked{settled, resumed}, b.since(2, ""))
		require.Equal(b, server, last[zkconn.Up](b.sink).Server)
		require.EqualValues(b, 7, b.SessionID())
		require.Zero(b, b.LastZxid(), "what is said in the other session does not count")

		b.visit(3).hangUp() // on the session
		time.Sleep(time.Second)
		require.Equal(b, []asked{resumed}, b.since(4, ""), "once is enough")
	}, threeServers)
}

func TestOthersAreAskedWhileAServerMayHaveWrites(t *testing.T) {
	inBubble(t, func(b *bench) {
		server := b.leave(creates)
		b.answers(nil) // but not what waits
		b.reaches(threeNames...)
		time.Sleep(timeout)
		require.NotEqual(b, server, last[zkconn.Up](b.sink).Server)
		require.Equal(b, []asked{settled}, b.since(1, server), "the sync got no answer, and that session is closed")

		b.reaches(server)
		b.visit(2).hangUp() // the other server, on the session
		time.Sleep(time.Second)
		require.Equal(b, []asked{settled, settled, resumed}, b.since(1, server), "however long ago that is")
	}, threeServers)
}

var threeNames = []string{"a:1", "b:2181", "[::1]:2181"}

func TestOnlyWritesWithoutAnAnswerAreAskedFor(t *testing.T) {
	t.Parallel()
	gaveUp := func(c *zkconn.Conn) { _ = c.Delete("/undecided", -1) } // it is answered with a code that leaves the outcome open
	none := func(*fake, *zkconn.Config) {}
	for name, row := range map[string]struct {
		request func(*zkconn.Conn)
		first   asked
		servers func(*fake, *zkconn.Config)
	}{
		"a write":                        {creates, waiting, threeServers},
		"a transaction":                  {func(c *zkconn.Conn) { _, _ = c.Multi([]jute.Request{{Op: jute.OpDelete, Path: "/a"}}) }, waiting, threeServers},
		"one that the server gave up":    {gaveUp, waiting, threeServers},
		"a read":                         {func(c *zkconn.Conn) { _, _, _ = c.Exists("/a", false) }, resumed, threeServers},
		"a sync":                         {func(c *zkconn.Conn) { _ = c.Sync("/") }, resumed, threeServers},
		"a proof":                        {func(c *zkconn.Conn) { _ = c.Prove("/") }, resumed, threeServers},
		"a write, and there is no other": {creates, resumed, none},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.leave(func(c *zkconn.Conn) {
					b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
						return failure(jute.OperationTimeout), q.Path == "/undecided"
					})
					row.request(c)
				})
				require.Equal(b, row.first, b.since(1, "")[0])
			}, row.servers)
		})
	}
}

// The addresses of one name may all be one server, also those that it gets later. An address may
// have two names.
func TestAllAddressesOfAServerAreAsked(t *testing.T) {
	var name string // for what its addresses are
	names := map[string][]string{"one": {"1.1.1.1", "1.1.1.2"}, "alias": {"1.1.1.1", "1.1.1.2"}, "other": {"2.2.2.2"}}
	inBubble(t, func(b *bench) {
		b.leave(creates)
		name, _, _ = net.SplitHostPort(last[zkconn.Up](b.sink).Server)
		b.answers(nil)
		b.visit(1).hangUp()
		for i, row := range []struct{ address, of string }{
			{"1.1.1.3", name},
			{"1.1.1.1", name},
			{"1.1.1.2", map[string]string{"one": "alias", "alias": "one"}[name]},
		} {
			b.script(func() {
				clear(names)
				names[row.of], names["other"] = []string{row.address}, []string{"2.2.2.2"}
			})
			b.reaches(row.address + ":2181")
			b.script(func() { b.visits[len(b.visits)-1].hangUp() })
			time.Sleep(timeout)
			require.Equal(b, []asked{settled, resumed}, b.since(2+2*i, row.address+":2181"), "%v", row)
		}
	}, func(f *fake, cfg *zkconn.Config) {
		f.refuse = only("1.1.1.2:2181")
		cfg.Servers = []string{"one", "alias", "other"}
		cfg.Lookup = func(_ context.Context, host string) (all []string, _ error) {
			f.script(func() { all = slices.Clone(names[host]) })
			return all, nil
		}
	})
}

// Close does not ask for the session sooner either, nor does it for the session of a process
// before, which may have left writes anywhere. No credential is presented then.
func TestWhoClosesAsksForWritesFirst(t *testing.T) {
	closed := asked{session: 7, ops: []jute.Op{jute.OpCloseSession}}
	inBubble(t, func(b *bench) {
		b.leave(creates)
		closing := b.beginClose(timeout)
		time.Sleep(time.Second)
		b.answers(nil)
		b.visit(1).hangUp()
		require.NoError(b, <-closing)
		require.Equal(b, []asked{settled, closed}, b.since(2, ""))
	}, threeServers)
	for _, server := range threeNames {
		t.Run(server, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				require.NoError(b, b.Close(within(b, timeout)))
				require.Equal(b, []asked{settled, closed}, b.since(0, server))
			}, threeServers, func(f *fake, cfg *zkconn.Config) {
				(&bench{fake: f}).reaches(server)
				reach, opened := f.refuse, time.Now()
				f.refuse = func(addr string) error {
					if time.Since(opened) == 0 { // it is not being closed yet
						return errRefused
					}
					return reach(addr)
				}
				cfg.Resume = zkconn.Identity{ID: 7, Password: make([]byte, 16)}
				cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("a:b")}}
			})
		})
	}
}

func TestWhoAsksForWritesIsAuthenticated(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave(creates)
		b.answers(nil)
		require.Equal(b, []jute.Op{jute.OpSetAuth}, b.visit(1).ops())
		b.visit(1).hangUp()
		time.Sleep(time.Second)
		require.Equal(b, []jute.Op{jute.OpSetAuth, jute.OpSync, jute.OpCloseSession}, b.visit(2).ops())
	}, threeServers, func(_ *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("a:b")}}
	})
}

// lingering is like a TCP connection.
type lingering struct {
	net.Conn
	dropped *atomic.Int32
}

func (l lingering) SetLinger(sec int) error {
	if sec == 0 {
		l.dropped.Add(1)
	}
	return nil
}

// Frames that the network has not delivered when a connection is given up must not come later: a
// write, or a request for the session. But closeSession may.
func TestWhatIsUnderWayIsDropped(t *testing.T) {
	var dropped atomic.Int32
	tcp := func(f *fake, cfg *zkconn.Config) {
		threeServers(f, cfg)
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			raw, err := f.dial(ctx, network, addr)
			return lingering{raw, &dropped}, err
		}
		cfg.Secure = func(_ context.Context, raw net.Conn, _ string) (net.Conn, error) { return secured{raw}, nil }
	}
	inOneBubble(t, func(b *bench) {
		b.leave(creates)
		require.EqualValues(b, 1, dropped.Swap(0), "a write")

		b.script(func() {
			b.refuse = nil
			b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
		})
		time.Sleep(timeout / 2)
		b.script(func() { b.welcome = nil })
		b.answers(nil)
		time.Sleep(2 * timeout)
		require.NotZero(b, dropped.Swap(0), "a request for the session")

		b.answers(answersNothing)
		create := bubble.Begin(func() error { creates(b.Conn); return nil })
		synctest.Wait()
		require.Error(b, b.Close(within(b, timeout/12)))
		bubble.Now(b, create)
		require.Zero(b, dropped.Load(), "closeSession")
	}, tcp)
}

// A name may lose addresses, or get others, at any time: that it has a single one now does not mean
// that the session was nowhere else.
func TestASingleAddressThatWasNotTheOnlyOneIsAskedForWrites(t *testing.T) {
	t.Parallel()
	one, other := "1.1.1.1", "1.1.1.2"
	for name, first := range map[string][]string{"one of several": {one, other}, "it comes back": {one}} {
		t.Run(name, func(t *testing.T) {
			var addresses []string
			inBubble(t, func(b *bench) {
				b.script(func() { addresses = first })
				left := b.connected()
				require.Equal(b, one+":2181", left.addr)
				b.answers(answersNothing)
				go creates(b.Conn) // ends with the connection
				synctest.Wait()
				b.script(func() { addresses = []string{other} })
				b.reaches(other + ":2181")
				left.hangUp()
				time.Sleep(time.Second)
				b.answers(nil)
				if v := b.visit(1); len(v.asked()) > 0 { // of one name, all addresses may be the same server
					v.hangUp()
				}
				time.Sleep(2 * timeout)
				require.Equal(b, other+":2181", last[zkconn.Up](b.sink).Address)

				before := 0
				b.script(func() {
					addresses = []string{one}
					before = len(b.visits)
				})
				b.reaches(one + ":2181")
				b.visit(before - 1).hangUp()
				time.Sleep(2 * timeout)
				require.Equal(b, []asked{settled, resumed}, b.since(before, one+":2181"))
			}, func(f *fake, cfg *zkconn.Config) {
				addresses = first
				f.refuse = only(one + ":2181")
				cfg.Servers = []string{"name"}
				cfg.Lookup = func(context.Context, string) (all []string, _ error) {
					f.script(func() { all = slices.Clone(addresses) })
					return all, nil
				}
			})
		})
	}
}

// Nor does it mean so of a name that gets another address while the only one does not answer.
func TestANameThatGetsAnotherAddressMeanwhileIsAskedForWrites(t *testing.T) {
	addresses := []string{"1.1.1.1"}
	inBubble(t, func(b *bench) {
		left := b.connected()
		b.answers(answersNothing)
		go creates(b.Conn) // ends with the connection
		synctest.Wait()
		b.script(func() {
			b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return jute.ConnectResponse{}, false }
		})
		left.hangUp()
		time.Sleep(timeout / 12)
		b.script(func() { addresses, b.welcome = []string{"1.1.1.2"}, nil })
		b.answers(nil)
		time.Sleep(3 * timeout)
		require.Equal(b, "1.1.1.2:2181", last[zkconn.Up](b.sink).Address)
		for _, a := range b.since(1, "1.1.1.1:2181") {
			require.Zero(b, a.session, "the session is asked for where it may have writes, and goes on elsewhere")
		}
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"name"}
		cfg.Lookup = func(context.Context, string) (all []string, _ error) {
			f.script(func() { all = slices.Clone(addresses) })
			return all, nil
		}
	})
}

// The process before may have had other servers in its list.
func TestTheOnlyServerOfAListIsAskedForWritesOfTheProcessBefore(t *testing.T) {
	inBubble(t, func(b *bench) {
		require.NoError(b, b.Close(within(b, timeout)))
		require.Equal(b, []asked{settled, {session: 7, ops: []jute.Op{jute.OpCloseSession}}}, b.since(0, ""))
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"a:1"}
		(&bench{fake: f}).reaches("a:1")
		cfg.Resume = zkconn.Identity{ID: 7, Password: make([]byte, 16)}
	})
}
