package session

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// client is what a recipe has of a session: it is told in order what happens, and its requests are
// each bound to an epoch, so that none of them ever acts in another. An epoch's number is known
// from its [machine.EpochBegan]; no event of a watch is told before that.
//
// Its requests return at once. The outcome of one is passed to its done function, exactly once,
// from a goroutine of the session; done must not block. If the session is closed already, done is
// called before the request returns. Paths are the session's, without the namespace. The loss of a
// connection is no error: reads are asked again after the reconnection, writes whose answer was
// lost are resolved by reading. The errors that remain are definite: what the server says,
// [ErrExpired] when the epoch is over, [ErrClosed], [ErrTooLarge].
type client struct {
	// Constant.
	session *Session
	name    string
	number  uint64
	space   namespace // the session's, with the ACL of the client's znodes
	lasting bool      // see UntilExpiry

	describe atomic.Pointer[func(*Snapshot)] // nil: it is in no snapshot
	// Its events.
	left    atomic.Bool // no event is delivered any more
	telling sync.Mutex  // held while an event is delivered; guards told and down
	deliver func(seam.Event)
	told    uint64 // the epoch whose beginning, and not yet its end, was delivered; 0: none
	down    bool   // the latest event of the connection was machine.Suspended

	repeats atomic.Int32 // creations in a row that repeat one (see [ephemeral.repeats]), the first included; 0 after a deletion by the client
	// Guarded by the session's mutex.
	ephemerals map[*ephemeral]struct{} // the client's znodes in the record
	last       *ephemeral              // the latest that repeats counts; nil only if repeats is 0
	holds      map[*Hold]struct{}
	queue      string // the parent of the contender that it created last

	writing sync.Mutex                 // guards writes
	writes  map[*notify.Latch]struct{} // its transactions that are under way
}

// Leave ends the client. No event comes after it has returned. The znodes that the client has in
// ZooKeeper are deleted in the background, until the epoch ends; its holds end with [ErrReleased].
// It is idempotent.
func (t *client) Leave() {
	if !t.endEvents() {
		return
	}
	s := t.session
	orphans, e := s.state.removeClient(t)
	if e != nil {
		e.watched.change(func(table *watches.Table) { table.Leave(t) })
	}
	for _, n := range orphans {
		s.znodes.sweep(n)
	}
}

// UntilExpiry has the client's holds outlive trust, and the connection under [WithStrict]: they
// last until their epoch is known to be over. [Hold.Valid] and [Hold.Commit] follow trust all the
// same. It is called before the first hold.
func (t *client) UntilExpiry() { t.lasting = true }

// undertake counts a transaction among those that are under way; over ends that.
func (t *client) undertake() (over func()) {
	l := new(notify.Latch)
	t.writing.Lock()
	defer t.writing.Unlock()
	t.writes[l] = struct{}{}
	return func() {
		t.writing.Lock()
		delete(t.writes, l)
		t.writing.Unlock()
		l.Close()
	}
}

// underway are the transactions that are under way now: see [client.Recover].
func (t *client) underway() []*notify.Latch {
	t.writing.Lock()
	defer t.writing.Unlock()
	return slices.Collect(maps.Keys(t.writes))
}

// within runs a request in an epoch: request for as long as that is the present one, refuse
// otherwise.
func (t *client) within(number uint64, request func(e *epoch), refuse func(err error)) {
	t.entered(number, func(e *epoch) (func(), error) { return func() { request(e) }, nil }, refuse)
}

// entered is within for what has to be in the record when it returns, so that a recovery that is
// asked for from then on knows of it: enter does that, and returns the request.
func (t *client) entered(number uint64, enter func(e *epoch) (request func(), err error), refuse func(err error)) {
	s := t.session
	g := s.state.lock()
	e, err := g.current(number), ErrExpired
	if g.closing {
		e, err = nil, ErrClosed
	}
	g.unlock()
	var request func()
	if e != nil {
		request, err = enter(e)
	}
	if request == nil {
		refusal := err // apart, so that err is on the stack where nothing is refused
		request = func() { refuse(refusal) }
	}
	if !s.tasks.run(request) {
		refuse(ErrClosed) // and the end of the session has cleared the record
	}
}

// Ensure makes what is missing of a path: the znode itself persistent, with data, or as a container
// without if container; those above it as containers, where the server has them. One that exists is
// left as it is. It may be repeated without harm, so a lost answer is no error.
func (t *client) Ensure(number uint64, path string, container bool, data []byte, done func(error)) {
	s := t.session
	if err := validate(path); err != nil {
		t.within(number, func(*epoch) { done(err) }, func(error) { done(err) })
		return
	}
	t.within(number, func(e *epoch) {
		at := s.space.path(path)
		done(s.sender.insist(e, bounded(func(c *zkconn.Conn) error {
			err := t.space.create(c, at, container, data)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err := t.space.ensure(c, parentOf(at), jute.FlagContainer); err != nil {
				return err
			}
			return t.space.create(c, at, container, data)
		})))
	}, done)
}

// endEvents ends the events: none is under way when it returns. False: they had ended before.
func (t *client) endEvents() bool {
	t.telling.Lock()
	defer t.telling.Unlock()
	return !t.left.Swap(true)
}

// Left implements [watches.Client].
func (t *client) Left() bool { return t.left.Load() }

var changes = map[watches.EventType]machine.Change{
	watches.Created: machine.DataChanged, watches.DataChanged: machine.DataChanged,
	watches.ChildrenChanged: machine.ChildrenChanged, watches.Deleted: machine.Deleted,
}

// fired tells of an event of a watch that was armed in an epoch, if the client is in that epoch.
func (t *client) fired(e machine.Fired) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if !t.Left() && t.told == e.Epoch {
		t.deliver(e)
	}
}

// tell tells of an event of the epoch that the client was told of. That the connection is down is
// told once.
func (t *client) tell(n seam.Event) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.Left() || t.told == 0 {
		return
	}
	switch n.(type) {
	case machine.Suspended:
		if t.down {
			return
		}
		t.down = true
	case machine.Resumed:
		t.down = false
	}
	t.deliver(n)
}

// beginEpoch tells of a new epoch, once; false if the client was told of it before.
func (t *client) beginEpoch(n machine.EpochBegan) bool {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.Left() || t.told == n.Epoch {
		return false
	}
	t.told, t.down = n.Epoch, false
	t.deliver(n)
	return true
}

// endEpoch tells of the end of the epoch that the client was told of, and whether ZooKeeper has
// confirmed that end.
func (t *client) endEpoch(cause error, gone bool) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.Left() || t.told == 0 {
		return
	}
	n := seam.EpochEnded{Epoch: t.told, Cause: cause, Gone: gone}
	t.told = 0
	t.deliver(n)
}

func (t *client) endSession(cause error, gone bool) {
	t.endEpoch(cause, gone)
	t.telling.Lock()
	defer t.telling.Unlock()
	if !t.Left() {
		t.deliver(seam.SessionEnded{Cause: cause})
	}
}
