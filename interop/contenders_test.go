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
	mine, rec string // targets: session, recipe
	sessionID int64
}

// maker makes a foreign contender on a path.
type maker struct {
	driver *shared
	client string // the kind of session
	recipe string
	wants  side
	more   []string
}

var targets atomic.Int64

// open opens the session only.
func (m maker) open(t *testing.T, address string) *foreign {
	t.Helper()
	d, n := m.driver.get(t), targets.Add(1)
	f := &foreign{t: t, d: d, label: fmt.Sprintf("%s-%d", m.recipe, n), wants: m.wants, mine: fmt.Sprintf("session%d", n), rec: fmt.Sprintf("recipe%d", n)}
	require.NoError(t, f.ask(f.mine, "open", m.client, address, "20000"))
	t.Cleanup(func() { _ = f.end() }) // it may have ended already
	r := d.call(f.mine, "id")
	require.Empty(t, r.err)
	id, err := strconv.ParseUint(r.values[0], 0, 64)
	require.NoError(t, err)
	f.sessionID = int64(id)
	return f
}

func (m maker) make(t *testing.T, address, path string) *foreign {
	t.Helper()
	f := m.open(t, address)
	require.NoError(t, f.ask(f.rec, "new", append([]string{m.recipe, f.mine, path}, m.more...)...))
	return f
}

func (m maker) contender(t *testing.T, address, path string) contender {
	t.Helper()
	return m.make(t, address, path)
}

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
	return f.d.send(f.rec, "acquire", fmt.Sprint(d.Milliseconds()))
}

func (f *foreign) acquired(answer <-chan reply) (bool, error) {
	r := f.d.wait(answer, f.label+" acquire")
	if r.err != "" {
		return false, errors.New(r.err)
	}
	return r.values[0] == "yes", nil
}

// ready waits until a waiter can be left to itself. LeaderElectionSupport fails, and stands again
// at the end, if anybody leaves while it looks who is there.
func (f *foreign) ready(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(f.label, "support") {
		return
	}
	select {
	case <-f.d.feed(f.rec, "ready"):
	case <-time.After(patience):
		t.Fatalf("%s never waits", f.label)
	}
}

func (f *foreign) release() error { return f.ask(f.rec, "release") }
func (f *foreign) end() error     { return f.ask(f.mine, "close") }
func (f *foreign) mark(path string) error {
	_, err := f.surely("create", path, "x", "e")
	return err
}

func (f *foreign) unmark(path string) error {
	_, err := f.surely("delete", path, "-1")
	return err
}

func (f *foreign) seen(path string) ([]string, error) {
	names, err := f.surely("children", path)
	return strings.Split(strings.Join(names, ""), ","), err
}

// surely repeats a request whose outcome is not known. Marks have names of their own: one that is
// there already, or gone already, is one's own doing.
func (f *foreign) surely(verb string, args ...string) ([]string, error) {
	for {
		r := f.d.call(f.mine, verb, args...)
		switch r.err {
		case "CONNECTIONLOSS", "ConnectionLoss":
			continue
		case "", "NODEEXISTS", "NodeExistsError", "NONODE", "NoNodeError":
			return r.values, nil
		}
		return nil, errors.New(r.err)
	}
}

// own is what contenders of Troupe's have in common.
type own struct {
	label   string
	wants   side
	session *session.Session
}

var owns atomic.Int64

func newOwn(t *testing.T, kind string, wants side, address string, opts ...session.Option) own {
	t.Helper()
	return own{label: fmt.Sprintf("troupe-%s-%d", kind, owns.Add(1)), wants: wants, session: open(t, address, opts...)}
}

func (o *own) name() string { return o.label }
func (o *own) side() side   { return o.wants }
func (o *own) id() int64    { return o.session.Status().SessionID }

func (o *own) end() error {
	ctx, cancel := patiently()
	defer cancel()
	return o.session.Close(ctx)
}

func (o *own) mark(path string) error {
	ctx, cancel := patiently()
	defer cancel()
	_, err := o.session.Create(ctx, path, nil, session.Ephemeral())
	if errors.Is(err, session.ErrUnknownOutcome) { // looked up: names are one's own
		_, err = o.session.Create(ctx, path, nil, session.Ephemeral())
		if errors.Is(err, session.ErrNodeExists) {
			return nil
		}
	}
	return err
}

func (o *own) unmark(path string) error {
	ctx, cancel := patiently()
	defer cancel()
	err := o.session.Delete(ctx, path, -1)
	if errors.Is(err, session.ErrUnknownOutcome) {
		err = o.session.Delete(ctx, path, -1)
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
	}
	return err
}

func (o *own) seen(path string) ([]string, error) {
	ctx, cancel := patiently()
	defer cancel()
	names, _, err := o.session.Children(ctx, path)
	return names, err
}

func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// possession is what of ours holds, a grant or a term, for whoever looks at it from outside.
type possession interface {
	Token() int64
	Valid() bool
	Done() <-chan struct{}
	Err() error
}

// possessor is a contender of ours.
type possessor interface {
	contender
	possession() possession
}

// holding is what a contender of ours holds.
type holding struct {
	has  possession
	back func(ctx context.Context) error // gives it back
	last int64                           // the token
}

func (h *holding) possession() possession { return h.has }

// took notes what came of an acquisition.
func (h *holding) took(p possession, back func(ctx context.Context) error, err error) (bool, error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return false, nil
	case err != nil:
		return false, err
	case p.Token() <= h.last:
		return false, fmt.Errorf("the token %d after %d", p.Token(), h.last)
	}
	h.has, h.back, h.last = p, back, p.Token()
	return true, nil
}

func (h *holding) release() error {
	if !h.has.Valid() {
		return fmt.Errorf("lost: %w", h.has.Err())
	}
	ctx, cancel := patiently()
	defer cancel()
	return h.back(ctx)
}

// ours is a lock of Troupe's.
type ours struct {
	own
	holding
	lock *lock.Lock
}

type newLock func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error)

func ourLock(t *testing.T, wants side, kind newLock, address, path string, layout lock.Layout, opts ...session.Option) *ours {
	t.Helper()
	o := &ours{own: newOwn(t, "lock", wants, address, opts...)}
	l, err := kind(o.session, path, lock.WithLayout(layout))
	require.NoError(t, err)
	o.lock = l
	return o
}

func (o *ours) acquire(d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	g, err := o.lock.Lock(ctx)
	return o.took(g, g.Release, err)
}

// candidate is one of Troupe's in an election.
type candidate struct {
	own
	holding
	election *election.Election
}

func ourCandidate(t *testing.T, layout election.Layout, address, path string, opts ...session.Option) *candidate {
	t.Helper()
	c := &candidate{own: newOwn(t, "candidate", alone, address, opts...)}
	e, err := election.New(c.session, path, election.WithID(c.label), election.WithLayout(layout))
	require.NoError(t, err)
	c.election = e
	return c
}

func (c *candidate) acquire(d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	term, err := c.election.Lead(ctx)
	return c.took(term, term.Resign, err)
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

func (g *gozk) mark(path string) error {
	_, err := g.conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

func (g *gozk) unmark(path string) error { return g.conn.Delete(path, -1) }

func (g *gozk) seen(path string) ([]string, error) {
	names, _, err := g.conn.Children(path)
	return names, err
}
