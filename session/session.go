package session

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Session is a connection to ZooKeeper that outlives ZooKeeper sessions: it has one after another,
// numbered as epochs, until it is closed. It is safe for concurrent use.
type Session struct {
	cfg config
	log *slog.Logger
	// Its actor: see sessionActor.
	system *actors.System
	scope  actors.Scope
	ref    actors.Ref[message]
	// Its state, and its end.
	state    state
	topic    *notify.Topic[Status]
	clock    clock
	view     lease.View // the lease, as read without the mutex
	lifetime lifetime
	// Its requests.
	tasks  tasks
	space  namespace
	sender sender
	znodes znodes
	file   *sessionFile // nil: there is none
	events *events

	requests zkconn.Counts
	trees    treeSet
}

// State is the state of a session.
type State int

// The states of a session: see the package's documentation for what leads from one to another.
const (
	Connecting State = iota // there is no epoch yet, or a new one begins
	Connected               // connected, and trusted as far as anything depends on it
	Suspended               // the connection is down; the ZooKeeper session lives, and reconnection is under way
	Untrusted               // no word from the leader for so long that the ZooKeeper session may have ended
	Lost                    // the epoch is over, since the server said so or this process failed; the next begins when ZooKeeper is known to have ended the old one
	Closed                  // for good
)

// String is the state's name, in small letters.
func (s State) String() string {
	return enum.Name("State", s, "connecting", "connected", "suspended", "untrusted", "lost", "closed")
}

// Status describes a session at an instant.
type Status struct {
	State        State
	Epoch        uint64        // which ZooKeeper session, counted from 1; 0 before the first
	SessionID    int64         // the number that ZooKeeper gave it; 0 before it did
	Timeout      time.Duration // as negotiated; as asked for before that
	TrustedUntil time.Time     // until when possessions may be held without a further word from the leader; zero if never yet in this epoch
	Server       string        // host:port of the present connection, "" if there is none
	Address      string        // that it goes to: as Server, or, if that is a name, the address that it stands for

	// Cause is why the latest epoch to end has ended: [ErrExpired], which [ErrDataLoss] may come
	// with, [ErrRestarted] or [ErrClosed]; nil if none has. While a connection is looked for, it
	// says so first: for how long there has been none, and what the last attempt has seen.
	Cause error
}

// New makes a session. It does no I/O, except for [WithSessionFile]: the session connects when it
// is first needed, or with [Session.Connect]. Each of the servers is "host:port", or a list in the
// form of the Java client, "host:port,host:port/chroot"; the default port is 2181. An error names
// the argument or the option.
func New(servers []string, opts ...Option) (*Session, error) {
	cfg, err := newConfig(servers, opts)
	if err != nil {
		return nil, fmt.Errorf("session.New: %w", err)
	}
	s := &Session{
		cfg: cfg, log: cfg.log, clock: clock{base: time.Now()}, system: cfg.system,
		topic: notify.NewTopic[Status](), space: namespace{root: cfg.root, acl: cfg.acl, rootACL: cfg.acl, log: cfg.log},
	}
	s.events = newEvents(s)
	s.tasks.crashed, s.tasks.source = s.crashed, cfg.source
	s.tasks.life, s.tasks.cut = context.WithCancel(context.Background()) // of the session itself, which outlives every call; Close ends it
	s.sender = sender{state: &s.state, tasks: &s.tasks, lifetime: &s.lifetime, start: s.start, retry: cfg.retry, most: cfg.maxPacket}
	s.znodes = znodes{sender: &s.sender, space: &s.space, log: s.log}
	s.state.in = newGuarded(s)
	if s.file, err = openSessionFile(&cfg); err != nil {
		s.tasks.cut()
		return nil, fmt.Errorf("session.New: WithSessionFile: %w", err)
	}
	s.topic.Publish(s.Status())
	if s.system == nil {
		s.system, _ = actors.New(actors.WithLogger(s.log)) // which is not nil
	}
	if err := s.spawn(); err != nil {
		s.tasks.cut()
		s.file.close(false)
		return nil, fmt.Errorf("session.New: WithSystem: %w", err)
	}
	return s, nil
}

