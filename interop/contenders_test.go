package interop_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// ours is a lock of Troupe's.
type ours struct {
	own
	lock  *lock.Lock
	grant *lock.Grant
	last  int64
}

type newLock func(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error)

func ourLock(t *testing.T, wants side, kind newLock, address, path string, opts ...lock.Option) *ours {
	t.Helper()
	o := &ours{own: newOwn(t, "lock", wants, address)}
	l, err := kind(o.session, path, opts...)
	require.NoError(t, err)
	o.lock = l
	return o
}

func (o *ours) acquire(d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	g, err := o.lock.Lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if g.Token() <= o.last {
		return false, fmt.Errorf("the token %d after %d", g.Token(), o.last)
	}
	o.grant, o.last = g, g.Token()
	return true, nil
}

func (o *ours) release() error {
	if !o.grant.Valid() {
		return fmt.Errorf("lost: %w", o.grant.Err())
	}
	ctx, cancel := patiently()
	defer cancel()
	return o.grant.Release(ctx)
}
