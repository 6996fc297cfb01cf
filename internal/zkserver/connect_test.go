package zkserver_test

// Connections: how they are accepted, when they are closed, and which identities they have. Package
// zktest compares handshakes with a real server's.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// A session is resumed with its password, and not with another one; its former connection ends.
// What closes it ends the session, its ephemeral znodes, and, after the answer, the connection.
func TestSessionsAreResumedAndClosed(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		old := join(t, s)
		old.create("/e", jute.FlagEphemeral)
		wrong, p := shake(t, s, &jute.ConnectRequest{SessionID: old.id, Password: make([]byte, 16)})
		require.Zero(t, p.SessionID)
		wrong.over()
		c, p := shake(t, s, &jute.ConnectRequest{SessionID: old.id, Password: old.password})
		require.Equal(t, old.id, p.SessionID)
		old.over()
		c.must(jute.Request{Op: jute.OpCloseSession})
		c.over()
		require.NotContains(t, s.Dump(), "/e ")
		_, p = shake(t, s, &jute.ConnectRequest{SessionID: c.id, Password: c.password})
		require.Zero(t, p.SessionID)
	})
}

type slowLog struct{}

func (slowLog) Write(b []byte) (int, error) {
	time.Sleep(5 * time.Millisecond)
	return len(b), nil
}

// A client whose session is replaced is never told that it is over, even if it comes back at that
// very moment. The lock is held for long here, for a line of the log, so that it goes to those who
// wait for it in their order: Replace, the handshake, and Replace again if it let the lock go.
func TestAReplacedSessionIsNeverSeenToBeOver(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Logger: slog.New(slog.NewTextHandler(slowLog{}, nil))})
	c, others, conn := join(t, s), []*client{join(t, s), join(t, s), join(t, s)}, dial(t, s)
	q := frame((&jute.ConnectRequest{SessionID: c.id, Password: c.password}).Encode)
	conn.Write(q[:8])
	time.Sleep(5 * time.Millisecond)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		for _, other := range others {
			s.Expire(other.id)
		}
	})
	time.Sleep(time.Millisecond)
	work.Go(func() { s.Replace(c.id) })
	time.Sleep(time.Millisecond)
	conn.Write(q[8:])
	var p jute.ConnectResponse
	require.NoError(t, p.Decode(jute.NewReader((&client{t: t, conn: conn}).frame())))
	require.NotZero(t, p.SessionID)
}

// Old clients leave the read-only flag out, and get an answer without it.
func TestOldClientsAreAnsweredInTheirForm(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		for _, q := range []jute.ConnectRequest{{Old: true}, {ReadOnly: true}, {}} {
			_, p := shake(t, s, &q)
			require.NotZero(t, p.SessionID)
			require.Equal(t, q.Old, p.Old)
			require.False(t, p.ReadOnly, "it is a server that writes")
		}
	})
}

// shortOfFiles is a listener that fails, as when no file descriptor is left.
type shortOfFiles struct {
	began time.Time
	tried []time.Duration // since the beginning
}

func (l *shortOfFiles) Accept() (net.Conn, error) {
	l.tried = append(l.tried, time.Since(l.began))
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
}

func (l *shortOfFiles) Close() error   { return nil }
func (l *shortOfFiles) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2181} }

// A front that cannot accept tries again, after 5 ms at first and after a second at most; Close
// doesn't wait for it.
func TestAcceptingGoesOnWhenFileDescriptorsHaveRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &shortOfFiles{began: time.Now()}
		s := start(t, zkserver.Config{Listen: func(context.Context, string, string) (net.Listener, error) { return l, nil }})
		_, err := s.Front(0).Listen(t.Context(), "127.0.0.1:2181")
		require.NoError(t, err)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		var want []time.Duration
		for _, ms := range []time.Duration{0, 5, 15, 35, 75, 155, 315, 635, 1275, 2275, 3275} {
			want = append(want, ms*time.Millisecond)
		}
		require.Equal(t, want, l.tried)
		before := time.Now()
		require.NoError(t, s.Close())
		require.Equal(t, before, time.Now())
	})
}

