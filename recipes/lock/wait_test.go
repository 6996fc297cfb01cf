// What the log and the errors say of waits: the holder in another process, and the cost of knowing
// it; grants that others wait for, and after a loss; paths below a namespace.

package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// process is a host in a process of its own: others do not know its grants.
func process(w *bubble.World, name string, opts ...session.Option) *bubble.Host {
	w.Helper()
	system := must(actors.New())
	w.Cleanup(func() { _ = system.Close(bubble.Minute(w)) })
	return w.Host(name, append(opts, session.WithSystem(system))...)
}

// stranger makes a contender by hand, in another process.
func stranger(w *bubble.World, name, data string) string {
	w.Helper()
	return must(process(w, "stranger").Create(w.Context(), path+"/"+name, []byte(data),
		session.Protected(), session.Ephemeral(), session.Sequential(), session.Parents()))
}

const ordersSeven = `by {"host":"a","pid":812,"program":"orders","name":"orders-7"}` + "\n"

// The error of a wait that is given up names the holder. That costs a listing and a read, a second
// after the wait has begun.
func TestAWaitInVainSaysWhoHeld(t *testing.T) {
	type row struct {
		build     builder
		contender string
		data      string
		others    string
	}
	eachRow(t, map[string]row{
		"lock":             {newLock, "lock-", ordersSeven, "; 2 wait"},
		"reader":           {reader, "write-", ordersSeven, "; 2 wait"},
		"writer":           {writer, "read-", ordersSeven, "; 2 wait"},
		"semaphore":        {permits(3), "lease-3-", "held\n" + ordersSeven, ""},
		"asked to give up": {newLock, "lock-", "unlock\n" + ordersSeven, "; 2 wait"},
		"of no owner":      {newLock, "lock-", "\x1b[2J", "; 2 wait"},
	}, func(w *bubble.World, row row) {
		h := w.Host("b")
		holder := stranger(w, row.contender, row.data)
		if row.contender == "lease-3-" {
			setLimit(w, h.Session, 3)
		}
		time.Sleep(36 * time.Second)
		queued(row.build(process(w, "c")))
		queued(row.build(process(w, "d")))
		l := row.build(h)
		ctx, cancel := context.WithTimeoutCause(w.Context(), 5*time.Second, errors.New("no time left"))
		defer cancel()
		waits := bubble.Begin(func() error { _, err := l.Lock(ctx); return err })
		time.Sleep(900 * time.Millisecond)
		w.Server.ClearJournal()
		time.Sleep(4 * time.Second)
		c := costOf(w, h)
		require.Equal(w, []string{"getChildren2 " + path, "getData " + holder}, c.reads)
		require.Equal(w, 2, c.others, "nothing else")
		w.Server.ClearJournal()
		err := bubble.Within(w, time.Second, waits)
		require.ErrorContains(w, err, "lock "+path+": no time left")
		by := `orders-7 on host a \(pid 812\)`
		if !strings.HasSuffix(row.data, ordersSeven) {
			by = `session 0x[0-9a-f]+`
		}
		require.Regexp(w, ": held by "+by+", queued 41 s ago"+row.others+"$", err.Error())
		require.Empty(w, costOf(w, h).reads, "none when it has ended")
	})
}

// The log warns of a grant that others wait for, and names the call that asked for it. It does not
// warn of a grant that ends with a function, or is meant to last. All warnings, and what an error
// says of a wait in the same process: package recipe.
func TestWhichGrantsAreWarnedOf(t *testing.T) {
	type row struct {
		take  func(w *bubble.World, l *lock.Lock) (at string)
		opts  []lock.Option
		warns string // "": not
	}
	lasting := func(w *bubble.World, l *lock.Lock) string {
		at := bubble.After(1)
		l.Acquire()
		bubble.Within(w, time.Second, l.Acquired())
		return at
	}
	eachRow(t, map[string]row{
		"Lock":    {take: func(w *bubble.World, l *lock.Lock) string { must(l.Lock(w.Context())); return bubble.After(0) }, warns: "held for long"},
		"TryLock": {take: func(w *bubble.World, l *lock.Lock) string { must(l.TryLock(w.Context())); return bubble.After(0) }, warns: "held for long"},
		"Do": {take: func(w *bubble.World, l *lock.Lock) string {
			bubble.Begin(func() error {
				return l.Do(w.Context(), func(ctx context.Context, _ *lock.Grant) error { <-ctx.Done(); return nil })
			})
			return ""
		}},
		"Acquire":                  {take: lasting},
		"Acquire, WithHeldWarning": {lasting, []lock.Option{lock.WithHeldWarning(9 * time.Second)}, "held for long"},
		"not received": {take: func(_ *bubble.World, l *lock.Lock) string {
			l.Acquire()
			return bubble.After(-1)
		}, warns: "not received"},
	}, func(w *bubble.World, row row) {
		var log bubble.Log
		at := row.take(w, newLock(w.Host("a", log.Option()), row.opts...))
		synctest.Wait()
		queued(newLock(w.Host("b")))
		time.Sleep(11 * time.Second)
		if row.warns == "" {
			require.Empty(w, log.Warnings(path))
			return
		}
		for _, part := range []string{row.warns, "waiting=1", at} {
			require.Contains(w, log.Warnings(path)[0], part)
		}
	})
}

// The path of an error is the caller's. Its text, and the log, have that in ZooKeeper. The log says
// at Info that a lock is held again after a loss, and for how long it was not.
func TestErrorsAndTheLogShowAbsolutePaths(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log bubble.Log
		l := newLock(w.Host("a", session.WithNamespace("/app"), log.Option()))
		g := held(w, l)
		err := gaveUp(w, newLock(w.Host("b", session.WithNamespace("/app"))), 11*time.Second)
		require.ErrorContains(w, err, "lock /app"+path+": ")
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		require.Len(w, log.Warnings("/app"+path), 1)
		require.Zero(w, log.Count("a lock is granted"))
		require.NoError(w, w.Server.Znodes(w).Delete(g.Sequencer().Path))
		bubble.Within(w, time.Second, g.Done())
		g = held(w, l)
		require.Equal(w, 1, log.Count(`level=INFO msg="a lock is granted" after=`))
		require.NoError(w, l.Close(w.Context()))
		require.ErrorContains(w, l.Err(), "lock /app"+path+": ")
		require.ErrorIs(w, g.Err(), session.ErrLost)
	})
}
