package zktest_test

// Late writes: a server whose way to the leader is blocked, a client that loses its connection
// there with a write unanswered, and the fate of that write. One table for our server and for real
// ones.

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// stalling are three servers. Nothing goes from f to the leader while f is held up.
type stalling struct {
	f, g, round int
	dial        func(server int) (net.Conn, error)
	hold        func() (heal func())
	// settle returns when f has read as many requests from a connection, the handshake among them.
	// busy keeps the leader busy, so that what comes to it next waits for its turn for a while.
	settle func(conn net.Conn, requests int)
	busy   func()
}

// late is the znode that the late write creates, meanwhile the one that the session creates at g.
func (s *stalling) late() string      { return fmt.Sprintf("/late-%d", s.round) }
func (s *stalling) meanwhile() string { return fmt.Sprintf("/meanwhile-%d", s.round) }

// ask asks a server for a session. The answer may come only after the healing.
func (s *stalling) ask(t *testing.T, server int, old *raw) (answer func() *raw) {
	t.Helper()
	conn, err := s.dial(server)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	come := make(chan *raw, 1)
	defer func() {
		if server == s.f {
			s.settle(conn, 1)
		}
	}()
	go func() { // ends with the answer, or with the connection
		c, err := greet(conn, jute.ConnectRequest{SessionID: old.session, Password: old.password, Timeout: old.timeout})
		if err == nil {
			c.xid = old.xid
		}
		come <- c
	}()
	return func() *raw {
		t.Helper()
		c := <-come
		require.NotNil(t, c, "server %d hung up", server)
		if old.session != 0 {
			require.Equal(t, old.session, c.session)
		}
		return c
	}
}

func (s *stalling) open(t *testing.T, server int) *raw {
	t.Helper()
	return s.ask(t, server, newcomer(time.Minute))()
}

// lateWrite is what a client does between the loss of its connection to F and the healing, and what
// becomes of its write. look returns, after the healing, who can tell what became of it, behind a
// sync.
type lateWrite struct {
	then func(t *testing.T, s *stalling, c *raw) (look func() *raw)
	want bool // it is carried out
}

func lateWrites() map[string]lateWrite {
	atG := func(t *testing.T, s *stalling, c *raw) *raw {
		t.Helper()
		c = s.ask(t, s.g, c)()
		require.False(t, c.exists(t, s.late()))
		c.must(t, create(s.meanwhile(), 0))
		return c
	}
	return map[string]lateWrite{
		"it asks F again": {func(t *testing.T, s *stalling, c *raw) func() *raw {
			return s.ask(t, s.f, c)
		}, true},
		"it opens another session at F": {func(t *testing.T, s *stalling, _ *raw) func() *raw {
			return s.ask(t, s.f, newcomer(time.Minute))
		}, true},
		"it goes to G": {func(t *testing.T, s *stalling, c *raw) func() *raw {
			c = atG(t, s, c)
			other := s.ask(t, s.f, newcomer(time.Minute))
			return func() *raw { other(); return c }
		}, false},
		"it goes to G, and asks F": {func(t *testing.T, s *stalling, c *raw) func() *raw {
			return s.ask(t, s.f, atG(t, s, c))
		}, true},
		"it goes to G, opens another session at F, and asks F when that is open": {func(t *testing.T, s *stalling, c *raw) func() *raw {
			c = atG(t, s, c)
			other := s.ask(t, s.f, newcomer(time.Minute))
			return func() *raw { other(); return s.ask(t, s.f, c)() }
		}, false},
	}
}

// play does one row. It says whether the write was carried out.
func (row *lateWrite) play(t *testing.T, s *stalling) (done bool) {
	t.Helper()
	s.round++
	c := s.open(t, s.f)
	heal := s.hold()
	defer heal()
	require.NoError(t, c.post([]jute.Request{create(s.late(), 0)}))
	s.settle(c.conn, 2)
	c.conn.Close()
	look := row.then(t, s, c)
	if row.want {
		s.busy()
	}
	heal()
	c = look()
	c.must(t, jute.Request{Op: jute.OpSync, Path: "/"})
	late, err := c.do(jute.Request{Op: jute.OpExists, Path: s.late()})
	require.NoError(t, err)
	meanwhile, err := c.do(jute.Request{Op: jute.OpExists, Path: s.meanwhile()})
	require.NoError(t, err)
	if late.Err == jute.OK && meanwhile.Err == jute.OK {
		require.Greater(t, late.Stat.Czxid, meanwhile.Stat.Czxid, "behind what was asked at G")
	}
	return late.Err == jute.OK
}