// lasts is how long a connection that says nothing more is kept.
func lasts(t *testing.T, conn net.Conn) time.Duration {
	t.Helper()
	before := time.Now()
	require.NoError(t, conn.SetReadDeadline(before.Add(time.Hour)))
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	return time.Since(before)
}

// Connections that don't finish their handshake are closed after 10 to 20 seconds, at whole tens of
// seconds, as the real server does it; others stay.
func TestConnectionsWithoutAHandshakeAreClosed(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		quiet := dial(t, s)
		c, _ := shake(t, s, &jute.ConnectRequest{Timeout: 40000, Password: make([]byte, 16)})
		require.Equal(t, 20*time.Second, lasts(t, quiet))
		c.must(jute.Request{Op: jute.OpSync, Path: "/"})
		time.Sleep(3 * time.Second)
		require.Equal(t, 17*time.Second, lasts(t, dial(t, s)), "at whole tens of seconds")
		half := dial(t, s)
		time.Sleep(12 * time.Second)
		_, err := half.Write(hello()[:20])
		require.NoError(t, err)
		require.Equal(t, 18*time.Second, lasts(t, half), "counted from what was heard")
	})
}

// A handshake that waits for the leader for too long is given up as well.
func TestAHandshakeThatHangsIsGivenUp(t *testing.T) {
	inBubble(t, zkserver.Config{Fronts: 2}, func(t *testing.T, s *zkserver.Server) {
		defer s.Front(0).Isolate(0)()
		conn := dial(t, s)
		_, err := conn.Write(hello())
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, lasts(t, conn))
	})
}

// One connection more than a client may have is closed behind its dialing; other clients, and the
// same when one has ended, are served.
func TestOneConnectionTooManyIsClosed(t *testing.T) {
	inBubble(t, zkserver.Config{MaxConnections: 2}, func(t *testing.T, s *zkserver.Server) {
		first := join(t, s)
		join(t, s)
		require.Zero(t, lasts(t, dial(t, s)))
		other, err := s.Dialer("elsewhere")(t.Context(), "", s.Front(0).Name())
		require.NoError(t, err)
		defer other.Close()
		_, err = other.Write(hello())
		require.NoError(t, err)
		_, err = other.Read(make([]byte, 1))
		require.NoError(t, err)
		first.conn.Close()
		synctest.Wait()
		join(t, s)
		asking, err := s.Dialer("asking")(t.Context(), "", s.Front(0).Name())
		require.NoError(t, err)
		require.Contains(t, said(t, asking, "conf"), "maxClientCnxns=2\n")
	})
}

// The identities that "auth" stands for have a limit: that of a packet, in which they would be
// told. A transaction of many parts has it once.
func TestAuthStandsForNoMoreThanAPacketHolds(t *testing.T) {
	inBubble(t, zkserver.Config{MaxPacket: 2000}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		for i := range 20 {
			require.Equal(t, jute.OK, c.auth("digest", fmt.Sprintf("u:%d", i)))
		}
		var many []jute.ACL
		for i := range int32(100) {
			many = append(many, jute.ACL{Perms: i, Scheme: "auth"})
		}
		create := func(path string, acl []jute.ACL) jute.Request {
			return jute.Request{Op: jute.OpCreate, Path: path, ACL: acl, TTL: -1}
		}
		require.Equal(t, jute.InvalidACL, c.do(create("/a", many)).Err)
		c.must(create("/a", many[31:32]))
		require.Equal(t, jute.InvalidACL, c.do(jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: many, Version: -1}).Err)
		p := c.do(multi(create("/b", many[:1]), create("/c", many[:1]), create("/d", many[:1])))
		require.Equal(t, jute.InvalidACL, p.Results[2].Err)
	})
}

// Credentials that are no text are read as Java reads them: the digest is of what that makes of
// them.
func TestCredentialsThatAreNoTextAreReadAsJavaReadsThem(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		require.Equal(t, jute.OK, c.auth("digest", "\xff\xfep"))
		c.must(jute.Request{Op: jute.OpCreate, Path: "/mine", ACL: []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}})
		require.Equal(t, "\ufffd\ufffdp:LU45PjYsGorM26VxmUfR83NCGDY=", c.must(jute.Request{Op: jute.OpGetACL, Path: "/mine"}).ACL[0].ID)
	})
}
