package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	file    = "/ls/cell/file"
	timeout = time.Minute // for what should take no time
)

// The lines of chubby.md.
func TestChubby(t *testing.T) {
	t.Parallel()
	table(t, "chubby.md", map[string]line{
		"Open": chubbyOpen, "Close": chubbyClose, "Poison": chubbyPoison,
		"GetContentsAndStat": chubbyGet, "GetStat": chubbyStat, "ReadDir": chubbyReadDir, "SetContents": chubbySet, "SetACL": chubbyACL,
		"Delete": chubbyDelete, "Ephemeral": chubbyEphemeral,
		"Acquire": chubbyAcquire, "TryAcquire": chubbyTryAcquire, "Release": chubbyRelease,
		"GetSequencer": chubbyGetSequencer, "SetSequencer": chubbySetSequencer, "CheckSequencer": chubbyCheckSequencer, "lock-delay": chubbyDelay,
		"KeepAlive": chubbyKeepAlive, "jeopardy": chubbyJeopardy, "session expired": chubbyExpiry,
		"file contents modified": chubbyModified, "child node added, removed, or modified": chubbyChildren, "master failed over": chubbyFailover,
		"handle has become invalid": chubbyInvalid, "lock acquired": chubbyAcquired, "conflicting lock request": chubbyConflict,
	})
}

// made is a session with a file in the cell.
func made(t *testing.T) (*zktest.Server, *session.Session) {
	t.Helper()
	srv, s := connected(t)
	_, err := s.Create(t.Context(), file, []byte("old"), session.Parents())
	require.NoError(t, err)
	return srv, s
}

// handle is a lock on a path of the cell.
func handle(t *testing.T, s *session.Session, opts ...lock.Option) *lock.Lock {
	t.Helper()
	l, err := lock.New(s, "/ls/cell/lock", opts...)
	require.NoError(t, err)
	return l
}

func granted(t *testing.T, l *lock.Lock) *lock.Grant {
	t.Helper()
	g, err := l.Lock(t.Context())
	require.NoError(t, err)
	return g
}

// get receives in time.
func get[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(timeout):
		t.Fatal("nothing came")
	}
	return *new(T)
}

// until receives until a value is right.
func until[T any](t *testing.T, c <-chan T, right func(T) bool) T {
	t.Helper()
	for {
		if v := get(t, c); right(v) {
			return v
		}
	}
}

func chubbyOpen(t *testing.T) {
	srv := zktest.Start(t)
	s, err := session.Open(t.Context(), srv.Servers())
	require.NoError(t, err)
	defer s.Close(context.Background())
	l, err := lock.New(s, file)
	require.NoError(t, err)
	require.NoError(t, l.Err())
	_, err = s.Create(t.Context(), file, nil, session.Parents())
	require.NoError(t, err)
}

func chubbyClose(t *testing.T) {
	_, s := connected(t)
	l := handle(t, s)
	g := granted(t, l)
	require.NoError(t, l.Close(t.Context()))
	require.ErrorIs(t, g.Err(), session.ErrClosed)
	require.NoError(t, l.Close(t.Context()))
}

func chubbyPoison(t *testing.T) {
	srv, s := connected(t)
	granted(t, handle(t, another(t, srv)))
	l := handle(t, s)
	waits := make(chan error, 2)
	go func() { _, err := l.Lock(context.Background()); waits <- err }()
	until(t, l.Standing(t.Context()), func(s lock.Standing) bool { return s.Ahead == 1 })
	require.NoError(t, l.Close(t.Context()))
	require.ErrorIs(t, get(t, waits), session.ErrClosed)
	_, err := l.TryLock(t.Context())
	require.ErrorIs(t, err, session.ErrClosed)
	require.NoError(t, s.Err(), "the session goes on")

	poison := errors.New("poison")
	ctx, cancel := context.WithCancelCause(t.Context())
	l = handle(t, s)
	go func() { _, err := l.Lock(ctx); waits <- err }()
	cancel(poison)
	require.ErrorIs(t, get(t, waits), poison)
}

