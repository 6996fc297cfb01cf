package main

// troupe lock: who holds, who waits, and what takes a lock away.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// queued are a holder and a waiter at a path.
func queued(t *bubble.World, path string) (holder, waiter *lock.Lock) {
	t.Helper()
	s := t.Session(session.WithoutIdentity()) // which differs from machine to machine
	for _, data := range []string{"a", "b"} {
		l, err := lock.New(s, path, lock.WithData([]byte(data)))
		require.NoError(t, err)
		l.Acquire()
		synctest.Wait()
		holder, waiter = waiter, l
	}
	return holder, waiter
}

func TestLockLsListsHolderAndWaiters(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/locks/a")
		golden(t, "lock-ls", []string{"lock", "ls", "/locks/a"}, []string{"lock", "ls", "/locks/a", "-o", "json"}, []string{"lock", "ls", "/locks"})
	})
}

func TestLockLsSaysWhoseAContenderIs(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		l, err := lock.New(t.Session(session.WithIdentity("orders-7")), "/a", lock.WithData([]byte("\xff")))
		require.NoError(t, err)
		_, err = l.Lock(t.Context())
		require.NoError(t, err)
		out, code := troupe(t, "lock", "ls", "/a", "-o", "json")
		require.Zero(t, code)
		require.Regexp(t, `"owner": "orders-7 on host \S+ \(pid \d+\)"`, out)
		require.Contains(t, out, `"data": {`, "as bytes, not as a text that lacks them")
	})
}

func TestLockShowShowsOneContender(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		_, waiter := queued(t, "/locks/a")
		all, err := waiter.Contenders(bubble.Minute(t))
		require.NoError(t, err)
		golden(t, "lock-show", []string{"lock", "show", "/locks/a"}, []string{"lock", "show", all[1].Path, "-o", "json"},
			[]string{"lock", "show", "/locks"}, []string{"lock", "show", "/locks/a/other"})
	})
}

func TestLockWatchPrintsALineForEachChange(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, _ := queued(t, "/a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, func() { _ = holder.Release(t.Context()) })
		time.AfterFunc(2*time.Minute, cancel)
		out, code := typed("").run(ctx, t, "lock", "watch", "/a")
		require.Zero(t, code)
		require.Regexp(t, `^00:00:00 \+ /a/\S+-0000000000  holds .*\n00:00:00 \+ /a/\S+-0000000001  waits .*\n`+
			`00:01:00 - .*-0000000000  holds .*\n00:01:00 ~ .*-0000000001  holds .*\n$`, out)
	})
}

func TestBreakAndRevokeAskAndTakeTheLockAway(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, waiter := queued(t, "/locks/a")
		golden(t, "lock-break", []string{"lock", "break", "/locks/a"}, []string{"lock", "revoke", "/locks/a"}, []string{"lock", "break", "/no", "-y"},
			[]string{"lock", "break", "/locks", "-y"}, []string{"lock", "break", "/locks/a/other", "-y"})
		out, code := troupe(t, "election", "break", "/locks/a", "-y")
		require.Equal(t, 1, code)
		require.Contains(t, out, "/locks/a is no election")
		out, code = typed("n\n").run(bubble.Minute(t), t, "lock", "break", "/locks/a")
		require.Equal(t, 1, code)
		require.Contains(t, out, `token 6, data a? [y/N] troupe: nothing was changed`)
		g := bubble.Get(t, holder.Acquired())
		bubble.Never(t, g.Revoked())
		_, code = typed("y\n").run(bubble.Minute(t), t, "lock", "revoke", "/locks/a")
		require.Zero(t, code)
		bubble.Closed(t, g.Revoked())
		require.NoError(t, g.Err(), "it was only asked")
		_, code = troupe(t, "lock", "break", "/locks/a", "--yes")
		require.Zero(t, code)
		synctest.Wait()
		require.ErrorIs(t, g.Err(), session.ErrDeleted)
		next := bubble.Get(t, waiter.Acquired())
		_, code = troupe(t, "lock", "break", next.Path(), "--yes")
		require.Zero(t, code, "a contender's path")
		synctest.Wait()
		require.ErrorIs(t, next.Err(), session.ErrDeleted)
	})
}

func TestBreakIsRefusedWhereThereAreSeveralHolders(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		var grants []*lock.Grant
		for range 2 {
			l, err := lock.NewRead(s, "/a")
			require.NoError(t, err)
			g, err := l.Lock(bubble.Minute(t))
			require.NoError(t, err)
			grants = append(grants, g)
		}
		out, code := troupe(t, "lock", "break", "/a", "-y")
		require.Equal(t, 1, code)
		require.Contains(t, out, "several holders: name one")
		_, code = troupe(t, "lock", "break", grants[0].Path(), "-y")
		require.Zero(t, code)
		synctest.Wait()
		require.Error(t, grants[0].Err())
		require.NoError(t, grants[1].Err())
		for _, g := range grants {
			_ = g.Release(bubble.Minute(t))
		}
		out, code = troupe(t, "lock", "revoke", "/a", "-y")
		require.Equal(t, 1, code)
		require.Equal(t, "troupe: nobody holds /a\n", out)
	})
}

func TestWithoutTheRightNothingIsTaken(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		all := append(session.AuthACL(session.PermAll), session.AnyoneACL(session.PermRead)...)
		l, err := lock.New(t.Session(session.WithAuth("digest", []byte("a:b"))), "/a", lock.WithACL(all...))
		require.NoError(t, err)
		g, err := l.Lock(bubble.Minute(t))
		require.NoError(t, err)
		out, code := troupe(t, "lock", "break", "/a", "-y")
		require.Equal(t, 1, code)
		require.Contains(t, out, "(another credential may have the right: --auth-file)")
		require.NoError(t, g.Err())
	})
}
