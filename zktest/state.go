package zktest

import (
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Dump describes the tree and all sessions, for the log of a failed test.
func (s *Server) Dump() string { return s.inner.Dump() }

// Session describes a client's session.
type Session struct {
	ID        int64
	Timeout   time.Duration // the negotiated timeout; 0: it does not expire, see [Server.Join]
	Expires   time.Time     // when it expires if the client sends nothing more
	Front     int           // the server that the client is connected to; -1: none
	Ephemeral []string      // paths of its ephemeral znodes
	Watches   int           // number of its data and child watches
}

// Session describes a session. It returns false if the session does not exist, or has ended.
func (s *Server) Session(id int64) (Session, bool) {
	info, ok := s.inner.Session(id)
	return Session(info), ok
}

// Sessions describes all sessions, by id.
func (s *Server) Sessions() (all []Session) {
	for _, info := range s.inner.Sessions() {
		all = append(all, Session(info))
	}
	return all
}

// SetSequence sets the counter of a znode's sequential children: the next one gets the number next.
// The counter of ZooKeeper 3.8 stops at 2147483647.
func (s *Server) SetSequence(parent string, next int32) error {
	return s.inner.SetSequence(parent, next)
}

// Load adds znodes to the tree in one transaction: all of them, or none, with an error that names
// the wrong one. The text is JSON Lines, a znode a line:
//
//	{"path":"/app","data":"hello"}
//	{"path":"/app/picture","base64":"iVBORw0KGgo=","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}]}
//	{"path":"/app/jobs","sequence":17}
//	{"path":"/app/locks","kind":"container"}
//	{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
//
// Every field but the path is optional. sequence is the number of the next sequential child.
// Missing parents are created. The data and ACLs of existing znodes are replaced, against their
// ACLs if need be; their kinds cannot be changed.
func (s *Server) Load(text string) error { return s.inner.Load(strings.NewReader(text)) }

// Tree returns the tree as JSON Lines, in the form that [Server.Load] reads: all znodes except
// ephemerals, with data, ACLs, kinds and the counters of sequential children, but without versions,
// zxids and times. The same tree always has the same text, so tests can compare it.
func (s *Server) Tree() (string, error) { return s.inner.Tree() }

// RequireAuth has the server refuse clients that have not authenticated, as a real one does with
// enforce.auth.enabled: any request, a ping or the session's close too, is answered with
// [ErrAuthRequired] and ends the connection. The session stays until it expires. The scheme is
// "digest", with the id "user:password", or "ip", with an address; without an id any of the scheme
// will do, as with a real server. Without a scheme all are served again. All else fails the test.
//
// To ZooKeeper a wrong password is another identity, and no error: session.ErrAuthFailed does not
// come. A session with it, or without one, tries until the context of its Connect or Open ends; the
// error is session.ErrAuthRequired too.
func (s *Server) RequireAuth(scheme, id string) {
	succeed(s, "RequireAuth", zkserver.Admin{Server: s.inner}.RequireAuth(scheme, id))
}

// StartTLS has the server speak TLS on all new connections, through sockets and in memory, and
// returns a client's configuration, for session.WithTLS. For go-zookeeper a dialer returns
// tls.Client(conn, config), where conn is that of [Server.DialTimeout]. New connections without TLS
// end. The certificate is in memory alone, the same for all calls; clients need none.
func (s *Server) StartTLS() *tls.Config {
	client, err := zkserver.Admin{Server: s.inner}.StartTLS()
	succeed(s, "StartTLS", err)
	return client
}

// Reset empties the server for the next subtest: it has the znodes of [WithTree] again, and no
// sessions, watches, faults, interceptors and journal. A client that still runs loses its
// connection, and comes back with a new session, as after an expiry. An Await goes on with the new
// tree. Addresses, [Server.StartTLS] and [Server.RequireAuth] stay, and the numbers of sessions,
// transactions and requests go on. The test fails if the server is closed, or the address of one
// that was killed is taken.
func (s *Server) Reset() {
	succeed(s, "Reset", zkserver.Admin{Server: s.inner}.Reset(context.Background())) // binding to loopback doesn't wait
}

// FastForward makes the server older by d at once. As in that time, sessions expire, and containers
// and TTL znodes are deleted, in their order. A client that is connected, and not cut off, is taken
// to have pinged, unseen by interceptors. Nothing else moves: no fault ends, and no client's clock,
// so that one that is cut off may still trust a session that is over. In a testing/synctest bubble,
// where time.Sleep moves all clocks, the test fails, as for a negative time, or more than 100 years
// in all.
func (s *Server) FastForward(d time.Duration) {
	if inBubble() {
		s.test.Fatalf("zktest: FastForward(%v) in a testing/synctest bubble: use time.Sleep", d)
	}
	succeed(s, "FastForward", zkserver.Admin{Server: s.inner}.FastForward(d))
}

// succeed fails the test with an error of a method.
func succeed(s *Server, method string, err error) {
	if err != nil {
		s.test.Fatalf("zktest: %s: %v", method, err)
	}
}
