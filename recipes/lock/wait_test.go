// The errors of waits in vain: the holder in another process, and the cost of knowing it; paths
// below a namespace; a missing connection.

package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// process is a host in a process of its own: others do not know its grants.
func process(w *bubble.World, name string, opts ...session.Option) *bubble.Host {
	w.Helper()
	system := actors.New()
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
		build        builder
		contender    string
		data, others string
	}
	eachRow(t, map[string]row{
		"lock":             {newLock, "lock-", "", "; 2 wait"},
		"reader":           {reader, "write-", "", "; 2 wait"},
		"writer":           {writer, "read-", "", "; 2 wait"},
		"semaphore":        {permits(3), "lease-3-", "held\n", ""},
		"asked to give up": {newLock, "lock-", "unlock\n", "; 2 wait"},
	}, func(w *bubble.World, row row) {
		h := w.Host("b")
		holder := stranger(w, row.contender, row.data+ordersSeven)
		if row.contender == "lease-3-" {
			require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 3))
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
		require.Regexp(w, `: held by orders-7 on host a \(pid 812\), queued 41 s ago`+row.others+`$`, err.Error())
		require.Empty(w, costOf(w, h).reads, "none when it has ended")
	})
}

// A wait of less than a second looks for no holder.
func TestAHandOverWithinASecondLooksNothingUp(t *testing.T) {
	eachRow(t, map[string]time.Duration{"soon": 100 * time.Millisecond, "late": 900 * time.Millisecond}, func(w *bubble.World, pause time.Duration) {
		h := w.Host("b")
		l, g := newLock(h, lock.WithWarnAfter(0)), held(w, newLock(process(w, "a")))
		w.Server.ClearJournal()
		waits := bubble.Begin(func() error { _, err := l.Lock(w.Context()); return err })
		time.Sleep(pause)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Millisecond, waits))
		time.Sleep(time.Minute)
		require.LessOrEqual(w, len(costOf(w, h).reads), 1, "the listing with the create")
	})
}

// All waits of one session for one path share the reads. A later wait has its own.
func TestWaitsOfASessionShareTheRead(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("b")
		stranger(w, "lock-", ordersSeven)
		var waits []<-chan error
		for range 10 {
			l := newLock(h)
			waits = append(waits, bubble.Begin(func() error { return gaveUp(w, l, 5*time.Second) }))
			time.Sleep(50 * time.Millisecond)
		}
		w.Server.ClearJournal()
		time.Sleep(3 * time.Second)
		require.Len(w, costOf(w, h).reads, 2)
		for _, wait := range waits {
			require.ErrorContains(w, bubble.Within(w, 10*time.Second, wait), "held by orders-7 on host a (pid 812), queued 5 s ago; 9 wait")
		}
		w.Server.ClearJournal()
		require.ErrorContains(w, gaveUp(w, newLock(h), time.Hour), "held by orders-7 on host a (pid 812), queued 1h0m5s ago (seen 59m59s ago)")
		require.NotContains(w, gaveUp(w, newLock(h), 900*time.Millisecond).Error(), "held", "nothing was seen since it began")
	})
}

// A grant, or the end of the wait, does not wait for the listing that looks for the holder; then
// the holder is not read.
func TestAWaitThatEndsWhileItsHolderIsLookedFor(t *testing.T) {
	eachRow(t, map[string]bool{"by a grant": true, "in vain": false}, func(w *bubble.World, granted bool) {
		h := w.Host("b")
		g, l := held(w, newLock(process(w, "a"))), newLock(h, lock.WithWarnAfter(0))
		ctx, cancel := context.WithCancelCause(w.Context())
		defer cancel(nil)
		waits := bubble.Begin(func() error { _, err := l.Lock(ctx); return err })
		time.Sleep(500 * time.Millisecond)
		w.Server.ClearJournal()
		defer fate(w, h, zktest.Delay(time.Second), func(r *zktest.Request) bool { return r.Op == zktest.OpGetChildren2 && !r.Watch })()
		time.Sleep(time.Second)
		if granted {
			require.NoError(w, g.Release(w.Context()))
			require.NoError(w, bubble.Now(w, waits))
		} else {
			cancel(errors.New("enough"))
			require.EqualError(w, bubble.Now(w, waits), "lock "+path+": enough")
		}
		time.Sleep(time.Minute)
		require.Len(w, costOf(w, h).reads, 1)
	})
}

