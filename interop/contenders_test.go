package interop_test

// Contenders: of other libraries, through their drivers, and of Troupe.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// foreign is a contender of another library's.
type foreign struct {
	t         *testing.T
	d         *driver
	label     string
	wants     side
	session   string // the driver's name of its session
	recipe    string // the driver's name of its recipe
	sessionID int64
}

// maker makes a foreign contender on a path. Names of clients and recipes are those of the drivers:
// testdata/java/Recipes.java, testdata/python/driver.py.
type maker struct {
	driver *shared
	client string // the kind of session
	recipe string // the kind of contender
	id     string // of a candidate; "": the recipe takes none
	wants  side
}

var targets atomic.Int64 // numbers the names of sessions and recipes, and the labels of contenders

// open opens the session of a contender that has no recipe yet.
func (m maker) open(t *testing.T, address string) *foreign {
	t.Helper()
	d, n := m.driver.get(t), targets.Add(1)
	f := &foreign{t: t, d: d, label: fmt.Sprintf("%s-%d", m.recipe, n), wants: m.wants, session: fmt.Sprintf("session%d", n), recipe: fmt.Sprintf("recipe%d", n)}
	require.NoError(t, f.ask(f.session, "open", m.client, address, "20000"))
	t.Cleanup(func() { _ = f.end() }) // it may have ended already
	r := d.call(f.session, "id")
	require.Empty(t, r.err)
	id := must(strconv.ParseUint(r.values[0], 0, 64))
	f.sessionID = int64(id)
	return f
}

func (m maker) make(t *testing.T, address, path string) *foreign {
	t.Helper()
	f := m.open(t, address)
	args := []string{m.recipe, f.session, path}
	if m.id != "" {
		args = append(args, m.id)
	}
	require.NoError(t, f.ask(f.recipe, "new", args...))
	return f
}

// contender is make with the type that a kind has.
func (m maker) contender(t *testing.T, address, path string) contender {
	t.Helper()
	return m.make(t, address, path)
}

// ask has the driver carry out a request to the session or to the recipe.
func (f *foreign) ask(target, verb string, args ...string) error {
	if r := f.d.call(target, verb, args...); r.err != "" {
		return errors.New(r.err)
	}
	return nil
}

func (f *foreign) name() string { return f.label }
func (f *foreign) side() side   { return f.wants }
func (f *foreign) id() int64    { return f.sessionID }

func (f *foreign) acquire(d time.Duration) (bool, error) { return f.acquired(f.acquiring(d)) }

// acquiring asks without waiting.
func (f *foreign) acquiring(d time.Duration) <-chan reply {
	return f.d.send(f.recipe, "acquire", fmt.Sprint(d.Milliseconds()))
}

func (f *foreign) acquired(answer <-chan reply) (bool, error) {
	r := f.d.wait(answer, f.label+" acquire")
	if r.err != "" {
		return false, errors.New(r.err)
	}
	return r.values[0] == "yes", nil
}

// ready waits until a waiter can be left to itself. LeaderElectionSupport fails, and queues again
// at the end, if a candidate leaves while it lists them.
func (f *foreign) ready(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(f.label, "support") {
		return
	}
	select {
	case <-f.d.feed(f.recipe, "ready"):
	case <-time.After(patience):
		t.Fatalf("%s never waits", f.label)
	}
}

func (f *foreign) release() error { return f.ask(f.recipe, "release") }
func (f *foreign) end() error     { return f.ask(f.session, "close") }

// possession is a grant or a term of ours.
type possession interface {
	Token() int64
	Valid() bool
	Done() <-chan struct{}
	Err() error
}

// ours is a contender of Troupe's: a lock, or a candidate in an election.
type ours struct {
	label    string
	wants    side
	session  *session.Session
	lock     *lock.Lock
	election *election.Election
	call     func(ctx context.Context) (p possession, back func(ctx context.Context) error, err error)

	has  possession                      // the last one
	back func(ctx context.Context) error // gives it back
	last int64                           // its token
}

// newLock is a constructor of package lock.
type newLock func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error)

func ourLock(t *testing.T, wants side, kind newLock, address, path string, layout lock.Layout, opts ...session.Option) *ours {
	t.Helper()
	o := newOurs(t, "lock", wants, address, opts...)
	l := must(kind(o.session, path, lock.WithLayout(layout)))
	o.lock, o.call = l, func(ctx context.Context) (possession, func(ctx context.Context) error, error) {
		g, err := l.Lock(ctx)
		return g, g.Release, err
	}
	return o
}

func ourCandidate(t *testing.T, layout election.Layout, address, path string, opts ...session.Option) *ours {
	t.Helper()
	o := newOurs(t, "candidate", alone, address, opts...)
	e := must(election.New(o.session, path, election.WithName(o.label), election.WithLayout(layout)))
	o.election, o.call = e, func(ctx context.Context) (possession, func(ctx context.Context) error, error) {
		term, err := e.Lead(ctx)
		return term, term.Resign, err
	}
	return o
}

func newOurs(t *testing.T, kind string, wants side, address string, opts ...session.Option) *ours {
	t.Helper()
	return &ours{label: fmt.Sprintf("troupe-%s-%d", kind, targets.Add(1)), wants: wants, session: open(t, address, opts...)}
}

func (o *ours) name() string { return o.label }
func (o *ours) side() side   { return o.wants }
func (o *ours) id() int64    { return o.session.Status().SessionID }

func (o *ours) acquire(d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	p, back, err := o.call(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return false, nil
	case err != nil:
		return false, err
	case p.Token() <= o.last:
		return false, fmt.Errorf("the token %d after %d", p.Token(), o.last)
	}
	o.has, o.back, o.last = p, back, p.Token()
	return true, nil
}

func (o *ours) release() error {
	if !o.has.Valid() {
		return fmt.Errorf("lost: %w", o.has.Err())
	}
	ctx, cancel := patiently()
	defer cancel()
	return o.back(ctx)
}

func (o *ours) end() error {
	ctx, cancel := patiently()
	defer cancel()
	return o.session.Close(ctx)
}

func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// gozk is a lock of the client library go-zookeeper, which needs no driver. It cannot give up
// waiting.
type gozk struct {
	label string
	conn  *zk.Conn
	lock  *zk.Lock
}

func newGozk(t *testing.T, address, path string) contender {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &gozk{fmt.Sprintf("gozk-%d", targets.Add(1)), conn, zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (g *gozk) name() string { return g.label }
func (g *gozk) side() side   { return alone }
func (g *gozk) id() int64    { return g.conn.SessionID() }

func (g *gozk) acquire(time.Duration) (bool, error) {
	done := make(chan error, 1)
	go func() { done <- g.lock.Lock() }() // ends with the lock, or with the connection at the end of the test
	select {
	case err := <-done:
		return err == nil, err
	case <-time.After(patience):
		return false, errors.New(g.label + ": stuck")
	}
}

func (g *gozk) release() error { return g.lock.Unlock() }

func (g *gozk) end() error {
	g.conn.Close()
	return nil
}