// Open is [New] and [Session.Connect]. If that fails it closes what it opened.
func Open(ctx context.Context, servers []string, opts ...Option) (*Session, error) {
	s, err := New(servers, opts...)
	if err != nil {
		return nil, err
	}
	if err := s.Connect(ctx); err != nil {
		_ = s.Close(ctx) // if ctx has ended, it goes on by itself
		return nil, err
	}
	return s, nil
}

func newConfig(servers []string, opts []Option) (config, error) {
	cfg := config{
		timeout: defaultTimeout, maxPacket: defaultMaxPacket, retry: RetryTimes(defaultRetries),
		acl: jute.OpenACL(), log: logs.New(nil), headers: func(context.Context) []string { return nil },
	}
	if err := seam.Apply(&cfg, opts); err != nil {
		return cfg, err
	}
	addrs, chroot, err := parseServers(servers)
	if err != nil {
		return cfg, err
	}
	cfg.servers = addrs
	cfg.root = chroot + strings.TrimSuffix(cfg.namespace, "/")
	if err := cfg.identify(); err != nil {
		return cfg, err
	}
	return cfg, cfg.checkTrust()
}

// spawn gives the session a place in the tree of actors, with its own actor in it.
func (s *Session) spawn() (err error) {
	s.scope, err = s.system.Scope().Group("session "+strings.Join(s.cfg.servers, ",")+s.cfg.root, "session")
	if err != nil {
		return err
	}
	g := s.state.lock()
	defer g.unlock() // until the actor's name is known
	s.ref, err = actors.Spawn(s.scope, actors.Spec[message]{
		Name: "session", Kind: "session",
		New:   func(self actors.Self[message]) actors.Receiver[message] { return newSessionActor(s, self) },
		Ended: s.actorEnded,
	})
	return err
}

// Connect begins to connect and waits until the session is connected. ctx bounds only the wait: the
// session goes on connecting. Errors: ctx's cause, with the servers and why the last attempt
// failed; [ErrClosed], [ErrAuthFailed].
func (s *Session) Connect(ctx context.Context) error {
	_, err := s.sender.conn(ctx, nil, connRef{})
	return s.space.failed("connect", "", err)
}

// Status returns the present state of the session.
func (s *Session) Status() Status {
	g := s.state.lock()
	defer g.unlock()
	return g.status()
}

// ObserveStatus subscribes to the status: the present one first, then each change; the newest
// replaces one that was not received. A status is published when the state or the epoch changes,
// not whenever trust is extended. The channel closes when ctx or the session ends.
func (s *Session) ObserveStatus(ctx context.Context) <-chan Status { return s.topic.Subscribe(ctx) }

// Done closes when the session is over: by [Session.Close], or for good ([ErrAuthFailed], an
// internal failure). Err then says why.
func (s *Session) Done() <-chan struct{} { return s.lifetime.end.Done() }

// Err is nil exactly while Done is open: [ErrClosed] after Close, else the cause.
func (s *Session) Err() error { return s.lifetime.end.Err() }

// Path returns the absolute path in ZooKeeper: with the chroot and the namespace in front.
func (s *Session) Path(path string) string { return s.space.path(path) }

// Relative returns the path in this session of an absolute one in ZooKeeper; false if that is
// outside the namespace.
func (s *Session) Relative(path string) (string, bool) { return s.space.lookup(path) }

// reaches tells whether two sessions are on the same ensemble, as far as their servers' addresses
// tell: they have one in common.
func reaches(s, other *Session) bool {
	return s == other || slices.ContainsFunc(s.cfg.servers, func(addr string) bool { return slices.Contains(other.cfg.servers, addr) })
}

