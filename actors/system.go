package actors

import (
	"context"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// System is a tree of actors. One can be shared by any number of sessions: it costs about three
// megabytes, an actor a good kilobyte.
type System struct {
	log      *slog.Logger
	restarts Restarts
	root     *node

	proto *actor.ActorSystem
}

// Option changes how a System is made.
type Option func(*System)

// WithLogger sets where panics and restarts are logged, and for debugging what the actor library
// has to say. By default nowhere.
func WithLogger(log *slog.Logger) Option {
	return func(s *System) {
		if log != nil {
			s.log = log
		}
	}
}

// WithRestarts sets how panicking actors are restarted.
func WithRestarts(r Restarts) Option { return func(s *System) { s.restarts = r } }

// New makes a system without actors. It starts no goroutine.
func New(opts ...Option) *System {
	s := &System{
		log: slog.New(slog.DiscardHandler),
	}
	for _, opt := range opts {
		opt(s)
	}
	s.restarts = s.restarts.orDefaults()
	s.root = newNode(s, nil, "", "system")
	s.proto = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quiet{s.log.Handler()}) // the library's default writes to stderr
	}))
	s.proto.Root.WithGuardian(new(supervisor))
	return s
}

// Scope is the root of the tree.
func (s *System) Scope() Scope { return Scope{s.root} }

// Done closes when the system is closed and its last actor has ended.
func (s *System) Done() <-chan struct{} { return s.root.done }

// Close stops every actor and waits until they have ended, or ctx does (its cause is returned; they
// go on ending). It may be called again and from many goroutines, but not by an actor of this
// system, which would wait for itself.
func (s *System) Close(ctx context.Context) error {
	s.root.stop()
	select {
	case <-s.root.done:
		return nil
	default:
	}
	select {
	case <-s.root.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start puts an actor into the tree and sets it going; false if the place is stopped.
func (s *System) start(parent, n *node) bool {
	c := n.cell
	c.mu.Lock() // until the library's name for it is known: it runs, and can be stopped, before that
	defer c.mu.Unlock()
	if !parent.adopt(n) {
		return false
	}
	c.pid = s.proto.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return c }, actor.WithMailbox(lists), actor.WithDispatcher(dispatcher{})))
	return true
}

// lists makes mailboxes that are linked lists: small while idle, also after a burst, where the
// library's ring buffers stay as large as they ever were.
var lists = actor.UnboundedLockfree()

// Node is an actor, or a group of them, that lives.
type Node struct {
	Name     string // as [Spec] or [Scope.Group] has it
	Kind     string // likewise
	Phase    string // what the actor's Phase said last; "failed" from a panic to the restart
	Restarts int    // how often it was restarted since it was spawned
	Children []Node // what is below it, in the order in which it was spawned
}

// Tree shows what lives, top down, siblings in the order in which they were spawned.
func (s *System) Tree() []Node { return s.root.view().Children }
