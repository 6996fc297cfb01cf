package main

// troupe lock: who holds, who waits, and what takes a lock away.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// queued makes a holder with the data a, and a waiter with the data b, at a path. The session has
// no identity, since that would differ from machine to machine.
func queued(t *bubble.World, path string) (holder, waiter *lock.Lock) {
	t.Helper()
	s := t.Session(session.WithoutIdentity())
	holder = must(lock.New(s, path, lock.WithData([]byte("a"))))
	waiter = must(lock.New(s, path, lock.WithData([]byte("b"))))
	holder.Acquire()
	synctest.Wait()
	waiter.Acquire()
	synctest.Wait()
	return holder, waiter
}

func TestLockLsSaysWhoseAContenderIs(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		locked(t, t.Session(session.WithIdentity("orders-7")), "/a", lock.WithData([]byte("\xff")))
		out := exits(t, 0, "lock", "ls", "/a", "-o", "json")
		require.Regexp(t, `"owner": \{\s+"text": "orders-7 on host \S+ \(pid \d+\)",\s+"program": "\S+",\s+"name": "orders-7",\s+"host": "\S+",\s+"pid": \d+\s+\}`, out)
		require.Contains(t, out, `"data": {`, "data that are no text are printed as bytes")
	})
}

func TestLockLsListsAllAndShowTheHoldersOrAContender(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		_, waiter := queued(t, "/locks/a")
		golden(t, "lock-ls", each("lock ls /locks/a\nlock ls /locks/a -o json")...)
		readers(t)
		all := must(waiter.Contenders(bubble.Minute(t)))
		golden(t, "lock-show", []string{"lock", "show", "/locks/a"}, []string{"lock", "show", all[1].Path, "-o", "json"}, []string{"lock", "show", "/shared"})
	})
}

func TestLockWatchPrintsALineForEachChange(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, _ := queued(t, "/a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, func() { _ = holder.Withdraw(t.Context()) })
		time.AfterFunc(2*time.Minute, cancel)
		out, code := typed("").run(ctx, t, "lock", "watch", "/a")
		same(t, "lock-watch", transcript(out, code, "lock", "watch", "/a"))
	})
}

func TestBreakAndRevokeAskAndTakeTheLockAway(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, waiter := queued(t, "/locks/a")
		out, code := typed("n\n").run(bubble.Minute(t), t, "lock", "break", "/locks/a")
		require.Equal(t, 1, code)
		g := bubble.Get(t, holder.Acquired())
		require.Contains(t, out, fmt.Sprintf("token %d, data a? [y/N] troupe: nothing was changed", g.Token()))
		bubble.Never(t, g.Revoked())
		_, code = typed("y\n").run(bubble.Minute(t), t, "lock", "revoke", "/locks/a")
		require.Zero(t, code)
		time.Sleep(time.Second) // a holder reads its znode some milliseconds after the grant
		bubble.Closed(t, g.Revoked())
		require.NoError(t, g.Err(), "it was only asked")
		golden(t, "lock-break", each("lock break /locks/a --yes")...)
		synctest.Wait()
		require.ErrorIs(t, g.Err(), session.ErrDeleted)
		next := bubble.Get(t, waiter.Acquired())
		exits(t, 0, "lock", "break", next.Path(), "--yes") // a contender's path
		time.Sleep(time.Second)
		require.ErrorIs(t, next.Err(), session.ErrDeleted)
		first, second := readers(t)
		exits(t, 0, "lock", "break", first.Path(), "-y")
		time.Sleep(time.Second)
		require.ErrorIs(t, first.Err(), session.ErrDeleted)
		require.NoError(t, second.Err())
	})
}

// readers makes two holders of /shared.
func readers(t *bubble.World) (first, second *lock.Grant) {
	t.Helper()
	s := t.Session(session.WithoutIdentity())
	hold := func() *lock.Grant { return must(must(lock.NewRead(s, "/shared")).Lock(bubble.Minute(t))) }
	first = hold()
	return first, hold()
}

