package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// patience bounds what happens on real servers and a busy machine.
const patience = time.Minute

func newLock(t *testing.T, s *session.Session, path string) *lock.Lock {
	t.Helper()
	l, err := lock.New(s, path)
	require.NoError(t, err)
	return l
}

// soon receives in time.
func soon[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
		panic("unreachable")
	}
}

func release(t *testing.T, l *lock.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, l.Release(ctx))
}

// The lock's whole life on real servers, one and three.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			e := ensemble.Start(t, n)
			var locks []*lock.Lock
			var last int64
			for range 4 {
				l := newLock(t, bubble.Open(t, e.Servers()), path)
				l.Acquire()
				locks = append(locks, l)
				inLine(t, l)
			}
			for _, l := range locks {
				g := soon(t, l.Acquired(), "order of arrival")
				require.Greater(t, g.Token(), last)
				last = g.Token()
				_, err := g.Commit(t.Context(), session.SetOp(path, []byte("x"), -1))
				require.NoError(t, err)
				_, err = locks[0].TryLock(t.Context())
				require.ErrorIs(t, err, lock.ErrHeld)
				line, err := l.Contenders(t.Context())
				require.NoError(t, err)
				require.Equal(t, g.Path(), line[0].Path)
				release(t, l)
			}
			admin := bubble.Open(t, e.Servers())
			locks[0].Acquire()
			g := soon(t, locks[0].Acquired(), "again")
			require.NoError(t, lock.Revoke(t.Context(), admin, g.Path()))
			soon(t, g.Revoked(), "revocation")
			require.NoError(t, lock.Break(t.Context(), admin, g.Path(), 0))
			soon(t, g.Done(), "breaking")
			require.ErrorIs(t, g.Err(), session.ErrDeleted)
			g = soon(t, locks[0].Acquired(), "after breaking")
			locks[1].Acquire()
			inLine(t, locks[1])
			began := time.Now()
			require.NoError(t, locks[0].Close(t.Context()))
			soon(t, locks[1].Acquired(), "hand-over by Close")
			require.Less(t, time.Since(began), 5*time.Second, "not after a session timeout")
			require.ErrorIs(t, g.Err(), session.ErrClosed)
		})
	}
}

func inLine(t *testing.T, l *lock.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for s := range l.Standing(ctx) {
		if s.Phase == lock.Held || s.Ahead > 0 {
			return
		}
	}
	t.Fatal("never in line")
}