func chubbyGet(t *testing.T) {
	_, s := made(t)
	data, stat, err := s.Get(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	require.Zero(t, stat.Version)
}

func chubbyStat(t *testing.T) {
	_, s := made(t)
	stat, exists, err := s.Exists(t.Context(), file)
	require.NoError(t, err)
	require.True(t, exists)
	require.EqualValues(t, 3, stat.DataLength)
}

func chubbyReadDir(t *testing.T) {
	_, s := made(t)
	names, _, err := s.Children(t.Context(), "/ls/cell")
	require.NoError(t, err)
	require.Equal(t, []string{"file"}, names)
}

func chubbySet(t *testing.T) {
	_, s := made(t)
	stat, err := s.Set(t.Context(), file, []byte("new"), 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, stat.Version)
	_, err = s.Set(t.Context(), file, []byte("newer"), 0)
	require.ErrorIs(t, err, session.ErrBadVersion)
}

func chubbyACL(t *testing.T) {
	_, s := made(t)
	_, err := s.SetACL(t.Context(), file, session.AnyoneACL(session.PermRead), 0)
	require.NoError(t, err)
	_, err = s.Set(t.Context(), file, []byte("new"), -1)
	require.ErrorIs(t, err, session.ErrNoAuth)
}

func chubbyDelete(t *testing.T) {
	_, s := made(t)
	require.ErrorIs(t, s.Delete(t.Context(), "/ls/cell", -1), session.ErrNotEmpty)
	require.NoError(t, s.Delete(t.Context(), file, -1))
}

func chubbyEphemeral(t *testing.T) {
	srv, s := made(t)
	other := another(t, srv)
	_, err := other.Create(t.Context(), "/ls/cell/host", nil, session.Ephemeral())
	require.NoError(t, err)
	require.NoError(t, other.Close(t.Context()))
	_, exists, err := s.Exists(t.Context(), "/ls/cell/host")
	require.NoError(t, err)
	require.False(t, exists)
}

func chubbyAcquire(t *testing.T) {
	_, s := connected(t)
	l := handle(t, s)
	g := granted(t, l)
	require.True(t, g.Valid())
	require.NoError(t, g.Release(t.Context()))
	l.Acquire()
	require.Greater(t, get(t, l.Acquired()).Token(), g.Token())

	for range 2 { // two readers at once
		r, err := lock.NewRead(s, "/ls/cell/shared")
		require.NoError(t, err)
		granted(t, r)
	}
	w, err := lock.NewWrite(s, "/ls/cell/shared")
	require.NoError(t, err)
	_, err = w.TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrHeld)
}

func chubbyTryAcquire(t *testing.T) {
	srv, s := connected(t)
	g, err := handle(t, s).TryLock(t.Context())
	require.NoError(t, err)
	require.True(t, g.Valid())
	_, err = handle(t, another(t, srv)).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrHeld)
}

func chubbyRelease(t *testing.T) {
	srv, s := connected(t)
	g := granted(t, handle(t, s))
	require.NoError(t, g.Release(t.Context()))
	require.ErrorIs(t, g.Err(), session.ErrReleased)
	_, err := handle(t, another(t, srv)).TryLock(t.Context())
	require.NoError(t, err)
}

func chubbyGetSequencer(t *testing.T) {
	_, s := connected(t)
	q := granted(t, handle(t, s)).Sequencer()
	parsed, err := fence.Parse(q.String())
	require.NoError(t, err)
	require.Equal(t, q, parsed)
}

func chubbySetSequencer(t *testing.T) {
	srv, s := connected(t)
	g := granted(t, handle(t, s))
	account, err := fence.Follow(t.Context(), another(t, srv), g.Sequencer())
	require.NoError(t, err)
	require.NoError(t, account.Err())
	_, err = g.Commit(t.Context(), session.CreateOp("/written", nil))
	require.NoError(t, err)
	require.NoError(t, g.Release(t.Context()))
	get(t, account.Done())
	require.ErrorIs(t, context.Cause(account), fence.ErrFenced)
	_, err = g.Commit(t.Context(), session.CreateOp("/late", nil))
	require.ErrorIs(t, err, session.ErrLost)
}

func chubbyCheckSequencer(t *testing.T) {
	srv, s := connected(t)
	server := another(t, srv)
	l := handle(t, s)
	first := granted(t, l)
	require.NoError(t, fence.Check(t.Context(), server, first.Sequencer()))
	require.NoError(t, first.Release(t.Context()))
	require.ErrorIs(t, fence.Check(t.Context(), server, first.Sequencer()), fence.ErrFenced)

	var gate fence.Gate // of a server that can't ask
	require.NoError(t, gate.Admit(granted(t, l).Sequencer()))
	require.ErrorIs(t, gate.Admit(first.Sequencer()), fence.ErrFenced)
}

func chubbyDelay(t *testing.T) {
	srv, s := connected(t)
	const d = 50 * time.Millisecond
	g := granted(t, handle(t, s, lock.WithDelay(d)))
	srv.Expire(s.Status().SessionID)
	get(t, g.Done())
	died := time.Now()
	next := granted(t, handle(t, another(t, srv), lock.WithDelay(d)))
	require.GreaterOrEqual(t, time.Since(died), d)
	require.Greater(t, next.Token(), g.Token())
}

