package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// made is a lock that the constructor did not refuse, standing in line.
func made(t *testing.T, l *lock.Lock, err error) *lock.Lock {
	t.Helper()
	require.NoError(t, err)
	l.Acquire()
	inLine(t, l)
	return l
}

// waits fails if the lock is granted although the server has answered everything that was asked
// before.
func waits(t *testing.T, s *session.Session, l *lock.Lock, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Sync(ctx, "/"))
	select {
	case <-l.Acquired():
		t.Fatal(why)
	default:
	}
}

// The whole life of a shared lock on real servers, one and three: B09 and B10 among it.
func TestB09_B10_SharedLocksOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			open := func() *session.Session { return bubble.Open(t, e.Servers()) }
			s, admin := open(), open()
			read := func(s *session.Session) *lock.Lock { l, err := lock.NewRead(s, path); return made(t, l, err) }
			write := func(s *session.Session) *lock.Lock { l, err := lock.NewWrite(s, path); return made(t, l, err) }
			w1 := write(s)
			g := soon(t, w1.Acquired(), "the first writer")
			r1, w2, r2 := read(open()), write(open()), read(open())
			waits(t, s, r1, "a reader beside a writer")

			down, err := g.Downgrade(t.Context())
			require.NoError(t, err)
			require.Equal(t, g.Token(), down.Token())
			require.NoError(t, fence.Check(t.Context(), admin, down.Sequencer()))
			require.ErrorIs(t, fence.Check(t.Context(), admin, g.Sequencer()), fence.ErrFenced)
			soon(t, r1.Acquired(), "the reader beside the downgraded")
			waits(t, s, w2, "a writer beside readers")
			waits(t, s, r2, "a reader before the writer who came first")
			_, err = w1.TryLock(down.Context())
			require.ErrorIs(t, err, lock.ErrUpgrade)
			line, err := w1.Contenders(t.Context())
			require.NoError(t, err)
			require.Equal(t, down.Path(), line[0].Path)
			require.Equal(t, down.Token(), line[0].Token)

			require.NoError(t, down.Release(t.Context()))
			waits(t, s, w2, "a writer beside a reader")
			release(t, r1)
			second := soon(t, w2.Acquired(), "the second writer")
			require.Greater(t, second.Token(), g.Token())
			require.NoError(t, lock.Revoke(t.Context(), admin, second.Path()))
			soon(t, second.Revoked(), "revocation")
			require.NoError(t, lock.Break(t.Context(), admin, second.Path(), 0))
			soon(t, second.Done(), "breaking")
			third := soon(t, r2.Acquired(), "the reader behind")
			_, err = third.Commit(t.Context(), session.SetOp(path, []byte("x"), -1))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, r2.Close(t.Context()))
			soon(t, w1.Acquired(), "hand-over by Close")
			require.Less(t, time.Since(began), 5*time.Second, "not after a session timeout")
		})
	}
}

// The whole life of a semaphore on real servers, one and three: B28, B29 and B31 among it.
func TestB28_B29_B31_SemaphoresOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range tier.Servers() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			open := func() *session.Session { return bubble.Open(t, e.Servers()) }
			s, admin := open(), open()
			weighing := func(s *session.Session, weight int) *lock.Lock {
				l, err := lock.NewSemaphore(s, path, 4, lock.WithWeight(weight))
				return made(t, l, err)
			}
			proxy, err := ensemble.NewProxy(e.Servers()[0])
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			a := weighing(bubble.Open(t, []string{proxy.Addr()}, session.WithTimeout(shortTimeout)), 3)
			g := soon(t, a.Acquired(), "three of four")
			b, c := weighing(open(), 3), weighing(open(), 1)
			waits(t, s, b, "six of four")
			waits(t, s, c, "the one behind, though it would fit")
			require.NoError(t, lock.SetLimit(t.Context(), admin, path, 6))
			soon(t, b.Acquired(), "six of six")
			waits(t, s, c, "seven of six")
			five, err := lock.NewSemaphore(s, path, 5)
			require.NoError(t, err)
			_, err = five.Lock(t.Context())
			require.ErrorIs(t, err, lock.ErrLimit)
			require.NoError(t, lock.SetLimit(t.Context(), admin, path, 4))
			require.NoError(t, g.Err(), "nobody loses what he has")

			waits(t, s, c, "seven of four")
			proxy.Blackhole()
			soon(t, g.Done(), "the end of what a session held that nobody hears of any more")
			soon(t, c.Acquired(), "its permits")
			line, err := c.Contenders(t.Context())
			require.NoError(t, err)
			require.Len(t, line, 2)
			require.True(t, line[0].Holding && line[1].Holding)
			d := weighing(open(), 1)
			waits(t, s, d, "five of four")
			release(t, b)
			soon(t, d.Acquired(), "two of four")
		})
	}
}