func TestWhatIsRefusedTakesNothingAway(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/locks/a")
		readers(t)
		campaigning(t, "/elections/a")
		all := append(session.AuthACL(session.PermAll), session.AnyoneACL(session.PermRead)...)
		locked(t, t.Session(session.WithoutIdentity(), session.WithAuth("digest", []byte("a:b"))), "/private", lock.WithACL(all...))
		require.NoError(t, t.Server.Znodes(t).Create("/idle", nil))
		_, before, _ := strings.Cut(t.Server.Dump(), "\n")
		golden(t, "refused", each("lock break /locks/a\nlock revoke /locks/a\nelection break /elections/a")...)
		for command, says := range map[string]string{
			"lock break /no -y":            "children /no: the znode does not exist (are the path and --namespace right",
			"lock break /locks -y":         `/locks is no lock: its children are others, such as "a" (troupe tree shows them)`,
			"lock break /locks/a/other -y": "children /locks/a/other: the znode does not exist",
			"lock break /elections/a -y":   `/elections/a is no lock: its contenders are of the kind "candidate" (troupe tree shows them)`,
			"lock break /shared -y":        "/shared has several holders: name one by its path (troupe lock ls shows them)",
			"lock break /private -y":       "needs WRITE; this session is world:anyone (another credential may have the right: --auth-file)",
			"lock revoke /idle -y":         "nobody holds /idle",
			"lock ls /locks":               "/locks is no lock: its children are others",
			"lock show /locks":             "/locks is no lock: its children are others",
			"election break /no -y":        "children /no: the znode does not exist",
			"election break /elections -y": `/elections is no election: its children are others, such as "a"`,
			"election break /locks/a -y":   `/locks/a is no election: its contenders are of the kind "lock"`,
			"election show /elections":     "/elections is no election: its children are others",
			"election show /locks/a":       `/locks/a is no election: its contenders are of the kind "lock"`,
		} {
			out, code := troupe(t, strings.Fields(command)...)
			require.Contains(t, out, says, command)
			want := statusNo
			switch {
			case strings.Contains(says, "does not exist"):
				want = statusMissing
			case strings.Contains(says, "needs WRITE"):
				want = statusForbidden
			}
			require.Equal(t, want, code, command)
		}
		_, after, _ := strings.Cut(t.Server.Dump(), "\n")
		require.Equal(t, before, after)
	})
}

// A contender whose znode may not be read is a lock's holder all the same; of a semaphore that is
// not known.
func TestAHolderThatMayNotBeReadIsNotNobody(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		alice := t.Session(session.WithAuth("digest", []byte("alice:secret")))
		only := lock.WithACL(session.AuthACL(session.PermAll)...)
		for _, path := range []string{"/a", "/s"} {
			require.NoError(t, t.Server.Znodes(t).Create(path, nil))
		}
		a := must(lock.New(alice, "/a", only))
		s := must(lock.NewSemaphore(alice, "/s", 1, only))
		for _, l := range []*lock.Lock{a, s} {
			must(l.Lock(bubble.Minute(t)))
		}
		out := exits(t, 0, "lock", "show", "/a", "--check", "-o", "json")
		require.Contains(t, out, `"state": "unreadable"`)
		require.NotContains(t, out, "0001-01-01", "a time that is not known is left out")
		for _, command := range []string{"lock show /s --check", "lock break /s -y"} {
			out := exits(t, statusForbidden, strings.Fields(command)...)
			require.Contains(t, out, "troupe: who holds /s is not known: not permitted by the znode's ACL", command)
		}
		all := must(a.Contenders(bubble.Minute(t)))
		exits(t, statusMissing, "lock", "break", all[0].Path+"0", "-y")
		out, _ = troupe(t, "ls", "--kinds", "/")
		require.Regexp(t, `/a +lock +- +0 +1\n`, out)
	})
}