func chubbyKeepAlive(t *testing.T) {
	srv, _ := connected(t)
	s := another(t, srv, session.WithTimeout(4*time.Second))
	g := granted(t, handle(t, s))
	before := s.Status().TrustedUntil
	statuses := s.Observe(t.Context())
	until(t, statuses, func(session.Status) bool { return true })
	for end := time.Now().Add(timeout); !s.Status().TrustedUntil.After(before); {
		require.True(t, time.Now().Before(end), "trust is prolonged, with nothing called")
		<-time.After(10 * time.Millisecond)
	}
	require.True(t, g.Valid())
}

func chubbyJeopardy(t *testing.T) {
	srv, s := connected(t)
	g := granted(t, handle(t, s))
	statuses := s.Observe(t.Context())
	seen := make(chan struct{})
	defer srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpConnect {
			<-seen // or it would be safe again before anybody has seen it in jeopardy
		}
		return zktest.Pass
	})()
	srv.Disconnect(s.Status().SessionID)
	until(t, statuses, func(st session.Status) bool { return st.State == session.Suspended })
	require.NoError(t, g.Err(), "it is in jeopardy")
	close(seen)
	until(t, statuses, func(st session.Status) bool { return st.State == session.Connected })
	require.NoError(t, g.Err(), "and safe again")

	strict := another(t, srv, session.WithStrict())
	l, err := lock.New(strict, "/ls/cell/strict")
	require.NoError(t, err)
	g = granted(t, l)
	srv.Disconnect(strict.Status().SessionID)
	get(t, g.Done())
	require.ErrorIs(t, g.Err(), session.ErrSuspended)
}

func chubbyExpiry(t *testing.T) {
	srv, s := connected(t)
	l := handle(t, s)
	l.Acquire()
	g := get(t, l.Acquired())
	statuses := s.Observe(t.Context())
	srv.Expire(s.Status().SessionID)
	get(t, g.Done())
	require.ErrorIs(t, g.Err(), session.ErrLost)
	until(t, statuses, func(st session.Status) bool { return st.Epoch == 2 })
	require.Greater(t, get(t, l.Acquired()).Token(), g.Token(), "the intent stands again")
}

func chubbyModified(t *testing.T) {
	srv, s := made(t)
	states := another(t, srv).WatchData(t.Context(), file)
	until(t, states, func(d session.Data) bool { return string(d.Bytes) == "old" })
	_, err := s.Set(t.Context(), file, []byte("new"), -1)
	require.NoError(t, err)
	until(t, states, func(d session.Data) bool { return string(d.Bytes) == "new" })
}

func chubbyChildren(t *testing.T) {
	srv, s := made(t)
	states := another(t, srv).WatchChildren(t.Context(), "/ls/cell")
	until(t, states, func(c session.Children) bool { return len(c.Names) == 1 })
	_, err := s.Create(t.Context(), "/ls/cell/more", nil)
	require.NoError(t, err)
	until(t, states, func(c session.Children) bool { return len(c.Names) == 2 })
}

func chubbyFailover(t *testing.T) {
	srv := zktest.Start(t, zktest.WithServers(3))
	s := another(t, srv)
	first := s.Status().Server
	statuses := s.Observe(t.Context())
	for i, addr := range srv.Servers() {
		if addr == first {
			srv.Kill(i)
		}
	}
	until(t, statuses, func(st session.Status) bool { return st.State == session.Connected && st.Server != first })
	require.EqualValues(t, 1, s.Status().Epoch)
}

func chubbyInvalid(t *testing.T) {
	_, s := connected(t)
	l := handle(t, s)
	g := granted(t, l)
	require.NoError(t, s.Close(t.Context()))
	get(t, g.Done())
	get(t, l.Done())
	require.ErrorIs(t, g.Err(), session.ErrClosed)
	require.ErrorIs(t, l.Err(), session.ErrClosed)
}

func chubbyAcquired(t *testing.T) {
	srv, s := connected(t)
	lines := handle(t, another(t, srv)).Observe(t.Context())
	g := granted(t, handle(t, s))
	until(t, lines, func(line []lock.Contender) bool {
		return len(line) == 1 && line[0].Holding && line[0].Token == g.Token()
	})
}

func chubbyConflict(t *testing.T) {
	srv, s := connected(t)
	g := granted(t, handle(t, s))
	rival := another(t, srv)
	handle(t, rival).Acquire()
	until(t, handle(t, s).Observe(t.Context()), func(line []lock.Contender) bool { return len(line) == 2 })
	require.NoError(t, lock.Revoke(t.Context(), rival, g.Path()))
	get(t, g.Revoked())
}
