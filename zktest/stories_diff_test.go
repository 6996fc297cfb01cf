package zktest_test

// The same stories are told on our servers and on real ones, and compared line by line: what random
// operations do not come to.

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// tale is what a client saw of a server, to be compared with what it saw of the other one.
type tale []string

func (s *tale) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// both tells the same story on our servers and on real ones, and compares the tales.
func both(t *testing.T, ours, real []string, story func(t *testing.T, servers []string, say func(string, ...any))) {
	t.Helper()
	var a, b tale
	story(t, ours, a.say)
	story(t, real, b.say)
	require.Equal(t, []string(b), []string(a), "the real servers' first")
	require.NotEmpty(t, a)
}

// pair is one of each, alike.
func pair(t *testing.T, containerCheck time.Duration) (ours, real []string) {
	t.Helper()
	e := ensemble.Start(t, 1, realLike(containerCheck)...)
	return zktest.Start(t, likeReal(t, e, containerCheck)...).Servers(), e.Servers()
}

// hello says what a handshake comes to.
func hello(t *testing.T, server string, q jute.ConnectRequest) (*raw, string) {
	t.Helper()
	if q.Password == nil {
		q.Password = make([]byte, 16)
	}
	c, err := greet(dialTCP(t, server), q)
	if err != nil {
		return nil, ending(err)
	}
	return c, fmt.Sprintf("session %t, timeout %d, password %t of %d", c.session != 0, c.timeout, !slices.Equal(c.password, make([]byte, 16)), len(c.password))
}

func TestHandshakesAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	ours, real := pair(t, time.Hour)
	both(t, ours, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		for _, timeout := range []int32{0, -1, 1, 399, 400, 401, 30000, 60000, 60001, 1<<31 - 1, -1 << 31} {
			_, got := hello(t, servers[0], jute.ConnectRequest{Timeout: timeout})
			say("timeout %d: %s", timeout, got)
		}
		first, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
		for _, c := range []struct {
			name string
			q    jute.ConnectRequest
		}{
			{"read-only", jute.ConnectRequest{Timeout: 5000, ReadOnly: true}},
			{"the form of old clients", jute.ConnectRequest{Timeout: 5000, Old: true}},
			{"another protocol", jute.ConnectRequest{Timeout: 5000, Protocol: 7}},
			{"a password for nothing", jute.ConnectRequest{Timeout: 5000, Password: []byte("0123456789abcdef")}},
			{"a short password", jute.ConnectRequest{Timeout: 5000, Password: []byte("short")}},
			{"a session that never was", jute.ConnectRequest{Timeout: 5000, SessionID: 0x123456}},
			{"a wrong password", jute.ConnectRequest{Timeout: 5000, SessionID: first.session, Password: []byte("0123456789abcdef")}},
			{"a wrong length", jute.ConnectRequest{Timeout: 5000, SessionID: first.session, Password: first.password[:8]}},
			{"has seen more", jute.ConnectRequest{Timeout: 5000, LastZxidSeen: 1 << 40}},
			{"has seen more, and read-only", jute.ConnectRequest{Timeout: 5000, LastZxidSeen: 1 << 40, ReadOnly: true}},
			{"back again", jute.ConnectRequest{Timeout: 5000, SessionID: first.session, Password: first.password}},
			{"back again with another timeout", jute.ConnectRequest{Timeout: 7000, SessionID: first.session, Password: first.password}},
		} {
			_, got := hello(t, servers[0], c.q)
			say("%s: %s", c.name, got)
		}
		p, err := first.do(jute.Request{Op: jute.OpExists, Path: "/"})
		say("the first connection: %v %s", p.Err, ending(err))
	})
}

// Frames up to the limit are served, larger ones of any kind end the connection.
func TestLimitsAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	ours, real := pair(t, time.Hour)
	both(t, ours, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		const limit = 0xfffff
		for _, size := range []int{limit - 2, limit - 1, limit, limit + 1, limit + 2, 2 * limit} {
			c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
			q := jute.Request{Op: jute.OpCreate, Path: fmt.Sprintf("/%d", size), ACL: jute.OpenACL()}
			w := jute.NewWriter(nil)
			q.Encode(w)
			q.Data = make([]byte, size-w.Len()-4)
			p, err := c.do(q)
			say("a request of %d bytes: %v %s", size, p.Err, ending(err))
			if err == nil {
				p, err = c.do(jute.Request{Op: jute.OpGetData, Path: q.Path})
				say("read again: %d bytes, %s", len(p.Data), ending(err))
			}
			other, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
			p, err = other.do(jute.Request{Op: jute.OpExists, Path: q.Path})
			say("seen by others: %v %s", p.Err, ending(err))
		}
		for _, head := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0x7f, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, {0, 0, 0, 1, 0}} {
			c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
			_, err := c.conn.Write(head)
			require.NoError(t, err)
			say("% x: %s", head, endOf(c))
			raw := dialTCP(t, servers[0])
			_, err = raw.Write(head)
			require.NoError(t, err)
			if head[0] != 0 { // the others may be the beginning of a handshake that never comes
				raw.SetReadDeadline(time.Now().Add(patience))
				_, err = io.ReadAll(raw)
				say("% x as a handshake: %s", head, ending(err))
			}
		}
	})
}

