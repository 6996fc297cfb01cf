package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// System is a tree of actors. One can be shared by any number of sessions; it costs some megabytes, an actor about one kilobyte.
type System struct {
	proto    *actor.ActorSystem
	log      *slog.Logger
	restarts Restarts
	root     *node
	byID     sync.Map // of the actor library's names to *node
}

// Option changes how a System is made.
type Option func(*System)

// WithLogger sets where panics, restarts and what the actor library has to say are logged. By default nowhere.
func WithLogger(log *slog.Logger) Option { return func(s *System) { s.log = log } }

// WithRestarts sets how panicking actors are restarted. Fields that are zero keep their defaults.
func WithRestarts(r Restarts) Option { return func(s *System) { s.restarts = r } }

// New makes a system without actors.
func New(opts ...Option) *System {
	s := &System{log: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		opt(s)
	}
	s.restarts = s.restarts.orDefaults()
	s.proto = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return s.log }),
		// The library's report of a message to an actor that has just gone costs a goroutine for this long.
		actor.WithDeadLetterThrottleInterval(time.Nanosecond),
		actor.WithDeadLetterThrottleCount(0),
		actor.WithDeadLetterRequestLogging(false),
	)
	s.root = newNode(s, nil, "", "system")
	return s
}

// Scope is the root of the tree.
func (s *System) Scope() Scope { return Scope{s.root} }

// Done closes when the system is closed and its last actor has ended.
func (s *System) Done() <-chan struct{} { return s.root.done }

// Close stops every actor and waits until they have ended or ctx does. It is idempotent.
func (s *System) Close(ctx context.Context) error {
	s.root.stop()
	select {
	case <-s.root.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Node is an actor, or a group of them, that lives.
type Node struct {
	Name     string
	Kind     string
	Phase    string // what the actor's Phase said after its last message; "failed" while it waits for its restart
	Restarts int
	Children []Node
}

// Tree shows what lives, top down, siblings in the order in which they were spawned.
func (s *System) Tree() []Node { return s.root.view().Children }
