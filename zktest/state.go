package zktest

import (
	"strings"
	"time"
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