// beside is reaches for callers that must not be wrong. Where the application has a dialer
// ([WithDialer]), the same addresses may lead elsewhere, unless the sessions share a system of
// actors.
func beside(s, other *Session) bool {
	return s == other || reaches(s, other) && (s.system == other.system || s.cfg.dial == nil && other.cfg.dial == nil)
}

// start is recipe.Start.
func (s *Session) start() {
	g := s.state.lock()
	first := !g.started && !g.closing
	if first {
		g.started = true
		g.emit(Event{Kind: EventStarted})
	}
	g.unlock()
	if first {
		s.ref.Tell(begin{})
		s.runDeferred()
	}
}

// afterStart is recipe.AfterStart: see recipe.WithDeferredStart.
func (s *Session) afterStart(f func()) {
	g := s.state.lock()
	wait := s.cfg.deferred && !g.started && !g.closing
	if wait {
		g.deferred = append(g.deferred, f)
	}
	g.unlock()
	if !wait {
		s.start()
		f()
	}
}

func (s *Session) runDeferred() {
	g := s.state.lock()
	waiting := g.deferred
	g.deferred = nil
	g.unlock()
	for _, f := range waiting {
		f()
	}
}

// newClient is seam.NewClient.
func (s *Session) newClient(name string, on func(seam.Event), acl ...ACL) (*client, error) {
	t := &client{session: s, name: name, space: s.space, deliver: on, holds: make(map[*Hold]struct{}), writes: make(map[*notify.Latch]struct{})}
	if len(acl) > 0 {
		t.space.acl = convert[jute.ACL](acl)
	}
	g := s.state.lock()
	if g.closing {
		g.unlock()
		return nil, s.space.failed("client", "", s.lifetime.closedErr())
	}
	g.clientCount++
	t.number = g.clientCount
	g.clients[t] = struct{}{}
	g.unlock()
	s.ref.Tell(arrived{t})
	return t, nil
}

// crashed is called with what a goroutine or a timer of the session has panicked with: its actor
// then panics too.
func (s *Session) crashed(reason any) {
	s.log.Error("session panicked", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
	s.ref.Tell(crashed{reason})
}

// The functions of a session that recipes have, and applications do not see.
func init() {
	seam.NewClient = func(s any, name string, on func(seam.Event), acl any) (seam.Client, error) {
		given, _ := acl.([]ACL)
		t, err := s.(*Session).newClient(name, on, given...)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
	seam.AfterStart = (*Session).afterStart
	seam.Beside = beside
	seam.ConnectedAt = connectedAt
	seam.DeferStart = Option(func(c *config) error { c.deferred = true; return nil })
	seam.Emit = func(s *Session, ev Event) { s.events.add(ev) }
	seam.EnsureAbove = func(ctx context.Context, s *Session, path string, times int) error {
		s.znodes.pauseIfRepeated(ctx, times, "what was created is gone at once, again and again; pausing between attempts", "path", s.Path(path))
		return s.EnsurePath(ctx, parentOf(path))
	}
	seam.Failed = (*Session).failed
	seam.HoldOf = holdOf
	seam.HoldsFrom = func(ctx context.Context) []*Hold { return slices.Collect(holdsFrom(ctx)) }
	seam.Identity = func(s any) znode.Identity { return s.(*Session).cfg.identity }
	seam.JoinHolds = joinHolds
	seam.Logger = func(s *Session) *slog.Logger { return s.log }
	seam.Headers = func(ctx context.Context, s *Session) []string { return s.cfg.headers(ctx) }
	seam.Hooks = withHooks
	for _, d := range zkconn.Bounds {
		seam.RequestBounds = append(seam.RequestBounds, d.Seconds())
	}
	seam.Reaches = reaches
	seam.Start = (*Session).start
	seam.Turn = func(s *Session, least time.Duration) time.Duration { return s.cfg.source.Turn(least) }
	seam.Under = under
	seam.Within = within
	seam.Scope = func(s *Session) actors.Scope { return s.scope }
	seam.CheckACL = func(acl []ACL) error { return validateACL(convert[jute.ACL](acl)) }
}