func TestALateWrite(t *testing.T) {
	each(t, lateWrites(), func(t *testing.T, server *zktest.Server, row lateWrite) {
		s := &stalling{
			f: 0, g: 1,
			dial:   func(i int) (net.Conn, error) { return server.Dialer()(context.Background(), "tcp", server.Hosts()[i]) },
			hold:   func() func() { return server.HoldUp(0) },
			settle: func(net.Conn, int) { synctest.Wait() },
			busy:   func() {},
		}
		require.Equal(t, row.want, row.play(t, s))
	}, zktest.WithServers(3))
}

// Real servers do the same. The leader is kept busy for a moment where the write is to be compared
// with the owner after the connect request that came behind it: how long is a guess, so the row is
// repeated with more work.
func TestALateWriteOnRealServers(t *testing.T) {
	tier.Real(t)
	servers := ensemble.Start(t, 3, ensemble.WithSyncLimit(300))
	leader, err := servers.AwaitLeader(t.Context())
	require.NoError(t, err)
	s := &stalling{f: (leader + 1) % 3, g: (leader + 2) % 3}
	s.dial = func(i int) (net.Conn, error) { return net.Dial("tcp", servers.Servers()[i]) }
	s.hold = func() func() { return servers.Sever(s.f, leader) }
	s.settle = func(conn net.Conn, requests int) {
		line := regexp.MustCompile(regexp.QuoteMeta(conn.LocalAddr().String()) + `\[.*recved=(\d+)`)
		require.Eventually(t, func() bool {
			found := line.FindStringSubmatch(ask(t, dialTCP(t, servers.Servers()[s.f]), "cons"))
			if found == nil {
				return false
			}
			n, err := strconv.Atoi(found[1])
			return err == nil && n >= requests
		}, patience, 5*time.Millisecond)
	}
	worker := s.open(t, leader)
	checks := make([]jute.Request, 20_000)
	for i := range checks {
		checks[i] = jute.Request{Op: jute.OpCheck, Path: "/", Version: -1}
	}
	for name, row := range lateWrites() {
		t.Run(name, func(t *testing.T) {
			var work []jute.Request
			s.busy = func() { require.NoError(t, worker.post(work)) }
			var done bool
			for tries := 8; tries > 0 && (tries == 8 || row.want && !done); tries-- {
				work = append(slices.Clone(work), work...)
				work = append(work, jute.Request{Op: jute.OpMulti, Ops: checks})
				done = row.play(t, s)
				if row.want {
					_, err := worker.collect(work)
					require.NoError(t, err)
				}
				for i := range work {
					work[i].Xid = 0
				}
			}
			require.Equal(t, row.want, done)
		})
	}
}

