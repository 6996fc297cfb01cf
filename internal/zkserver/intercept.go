package zkserver

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Request is a request as interceptors see it before it is served, and the journal after.
type Request struct {
	K         int64 // its number among all requests that the server ever received, from 1 on
	Time      time.Time
	Front     int   // which server received it
	SessionID int64 // for a handshake: the session that it asks for, 0 for a new one
	Xid       int32
	Op        jute.Op // a handshake is OpCreateSession
	Path      string
	Data      []byte
	ACL       []jute.ACL
	Version   int32
	Flags     int32 // the mode of a create
	TTL       time.Duration
	Watch     bool
	Ops       []jute.Request // the parts of a multi
	Paths     []string       // setWatches: all paths

	// The outcome; only in the journal.
	Served  bool      // it was carried out
	Replied bool      // an answer was given
	Err     jute.Code // of the answer
	Zxid    int64     // of the answer
	Created string    // the path that a create was answered with
	Fired   int       // how many watch events it caused, among all clients
}

// Verdict is the decision of an interceptor on a request.
type Verdict struct {
	action action
	delay  time.Duration
	code   jute.Code
}

type action uint8

// Those that are served are pass, dropReply and cutAfter: see carryOut.
const (
	pass action = iota
	dropRequest
	dropReply
	cutBefore
	cutAfter
	failWith // with a code
)

// The verdicts without parameters.
var (
	Pass        = Verdict{}                    // serve it
	DropRequest = Verdict{action: dropRequest} // as if it had never arrived
	DropReply   = Verdict{action: dropReply}   // serve it, but don't answer
	CutBefore   = Verdict{action: cutBefore}   // close the connection instead of serving it
	CutAfter    = Verdict{action: cutAfter}    // serve it, and close the connection before the answer: a lost reply
)

// Delay serves a request later; those behind it on the same connection wait too.
func Delay(d time.Duration) Verdict { return Verdict{delay: d} }

// Fail answers with an error, and does not serve the request. A failed handshake is answered as if
// the session had expired.
func Fail(code jute.Code) Verdict { return Verdict{action: failWith, code: code} }

type rule struct{ decide func(*Request) Verdict }

// Intercept has every request decided on, on its connection's goroutine and with no lock held,
// before it is served. Of several interceptors the first that doesn't pass a request decides.
func (s *Server) Intercept(decide func(*Request) Verdict) (remove func()) {
	r := &rule{decide}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(slices.Clone(s.rules), r)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rules = slices.DeleteFunc(slices.Clone(s.rules), func(o *rule) bool { return o == r })
	}
}

// decide asks the interceptors. The caller holds the lock, which is let go meanwhile.
func (s *Server) decide(rq *Request) Verdict {
	rules := s.rules
	if len(rules) == 0 {
		return Pass
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	for _, r := range rules {
		if v := r.decide(rq); v != Pass {
			return v
		}
	}
	return Pass
}

// receive counts a request, and describes it if there is an interceptor or a journal.
func (s *Server) receive(c *conn, session int64, q *jute.Request) *Request {
	s.requests++
	if len(s.rules) == 0 && s.journal.limit == 0 {
		return nil
	}
	rq := &Request{
		K: s.requests, Time: time.Now(), Front: c.front.index, SessionID: session,
		Xid: q.Xid, Op: q.Op, Path: q.Path, Data: q.Data, ACL: q.ACL, Version: q.Version, Flags: q.Flags, Watch: q.Watch,
		Ops: q.Ops, Paths: slices.Concat(q.DataW, q.ExistW, q.ChildW, q.PersistW, q.RecursW),
	}
	if q.Op == jute.OpCreateTTL {
		rq.TTL = time.Duration(q.TTL) * time.Millisecond
	}
	return rq
}

// journal keeps the last requests: so many of them at most, and so many bytes.
type journal struct {
	limit    int
	maxBytes int
	kept     []*Request // from first on, oldest first
	first    int
	bytes    int
}

// add keeps a request, at the expense of the oldest. One alone is kept however large it is.
func (j *journal) add(rq *Request) {
	if j.limit == 0 || rq == nil {
		return
	}
	j.kept = append(j.kept, rq)
	j.bytes += rq.size()
	for n := len(j.kept) - j.first; n > j.limit || n > 1 && j.bytes > j.maxBytes; n-- {
		j.bytes -= j.kept[j.first].size()
		j.kept[j.first] = nil
		j.first++
	}
	if j.first > len(j.kept)/2 {
		j.kept = append(j.kept[:0], j.kept[j.first:]...)
		clear(j.kept[len(j.kept):cap(j.kept)])
		j.first = 0
	}
}

// size is about how much memory a request takes.
func (rq *Request) size() int {
	const fixed = 400 // the struct, and what the parts of a multi and the entries of an ACL take beside their contents
	n := fixed + len(rq.Path) + len(rq.Created) + len(rq.Data)
	for _, path := range rq.Paths {
		n += 20 + len(path) // with a string's header, about
	}
	for i := range rq.Ops {
		n += fixed + len(rq.Ops[i].Path) + len(rq.Ops[i].Data) + aclSize(rq.Ops[i].ACL)
	}
	return n + aclSize(rq.ACL)
}

func aclSize(acl []jute.ACL) (n int) {
	const fixed = 40 // the struct: a number and two strings
	for i := range acl {
		n += fixed + len(acl[i].Scheme) + len(acl[i].ID)
	}
	return n
}

// Journal returns the requests whose turn came, in the order in which they were served: the last
// [Config.Journal] of them, or fewer if they would take more than [Config.JournalBytes]. One that
// was dropped while it waited, as with its connection or its front, is only numbered.
func (s *Server) Journal() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, 0, len(s.journal.kept)-s.journal.first)
	for _, rq := range s.journal.kept[s.journal.first:] {
		all = append(all, *rq)
	}
	return all
}

// ClearJournal forgets the requests so far. The numbering of requests goes on.
func (s *Server) ClearJournal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.kept, s.journal.first, s.journal.bytes = nil, 0, 0
}
