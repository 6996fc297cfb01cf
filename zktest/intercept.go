package zktest

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Request is a decoded request; in the journal, with its result. Data and Ops must not be altered.
type Request struct {
	K         int64     // its number among all requests to the server, from 1 on
	Time      time.Time // when it arrived
	Front     int       // which server received it
	SessionID int64     // of a handshake: the session that it asks for, 0 for a new one
	Xid       int32     // the client's number for it
	Op        Op        // a handshake is OpConnect
	Path      string
	Data      []byte
	ACL       []jute.ACL // of create and setACL: entries with Perms, Scheme, ID
	Version   int32      // as asked for; -1 for any
	Flags     int32      // of a create: its mode, in ZooKeeper's numbers
	TTL       time.Duration
	Watch     bool           // it sets a watch
	Ops       []jute.Request // of a multi or multiRead: its parts, each with Op, Path, Data, Version, …
	Paths     []string       // of setWatches: all paths

	// In the journal only.
	Served  bool   // it was carried out
	Replied bool   // it was answered
	Err     Code   // of the answer
	Zxid    int64  // of the answer
	Created string // the path that a create was answered with
	Fired   int    // how many watch events it caused, among all clients
}

// Op is the kind of a request; its String is ZooKeeper's name of it, as "create" or "getChildren2".
type Op = jute.Op

// The kinds of requests that assertions are mostly about. A handshake is an [OpConnect].
const (
	OpCreate          = jute.OpCreate
	OpCreate2         = jute.OpCreate2
	OpCreateContainer = jute.OpCreateContainer
	OpCreateTTL       = jute.OpCreateTTL
	OpDelete          = jute.OpDelete
	OpExists          = jute.OpExists
	OpGetData         = jute.OpGetData
	OpSetData         = jute.OpSetData
	OpGetACL          = jute.OpGetACL
	OpSetACL          = jute.OpSetACL
	OpGetChildren     = jute.OpGetChildren
	OpGetChildren2    = jute.OpGetChildren2
	OpSync            = jute.OpSync
	OpPing            = jute.OpPing
	OpCheck           = jute.OpCheck
	OpMulti           = jute.OpMulti
	OpMultiRead       = jute.OpMultiRead
	OpSetAuth         = jute.OpSetAuth
	OpSetWatches      = jute.OpSetWatches
	OpRemoveWatches   = jute.OpRemoveWatches
	OpCloseSession    = jute.OpCloseSession
	OpConnect         = jute.OpCreateSession
)

// Code is the error code of a reply.
type Code = jute.Code //nolint:errname // it is ZooKeeper's code, which happens to be usable as an error

// The codes that injected errors mostly have.
const (
	ErrSystem           = jute.SystemError
	ErrMarshalling      = jute.MarshallingError
	ErrUnimplemented    = jute.Unimplemented
	ErrOperationTimeout = jute.OperationTimeout
	ErrBadArguments     = jute.BadArguments
	ErrNoNode           = jute.NoNode
	ErrNoAuth           = jute.NoAuth
	ErrBadVersion       = jute.BadVersion
	ErrNodeExists       = jute.NodeExists
	ErrNotEmpty         = jute.NotEmpty
	ErrSessionExpired   = jute.SessionExpired
	ErrSessionMoved     = jute.SessionMoved
	ErrQuotaExceeded    = jute.QuotaExceeded
	ErrThrottled        = jute.ThrottledOp
	ErrLocalSession     = jute.EphemeralOnLocalSession
	ErrAuthRequired     = jute.SessionClosedNoAuth // of every request that comes before an authentication on which the server insists
)

// Verdict is what an interceptor decides for a request.
type Verdict struct{ inner zkserver.Verdict }

// The verdicts without parameters.
var (
	Pass        = Verdict{zkserver.Pass}        // serve it
	DropRequest = Verdict{zkserver.DropRequest} // as if it had never arrived
	DropReply   = Verdict{zkserver.DropReply}   // serve it, but never answer; what comes later on the connection is answered
	CutBefore   = Verdict{zkserver.CutBefore}   // close the connection instead of serving it: a lost request
	CutAfter    = Verdict{zkserver.CutAfter}    // serve it, then close the connection before the answer: a lost reply, as the network loses one
)

// Delay serves a request after d. Later requests on the same connection wait as well.
func Delay(d time.Duration) Verdict { return Verdict{zkserver.Delay(d)} }

// Fail answers with an error and does not carry the request out. A handshake that fails is answered
// as if the session had expired.
func Fail(code Code) Verdict { return Verdict{zkserver.Fail(code)} }

// Intercept calls f for every request, handshakes and pings included, before it is served. f is
// called on the goroutine of the request's connection: it may call the server's methods except
// Close, which waits for it, and the request waits while f runs. Of several interceptors the first
// that doesn't pass a request decides. The request is f's own copy, which it may keep.
func (s *Server) Intercept(f func(*Request) Verdict) (remove func()) {
	return s.inner.Intercept(func(q *zkserver.Request) zkserver.Verdict {
		copied := Request(*q)
		return f(&copied).inner
	})
}

// Journal lists the requests that the server has received, in the order in which they were served:
// the last 65,536, or as many as [WithJournal] says, and fewer if they would take more than 64 MB.
// Every request has its reply and the number of watch events that it caused.
func (s *Server) Journal() (all []Request) {
	for _, q := range s.inner.Journal() {
		all = append(all, Request(q))
	}
	return all
}

// ClearJournal empties the journal.
func (s *Server) ClearJournal() { s.inner.ClearJournal() }