func endOf(c *raw) string {
	c.conn.SetReadDeadline(time.Now().Add(patience))
	_, err := c.in.ReadByte()
	return ending(err)
}

// Empty containers that had a child, and TTL znodes, go by themselves; a container that had none
// stays. The times are long enough for all to be made before the first goes.
func TestReapingIsThatOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	ours, real := pair(t, 300*time.Millisecond)
	both(t, ours, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
		for _, q := range []jute.Request{
			{Op: jute.OpCreateContainer, Path: "/used", ACL: jute.OpenACL(), Flags: jute.FlagContainer},
			{Op: jute.OpCreateContainer, Path: "/unused", ACL: jute.OpenACL(), Flags: jute.FlagContainer},
			{Op: jute.OpCreate, Path: "/used/child", ACL: jute.OpenACL()},
			{Op: jute.OpCreateTTL, Path: "/short", ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 2000},
			{Op: jute.OpCreateTTL, Path: "/long", ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 3600_000},
			{Op: jute.OpCreateTTL, Path: "/parent", ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 2000},
			{Op: jute.OpCreate, Path: "/parent/child", ACL: jute.OpenACL()},
			{Op: jute.OpAddWatch, Path: "/", Flags: 1},
		} {
			p, err := c.do(q)
			require.NoError(t, err)
			say("%v %s: %v", q.Op, q.Path, p.Err)
		}
		say("%v", c.gone(t, "/short"))
		_, err := c.do(jute.Request{Op: jute.OpDelete, Path: "/used/child", Version: -1})
		require.NoError(t, err)
		say("%v", c.gone(t, "/used"))
		_, err = c.do(jute.Request{Op: jute.OpDelete, Path: "/parent/child", Version: -1})
		require.NoError(t, err)
		say("%v", c.gone(t, "/parent"))
		p, err := c.do(jute.Request{Op: jute.OpGetChildren2, Path: "/"})
		require.NoError(t, err)
		slices.Sort(p.Names)
		say("left: %v, cversion %d", p.Names, p.Stat.Cversion)
	})
}

// gone waits until a znode is deleted, and returns the events until then.
func (c *raw) gone(t *testing.T, path string) (all []jute.Event) {
	t.Helper()
	c.conn.SetDeadline(time.Now().Add(patience))
	for {
		all = append(all, c.events...)
		c.events = nil
		if slices.Contains(all, jute.Event{Type: jute.NodeDeleted, State: jute.StateConnected, Path: path}) {
			return all
		}
		frame, err := c.frame()
		require.NoError(t, err)
		var p jute.Reply
		r := jute.NewReader(frame)
		require.NoError(t, p.DecodeHeader(r))
		require.Equal(t, jute.XidEvent, p.Xid)
		var e jute.Event
		e.Decode(r)
		c.events = append(c.events, e)
	}
}

// Among three servers: what a session can do through the connection that it has left, and through
// the new one.
func TestMovedSessionsAreThoseOfTheRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 3, realLike(time.Hour)...)
	ours := zktest.Start(t, append(likeReal(t, e, time.Hour), zktest.WithServers(3))...).Servers()
	real := e.Servers()
	leader := leaderOf(t, e)
	real[0], real[leader] = real[leader], real[0] // a leader closes the connection on a read too; ours serves reads as a follower does
	for _, write := range []jute.Request{
		{Op: jute.OpCreate, Path: "/late", ACL: jute.OpenACL()},
		{Op: jute.OpDelete, Path: "/", Version: -1},
		{Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCreate, Path: "/late", ACL: jute.OpenACL()}}},
		{Op: jute.OpSetData, Path: "/", Version: -1},
		{Op: jute.OpCloseSession},
	} {
		both(t, ours, real, func(t *testing.T, servers []string, say func(string, ...any)) {
			old, got := hello(t, servers[1], jute.ConnectRequest{Timeout: 30000})
			say("%s", got)
			moved, got := hello(t, servers[2], jute.ConnectRequest{Timeout: 30000, SessionID: old.session, Password: old.password})
			say("%s, the same %t", got, moved.session == old.session)
			moved.xid = 1000 // a follower tells answers apart by session and xid alone: it must not take the old one's for the new one's
			p, err := old.do(jute.Request{Op: jute.OpExists, Path: "/"})
			say("a read through the old one: %v %s", p.Err, ending(err))
			p, err = old.do(write)
			say("%v through the old one: %v %s", write.Op, p.Err, ending(err))
			for closed := false; write.Op == jute.OpCloseSession && !closed; { // the other server learns of it later
				_, err = moved.do(jute.Request{Op: jute.OpExists, Path: "/late"})
				closed = ending(err) == "closed"
			}
			p, err = moved.do(jute.Request{Op: jute.OpExists, Path: "/late"})
			say("seen through the new one: %v %s", p.Err, ending(err))
			p, err = moved.do(jute.Request{Op: jute.OpCloseSession})
			say("the end: %v %s", p.Err, ending(err))
		})
	}
}

