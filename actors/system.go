package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/notify"
)

// System is a tree of actors, with a log and restarts of its own. Any number of sessions can share
// one: see session.WithSystem. The first actor of the process makes the actor library allocate some
// three megabytes, for all systems, and no goroutine; an actor takes slightly more than a kilobyte.
type System struct {
	log      *slog.Logger
	restarts Restarts
	root     *node
}

// library is the actor library's system, of all actors of the process. It is never closed. An actor
// that has ended leaves nothing behind in it.
var library = sync.OnceValue(func() *actor.RootContext {
	proto := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler) // the library's default writes to stderr; this package logs the facts that a user needs
	}))
	return proto.Root.WithGuardian(new(supervisor))
})

// Option changes how a [System] is made. [New] reports what is wrong with one.
type Option func(*System) error

// WithLogger sets the logger that panics are logged to, by a goroutine of its own. It must not be
// nil. By default nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(s *System) error {
		if log == nil {
			return errors.New("WithLogger: nil")
		}
		s.log = logs.New(log.Handler())
		return nil
	}
}

// WithRestarts sets how often an actor that panics is restarted, and after what pauses. A negative
// field, and a Max below Min, are errors.
func WithRestarts(r Restarts) Option {
	return func(s *System) error {
		s.restarts = r.orDefaults()
		if min(r.Min, r.Max, r.Within) < 0 || r.Limit < 0 {
			return fmt.Errorf("WithRestarts: a field is negative: %+v", r)
		}
		if r.Max > 0 && r.Max < s.restarts.Min {
			return fmt.Errorf("WithRestarts: Max: %v is less than Min, %v", r.Max, s.restarts.Min)
		}
		return nil
	}
}

// New makes a system without actors. It starts no goroutine. An error names the option.
func New(opts ...Option) (*System, error) {
	s := &System{log: slog.New(slog.DiscardHandler), restarts: Restarts{}.orDefaults()}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("actors.New: opts[%d]: nil", i)
		}
		if err := opt(s); err != nil {
			return nil, fmt.Errorf("actors.New: %w", err)
		}
	}
	s.root = newNode(s, nil, "", "system")
	return s, nil
}

// Scope returns the root of the tree.
func (s *System) Scope() Scope { return Scope{s.root} }

// Done returns a channel that the system closes when [System.Close] was called and the last actor
// has ended.
func (s *System) Done() <-chan struct{} { return s.root.done }

// Close stops every actor and waits until all have ended. If ctx ends first, it returns ctx's
// cause, and the actors go on ending. It may be called again and concurrently, but not by an actor
// of this system, which would wait for itself.
func (s *System) Close(ctx context.Context) error {
	s.root.stop()
	return notify.Wait(ctx, s.root.done)
}

// start adds an actor to the tree and starts it; false if the scope is stopped.
func (s *System) start(parent, n *node) bool {
	c := n.cell
	c.mu.Lock() // until the actor's pid is known: it runs, and can be stopped, before that
	defer c.mu.Unlock()
	if !parent.adopt(n) {
		return false
	}
	c.pid = library().Spawn(actor.PropsFromProducer(func() actor.Actor { return c }, actor.WithMailbox(lists), actor.WithDispatcher(new(dispatcher))))
	return true
}

// lists makes mailboxes that are linked lists: small while idle, also after a burst, where the
// library's ring buffers stay as large as they ever were.
var lists = actor.UnboundedLockfree()

// Node is a live actor, or a group of them.
type Node struct {
	Name     string // of [Spec] or [Scope.Group]
	Kind     string // likewise
	Phase    string // the last result of the actor's Phase method; "failed" from a panic to the restart
	Restarts int    // how often the actor was restarted since it was spawned
	Children []Node // the actors and groups below it, in the order in which they were spawned
}

// Tree returns the live actors, top down, siblings in the order in which they were spawned.
func (s *System) Tree() []Node { return s.root.view().Children }

var (
	// ErrStopped: the actor or the scope has stopped, or is about to. A Receiver's Stopping gets it
	// when no incarnation follows.
	ErrStopped = errors.New("the actor is stopped")

	// ErrGivenUp: the actor panicked more often than [Restarts] allows. The error that wraps it has
	// the value of the last panic.
	ErrGivenUp = errors.New("the actor was given up after too many panics")

	// ErrRestarting is what a Receiver's Stopping gets when its incarnation panicked and another
	// one follows.
	ErrRestarting = errors.New("the actor restarts after a panic")
)
