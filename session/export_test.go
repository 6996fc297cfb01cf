package session

import (
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// What recipes have of a session: package recipe describes them.
var (
	HoldsFrom = holdsFrom
	Start     = (*Session).start
	Under     = under
	Within    = within
)

// do is a message that lets the session's own actor do something.
type do func(a *sessionActor)

func (f do) deliver(a *sessionActor) { f(a) }

// doWatch is a message that lets the actor of a shared watch do something.
type doWatch[T any] func(w *sharedWatchActor[T])

func (f doWatch[T]) deliver(w *sharedWatchActor[T]) { f(w) }

// PanicSession makes the session's own actor panic.
func PanicSession(s *Session, value any) { s.ref.Tell(do(func(*sessionActor) { panic(value) })) }

// BlockActor keeps the session's own actor from everything else until it is unblocked.
func BlockActor(s *Session) (unblock func()) {
	blocked := make(chan struct{})
	s.ref.Tell(do(func(*sessionActor) { <-blocked }))
	return func() { close(blocked) }
}

// PanicWatchData makes the actor behind WatchData of a path panic; false if there is none.
func PanicWatchData(s *Session, path string, value any) bool {
	g := s.state.lock()
	w := g.dataWatches[path]
	g.unlock()
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ref.Tell(doWatch[Data](func(*sharedWatchActor[Data]) { panic(value) }))
}

// ShiftWall lets the session see the wall clock jump.
func ShiftWall(s *Session, d time.Duration) { s.clock.wallSlip.Add(int64(d)) }

// ShiftMono lets the session see the monotonic clock jump.
func ShiftMono(s *Session, d time.Duration) { s.clock.monoSlip.Add(int64(d)) }

// LockState takes the session's mutex, so that it notices nothing until that is released.
func LockState(s *Session) (unlock func()) {
	g := s.state.lock()
	return g.unlock
}

// WatchEntries is how many watches the session's table has: what ZooKeeper is believed to watch.
func WatchEntries(s *Session) int {
	g := s.state.lock()
	w := g.cur.watched
	g.unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.table.Len()
}

// RecordLen is how many znodes of the session's clients exist, or may.
func RecordLen(s *Session) int {
	g := s.state.lock()
	defer g.unlock()
	return len(g.record.all)
}

// SharedWatches is how many shared watches there are.
func SharedWatches(s *Session) int {
	g := s.state.lock()
	defer g.unlock()
	return len(g.dataWatches) + len(g.childWatches)
}

// ReleaseFile releases the session's file as the end of its process does.
func ReleaseFile(s *Session) {
	inUse.mu.Lock()
	defer inUse.mu.Unlock()
	delete(inUse.all, s.file.key)
	_ = s.file.file.Close()
}

// Saved is what a session file says of a host's session.
func Saved(host string, id int64, password []byte, servers ...string) []byte {
	return (&saved{Session: id, Password: password, Timeout: 10_000, Host: host, Servers: servers}).text()
}

// What only recipes see, and these tests.
type (
	Client       = client
	ClientEvent  = seam.Event
	Disconnected = machine.Suspended
	EpochBegan   = machine.EpochBegan
	EpochEnded   = seam.EpochEnded
	Fired        = machine.Fired
	Found        = seam.Found
	Join         = seam.Join
	Joined       = seam.Joined
	Listed       = seam.Listed
	Query        = seam.Query
	Reconnected  = machine.Resumed
	Seen         = seam.Seen
	SessionEnded = seam.SessionEnded
	TrustEnded   = machine.TrustEnded
	TrustGained  = machine.TrustGained
)

var (
	HoldOf      = holdOf
	JoinHolds   = joinHolds
	ValidateACL = validateACL
)

func (s *Session) Client(name string, on func(ClientEvent), acl ...ACL) (*Client, error) {
	return s.newClient(name, on, acl...)
}

func (s *Session) Logger() *slog.Logger { return s.log }

func (t *client) Leftovers() []string { return t.leftovers() }