// One connection more than a client may have is accepted and reset; when another one has ended
// there is room again.
func TestTooManyConnectionsAreResetAsByTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	const limit = 10
	real := ensemble.Start(t, 1, ensemble.WithConfig("maxClientCnxns", strconv.Itoa(limit)))
	both(t, zktest.Start(t, asVersionOf(t, real), zktest.WithMaxConnections(limit)).Servers(), real.Servers(), func(t *testing.T, servers []string, say func(string, ...any)) {
		open := func() (*raw, error) {
			conn, err := net.Dial("tcp", servers[0])
			if err != nil { // the reset can come before dialing has returned
				return nil, err
			}
			t.Cleanup(func() { conn.Close() })
			return greet(conn, jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)})
		}
		// How many there is room for is not compared: a real server that was asked too early keeps
		// counting the connection by which it was asked.
		var all []*raw
		c, err := open()
		for ; err == nil; c, err = open() {
			all = append(all, c)
			require.LessOrEqual(t, len(all), limit)
		}
		require.NotEmpty(t, all)
		say("one too many: %v", ending(err))
		all[0].conn.Close()
		require.Eventually(t, func() bool { _, err := open(); return err == nil }, patience, 50*time.Millisecond)
		_, err = open()
		say("one too many again: %v", ending(err))
	})
}

// Features that are turned off are refused as by a real server that is set up so: words that are
// not allowed, TTLs.
func TestStrictnessIsThatOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	s, err := zkserver.New(zkserver.Config{Version: "3.8.0", NoTTL: true, Words: []string{"srvr", "mntr"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	ours, err := s.Front(0).Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	real := ensemble.Start(t, 1, ensemble.WithConfig("4lw.commands.whitelist", "srvr, mntr"), ensemble.WithConfig("extendedTypesEnabled", "false")).Servers()
	both(t, []string{ours}, real, func(t *testing.T, servers []string, say func(string, ...any)) {
		for _, word := range []string{"ruok", "stat", "conf"} {
			say("%s: %q", word, ask(t, dialTCP(t, servers[0]), word))
		}
		c, _ := hello(t, servers[0], jute.ConnectRequest{Timeout: 30000})
		p, err := c.do(jute.Request{Op: jute.OpCreateTTL, Path: "/ttl", ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 1000})
		say("%v %v", p.Err, err)
	})
}

// A server without a majority looks to clients and four-letter words as a real one does, and a
// session waits longer than its timeout.
func TestALostQuorumIsThatOfTheRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	e := ensemble.Start(t, 3)
	ours := zktest.Start(t, zktest.WithServers(3), zktest.WithElection(300*time.Millisecond), asVersionOf(t, e), zktest.WithTick(200*time.Millisecond),
		zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute))
	for _, stays := range []int{0, 2} {
		var a, b tale
		quorumStory(t, ours, stays, &a)
		quorumStory(t, e, stays, &b)
		require.Equal(t, []string(b), []string(a), "the real servers' first")
	}
}

func quorumStory(t *testing.T, servers interface {
	Servers() []string
	Kill(i int)
	Restart(i int) error
}, stays int, told *tale,
) {
	t.Helper()
	const lasts = 6000 // ms: longer than a starved machine takes for one request
	address := servers.Servers()[stays]
	c, outcome := hello(t, address, jute.ConnectRequest{Timeout: lasts})
	told.say("opened: %s", outcome)
	c.must(t, create("/held", jute.FlagEphemeral))
	for i := range 3 {
		if i != stays {
			servers.Kill(i)
		}
	}
	c.conn.SetDeadline(time.Now().Add(patience))
	_, err := c.frame()
	told.say("connected: %s", ending(err))
	_, outcome = hello(t, address, jute.ConnectRequest{Timeout: lasts, SessionID: c.session, Password: c.password})
	told.say("resumed: %s", outcome)
	_, outcome = hello(t, address, jute.ConnectRequest{Timeout: lasts})
	told.say("new: %s", outcome)
	for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "conf", "dump", "wchp"} {
		told.say("%s: %q", word, shape(word, ask(t, dialTCP(t, address), word)))
	}
	<-time.After((lasts + 2000) * time.Millisecond) // real servers know no other time
	require.NoError(t, servers.Restart((stays+1)%3), "two of three")
	var again *raw
	require.Eventually(t, func() bool {
		again, err = greet(dialTCP(t, address), jute.ConnectRequest{Timeout: lasts, SessionID: c.session, Password: c.password})
		return err == nil
	}, patience, 10*time.Millisecond)
	told.say("the same session: %v", again.session == c.session)
	told.say("its ephemeral: %v", again.exists(t, "/held"))
	again.must(t, jute.Request{Op: jute.OpCloseSession})
	require.NoError(t, servers.Restart((stays+2)%3))
}
