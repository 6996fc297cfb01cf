// Package zksession opens a session on a server of zktest, for a test of a service:
//
//	server := zktest.Start(t)
//	sess := zksession.Open(t, server) // closed with the test
//	worker := StartWorker(sess)       // yours
//
// It connects in memory, so the test is the same inside a testing/synctest bubble, in virtual time,
// and outside of one.
package zksession

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// TB is the part of testing.TB that [Open] needs.
type TB interface {
	zktest.TB
	Context() context.Context
}

// Open connects a session to srv. The test fails if an option is wrong, or if the session has not
// connected within 30 seconds, virtual ones in a bubble. The failure says why the last attempt
// failed: EOF where the server speaks TLS and the session does not.
//
// The session is closed at the end of the test, before srv. If it is cut off from srv at that time,
// closing takes up to five seconds, and the session ends on srv when it expires.
//
// The options may include the dialer of a machine, srv.Host(name).Dialer(), with its own faults.
func Open(t TB, srv *zktest.Server, opts ...session.Option) *session.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := session.Open(ctx, srv.Hosts(), append([]session.Option{session.WithDialer(srv.Dialer())}, opts...)...)
	if err != nil {
		t.Fatalf("zksession: %v", err)
	}
	t.Cleanup(func() { _ = session.CloseWithin(s, 5*time.Second) }) // the test may have cut it off
	srv.Znodes(t)                                                   // if the test has failed, they are logged before the session is closed
	return s
}