// At a server that is held up all that goes to the leader waits, and what stands behind it on its
// connection; then it goes in the order in which it came.
func TestWhatWaitsAtAServerThatIsHeldUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		far := client(t, s, time.Minute, 1)
		writer, reader, ends := client(t, s, time.Minute), client(t, s, time.Minute), client(t, s, time.Minute)
		ends.must(t, create("/ends", jute.FlagEphemeral))
		reader.do(jute.Request{Op: jute.OpExists, Path: "/far", Watch: true})
		heal := s.HoldUp(0)
		far.must(t, create("/far", 0))
		require.True(t, reader.exists(t, "/far"), "what others do is seen")
		require.Len(t, reader.events, 1)

		pipeline := []jute.Request{create("/a-", jute.FlagSequential), {Op: jute.OpExists, Path: "/a-0000000003"}, {Xid: jute.XidPing, Op: jute.OpPing}}
		require.NoError(t, writer.post(pipeline))
		synctest.Wait()
		newcomers := &stalling{f: 0, dial: func(int) (net.Conn, error) { return s.Dialer()(t.Context(), "tcp", s.Hosts()[0]) }, settle: func(net.Conn, int) { synctest.Wait() }}
		opened := newcomers.ask(t, 0, newcomer(time.Minute))
		_, synced := hidden(reader, jute.Request{Op: jute.OpSync, Path: "/"})
		require.NoError(t, ends.post([]jute.Request{{Op: jute.OpCloseSession}}))
		synctest.Wait()
		ends.conn.Close()
		synctest.Wait()
		require.Len(t, s.Sessions(), 4)
		require.Contains(t, said(t, s, "mntr"), "zk_outstanding_requests\t3\n")

		before := time.Now()
		heal()
		heal() // twice is once
		all, err := writer.collect(pipeline)
		require.NoError(t, err)
		require.Equal(t, "/a-0000000002", all[0].reply.Path)
		require.Equal(t, jute.NoNode, all[1].reply.Err)
		require.NoError(t, synced())
		opened()
		require.False(t, far.exists(t, "/ends"), "the session is closed, although its connection was lost")
		require.Equal(t, before, time.Now())
	}, zktest.WithServers(3))
}

// A server that is lost, or loses the others, loses what waits there.
func TestWhatWaitsIsLostWithTheServer(t *testing.T) {
	type row struct {
		lose func(s *zktest.Server)
		made bool
	}
	each(t, map[string]row{
		"killed":      {func(s *zktest.Server) { s.Kill(0); require.NoError(t, s.Restart(0)) }, false},
		"no majority": {func(s *zktest.Server) { s.Kill(2); s.Kill(1); require.NoError(t, s.Restart(1)) }, false},
		"gives up":    {func(s *zktest.Server) { defer s.IsolateServer(0, time.Second)(); time.Sleep(2 * time.Second) }, false},
		"isolated":    {func(s *zktest.Server) { defer s.IsolateServer(0, 0)(); time.Sleep(2 * time.Second) }, true},
		"stopped":     {func(s *zktest.Server) { s.Stop(0); defer s.Continue(0); time.Sleep(2 * time.Second) }, true},
	}, func(t *testing.T, s *zktest.Server, c row) {
		writer := client(t, s, time.Minute)
		heal := s.HoldUp(0)
		require.NoError(t, writer.post([]jute.Request{create("/late", 0)}))
		synctest.Wait()
		c.lose(s)
		heal()
		synctest.Wait()
		_, err := s.Znodes(t).Get("/late")
		require.Equal(t, c.made, err == nil)
	}, zktest.WithServers(3))
}

// Requests that are let go while the server is isolated wait for that, too.
func TestWhatIsLetGoAtAnIsolatedServerWaitsOn(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		writer := client(t, s, time.Minute)
		free := s.HoldUp(0)
		pipeline := []jute.Request{create("/late", 0)}
		require.NoError(t, writer.post(pipeline))
		synctest.Wait()
		heal := s.IsolateServer(0, 0)
		free()
		after, answered := hidden(writer, jute.Request{Op: jute.OpExists, Path: "/late"})
		require.Equal(t, "silence", after, "a read behind it waits")
		heal()
		require.Error(t, answered(), "the answer to the write comes first")
		_, err := s.Znodes(t).Get("/late")
		require.NoError(t, err)
	}, zktest.WithServers(3))
}

// Behind a thousand requests nothing more is read: they are not late writes, and go with their
// connection.
func TestAServerThatIsHeldUpReadsNoMoreThanAThousandRequests(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		writer := client(t, s, time.Minute)
		writer.must(t, create("/made", 0))
		heal := s.HoldUp(0)
		pipeline := make([]jute.Request, 1200)
		for i := range pipeline {
			pipeline[i] = create("/made/a-", jute.FlagSequential)
		}
		require.NoError(t, writer.post(pipeline))
		synctest.Wait()
		s.Disconnect(writer.session)
		heal()
		names, err := s.Znodes(t).Children("/made")
		require.NoError(t, err)
		require.Len(t, names, 1000)
	}, zktest.WithServers(3))
}
