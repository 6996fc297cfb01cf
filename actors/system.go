package actors

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/notify"
)

// System is a tree of actors, with a log and restarts of its own. Any number of sessions can share
// one. All systems of a process run on one of the actor library, which takes some three megabytes
// from the first actor on, and no goroutine; an actor takes slightly more than a kilobyte.
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

// Option configures a System.
type Option func(*System)

// WithLogger sets where panics are logged, by a goroutine of its own. By default nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(s *System) {
		if log != nil {
			s.log = logs.New(log.Handler())
		}
	}
}

// WithRestarts sets how panicking actors are restarted.
func WithRestarts(r Restarts) Option { return func(s *System) { s.restarts = r } }

// New creates a system without actors. It starts no goroutine.
func New(opts ...Option) *System {
	s := &System{log: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	s.restarts = s.restarts.orDefaults()
	s.root = newNode(s, nil, "", "system")
	return s
}

// Scope is the root of the tree.
func (s *System) Scope() Scope { return Scope{s.root} }

// Done closes when the system is closed and its last actor has ended.
func (s *System) Done() <-chan struct{} { return s.root.done }

// Close stops every actor and waits until they have ended, or ctx has (its cause is returned; they
// go on ending). It may be called again and concurrently, but not by an actor of this system.
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
	Name     string // as [Spec] or [Scope.Group] has it
	Kind     string // likewise
	Phase    string // what the actor's Phase said last; "failed" from a panic to the restart
	Restarts int    // how often it was restarted since it was spawned
	Children []Node // what is below it, in the order in which it was spawned
}

// Tree returns the live actors, top down, siblings in the order in which they were spawned.
func (s *System) Tree() []Node { return s.root.view().Children }

var (
	// ErrStopped: the actor or the scope is stopped or about to be. A Receiver's Stopping gets it
	// when no incarnation follows.
	ErrStopped = errors.New("the actor is stopped")

	// ErrGivenUp: the actor panicked more often than its restarts allow. It comes with the value of
	// the last panic.
	ErrGivenUp = errors.New("the actor was given up after too many panics")

	// ErrRestarting is what a Receiver's Stopping gets when its incarnation panicked and another
	// one follows.
	ErrRestarting = errors.New("the actor restarts after a panic")
)
