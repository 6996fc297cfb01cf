package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Session is the way to ZooKeeper. It lives until it is closed, across any number of ZooKeeper
// sessions, which it numbers as epochs. It is safe for concurrent use.
type Session struct {
	cfg    config
	log    *slog.Logger
	clock  clock
	view   lease.View // the lease, as read without the mutex
	system *actors.System
	scope  actors.Scope
	ref    actors.Ref[message]
	topic  *notify.Topic[Status]
	refuse *notify.End   // why nothing can be asked any more
	end    *notify.End   // the same, once what was held has ended
	gone   *notify.Latch // everything is torn down
	tasks  tasks
	life   context.Context // of the tasks; ends with the session
	cut    context.CancelFunc

	unconfirmed error // the ZooKeeper session was left to expire; set before gone

	mu           sync.Mutex
	started      bool
	deferred     []func() // to be called after the start
	closing      bool
	failing      bool          // from within: see fail
	epochs       uint64        // how many there have been
	cur          *epoch        // the present one; also one that has ended, until the next begins
	gate         *notify.Latch // closes, and is replaced, when requests may have become possible, or impossible for good
	lease        lease.Lease
	doubted      bool          // the end of trust was announced
	pacing       alarm         // for the next sync
	waning       alarm         // for the end of trust
	looking      alarm         // for a look at the clocks
	doubtAt      lease.Instant // when the want of trust is announced
	seats        map[*Seat]struct{}
	seatCount    uint64
	holds        map[*Hold]struct{}
	dropped      []*Hold            // over, and to be finished: see unlock
	standby      map[*Seat]struct{} // who may want a hold at any moment
	refused      int                // 1: somebody was refused a hold for want of trust, which has not come since
	ledger       ledger
	dataWatches  map[string]*shared[Data]
	childWatches map[string]*shared[Children]
}

// New makes a session. It does no I/O: the session connects when it is first needed, or with
// [Session.Connect]. Each of the servers is "host:port", or a list in the form of the Java client,
// "host:port,host:port/chroot"; without a port it is 2181. What is wrong is reported with the name
// of the argument or the option.
func New(servers []string, opts ...Option) (*Session, error) {
	cfg, err := newConfig(servers, opts)
	if err != nil {
		return nil, fmt.Errorf("session.New: %w", err)
	}
	s := &Session{
		cfg: cfg, log: cfg.log, clock: clock{base: time.Now()}, system: cfg.system,
		topic: notify.NewTopic[Status](), refuse: notify.NewEnd(), end: notify.NewEnd(), gone: notify.NewLatch(), gate: notify.NewLatch(),
		seats: make(map[*Seat]struct{}), holds: make(map[*Hold]struct{}), standby: make(map[*Seat]struct{}), dataWatches: make(map[string]*shared[Data]), childWatches: make(map[string]*shared[Children]),
	}
	s.lease = lease.New(lease.Config{Tick: cfg.tick, Margin: cfg.margin}, &s.view)
	s.tasks.guard = s.guard
	s.life, s.cut = context.WithCancel(context.Background()) // of the session itself, which outlives every call; Close ends it
	s.pacing = alarm{tasks: &s.tasks, mu: &s.mu, react: s.pace}
	s.waning = alarm{tasks: &s.tasks, mu: &s.mu, react: s.wane}
	s.looking = alarm{tasks: &s.tasks, mu: &s.mu, react: s.look}
	s.topic.Publish(s.Status())
	if s.system == nil {
		s.system = actors.New(actors.WithLogger(s.log))
	}
	if err := s.spawn(); err != nil {
		s.cut()
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
		_ = s.Close(ctx) // at once if ctx has ended; else the session has, and what there was of it is closed by itself
		return nil, err
	}
	return s, nil
}

func newConfig(servers []string, opts []Option) (config, error) {
	cfg := config{
		timeout: defaultTimeout, maxPacket: defaultMaxPacket, retry: RetryTimes(defaultRetries),
		acl: AnyoneACL(PermAll), log: slog.New(slog.DiscardHandler),
	}
	for i, opt := range opts {
		if opt == nil {
			return cfg, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&cfg); err != nil {
			return cfg, err
		}
	}
	addrs, chroot, err := parseServers(servers)
	if err != nil {
		return cfg, err
	}
	cfg.servers = addrs
	cfg.root = chroot + strings.TrimSuffix(cfg.namespace, "/")
	return cfg, cfg.checkTrust()
}