// If the holder may not be read, or the connection is lost, the error does not name it, and no
// request follows the wait.
func TestAHolderThatCannotBeRead(t *testing.T) {
	eachRow(t, map[string]bool{"it may not be read": false, "the connection is lost": true}, func(w *bubble.World, lost bool) {
		h := w.Host("b")
		l, holder := newLock(h), stranger(w, "lock-", ordersSeven)
		waits := bubble.Begin(func() error { return gaveUp(w, l, 5*time.Second) })
		time.Sleep(500 * time.Millisecond)
		if lost {
			heal := h.Machine.Partition()
			require.NotContains(w, bubble.Within(w, time.Minute, waits).Error(), "held")
			heal()
			time.Sleep(time.Second)
			w.Server.ClearJournal()
		} else {
			defer fate(w, h, zktest.Fail(zktest.ErrNoAuth), func(r *zktest.Request) bool { return r.Op == zktest.OpGetData && r.Path == holder && !r.Watch })()
			require.EqualError(w, bubble.Within(w, time.Minute, waits), "lock "+path+": context deadline exceeded")
			require.Len(w, costOf(w, h).reads, 3, "the listing with the create, a listing and a read")
			w.Server.ClearJournal()
		}
		time.Sleep(time.Minute)
		require.Empty(w, costOf(w, h).reads)
	})
}

// Owners that strangers write are shown only if they are whole and printable.
func TestWhatStrangersWriteIsNotShownAsItIs(t *testing.T) {
	eachRow(t, map[string]string{
		"an escape": `by {"name":"\u001b[2Jx"}` + "\n", "a bell": "by {\"name\":\"\x07x\"}\n", "half of it": `by {"name":"x"`, "no owner": "\x1b[2J", "an address": "10.0.0.7",
	}, func(w *bubble.World, data string) {
		stranger(w, "lock-", data)
		l := newLock(w.Host("b"))
		require.Regexp(w, `held by session 0x[0-9a-f]+, queued \d s ago$`, gaveUp(w, l, 5*time.Second).Error())
		synctest.Wait()
		all := must(l.Contenders(w.Context()))
		require.Len(w, all, 1)
		require.Zero(w, all[0].Owner)
		require.Equal(w, data, string(all[0].Data))
	})
}

// The log names the holder that a standing intent waits for, at the level Debug. At other levels
// the holder is not looked for.
func TestTheLogTellsWhatAnIntentWaitsFor(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		var log, quiet bubble.Log
		stranger(w, "lock-", ordersSeven)
		a, b := w.Host("b", log.Debug()), w.Host("c", quiet.Option())
		queued(newLock(a))
		recipe.Logger(b.Session).Debug("refused, so that the level is known to be off")
		synctest.Wait()
		queued(newLock(b))
		w.Server.ClearJournal()
		time.Sleep(time.Hour)
		require.Len(w, costOf(w, a).reads, 2)
		require.Empty(w, costOf(w, b).reads)
		require.Equal(w, 1, log.Count("what is wanted is held"))
		require.Equal(w, 1, log.Count(`holder="held by orders-7 on host a (pid 812), queued 1 s ago; 1 wait"`))
	})
}

// The path of an error is the caller's. Its text, and the log, have that in ZooKeeper.
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
		require.NoError(w, l.Close(w.Context()))
		require.ErrorContains(w, l.Err(), "lock /app"+path+": ")
		require.ErrorIs(w, g.Err(), session.ErrLost)
	})
}

// The error of a wait that ends without a connection says that, too.
func TestAWaitInAnOutageSaysSo(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		l := newLock(w.Host("a"))
		held(w, newLock(w.Host("b")))
		w.Server.Kill(0)
		require.Regexp(w, "^lock "+path+`: no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused: context deadline exceeded`, gaveUp(w, l, 40*time.Second).Error())
		require.NoError(w, w.Server.Restart(0))
	})
}