// spawn gives the session a place in the tree of actors, with its own actor in it.
func (s *Session) spawn() (err error) {
	s.scope, err = s.system.Scope().Group("session "+strings.Join(s.cfg.servers, ",")+s.cfg.root, "session")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock() // until the actor's name is known
	s.ref, err = actors.Spawn(s.scope, actors.Spec[message]{
		Name: "session", Kind: "session",
		New:   func(self actors.Self[message]) actors.Receiver[message] { return newSteward(s, self) },
		Ended: s.actorEnded,
	})
	return err
}

// Connect begins to connect and waits until the session is connected, or until ctx or the session
// ends. ctx bounds the wait only: the session goes on connecting. Errors: ctx's cause, with the
// servers and why the last attempt failed; [ErrClosed], [ErrAuthFailed].
func (s *Session) Connect(ctx context.Context) error {
	_, err := s.pass(ctx, nil, passage{})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no connection to %s: %w", strings.Join(s.cfg.servers, ", "), s.because(err))
	}
	return failed("connect", "", err)
}

// because adds to an error why there is no connection, if that is known.
func (s *Session) because(err error) error {
	s.mu.Lock()
	var conn *zkconn.Conn
	if s.cur != nil {
		conn = s.cur.conn
	}
	s.mu.Unlock()
	if conn == nil {
		return err
	}
	if why := conn.Trouble(); why != nil {
		return fmt.Errorf("%w (%w)", err, why)
	}
	return err
}

// Status is how the session stands now.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status()
}

// Observe is a subscription to the status: the present one first, then each change, the newest
// replacing one that was not received. A status is published when the state or the epoch changes,
// not with each extension of trust. The channel closes when ctx or the session ends.
func (s *Session) Observe(ctx context.Context) <-chan Status { return s.topic.Subscribe(ctx) }

// status is called with mu held.
func (s *Session) status() Status {
	st := Status{State: s.state(), Timeout: s.cfg.timeout}
	e := s.cur
	if e == nil {
		return st
	}
	st.Epoch, st.SessionID, st.Server, st.Address = e.number, e.sessionID, e.server, e.address
	if e.timeout > 0 {
		st.Timeout = e.timeout
	}
	if until := s.lease.Until(); until != (lease.Instant{}) {
		st.TrustedUntil = until.Wall
	}
	return st
}

// state is called with mu held.
func (s *Session) state() State {
	e := s.cur
	switch {
	case s.closing:
		return Closed
	case e != nil && e.over:
		return Lost
	case e == nil || !e.begun:
		return Connecting
	case s.doubted:
		return Untrusted
	case !e.up:
		return Suspended
	}
	return Connected
}

// turned tells whoever waits or observes that something has changed. With mu held.
func (s *Session) turned() {
	s.gate.Close()
	s.gate = notify.NewLatch()
	s.topic.Publish(s.status())
}

// Done closes when the session is over: by [Session.Close], or for good ([ErrAuthFailed], an
// internal failure). Err then says why.
func (s *Session) Done() <-chan struct{} { return s.end.Done() }

// Err is nil exactly while Done is open: [ErrClosed] after Close, else the cause.
func (s *Session) Err() error { return s.end.Err() }

// Logger is where this session logs, see [WithLogger]. For those who write recipes.
func (s *Session) Logger() *slog.Logger { return s.log }

// Scope is where in the tree of actors what belongs to this session lives. For those who write
// recipes.
func (s *Session) Scope() actors.Scope { return s.scope }

// closedErr is why nothing can be asked any more. A session that failed for good is closed too, and
// says both.
func (s *Session) closedErr() error {
	if err := s.refuse.Err(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return ErrClosed
}

// current is the present epoch's number if it is this one. With mu held.
func (s *Session) current(number uint64) *epoch {
	if s.cur == nil || s.cur.number != number || s.cur.over {
		return nil
	}
	return s.cur
}

// members is a copy of the seats. With mu held.
func (s *Session) members() []*Seat {
	seats := make([]*Seat, 0, len(s.seats))
	for t := range s.seats {
		seats = append(seats, t)
	}
	slices.SortFunc(seats, func(a, b *Seat) int { return int(a.number) - int(b.number) })
	return seats
}
