// What a wait in vain says of who held what it waited for, in another process, and what it costs to
// know that; of paths below a namespace; and of a connection that is missing.

package lock_test

import (
	"context"
	"errors"
	"fmt"
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

// process is a host in a process of its own: what it holds is not known to the others.
func (w *world) process(name string, opts ...session.Option) *bubble.Host {
	w.Helper()
	system := actors.New()
	w.Cleanup(func() { _ = system.Close(bubble.Minute(w)) })
	return w.Host(name, append(opts, session.WithSystem(system))...)
}

// stranger is a contender that another process has made by hand, with these data.
func (w *world) stranger(name, data string) string {
	w.Helper()
	made, err := w.process("stranger").Create(w.Context(), path+"/"+name, []byte(data),
		session.Protected(), session.Ephemeral(), session.Sequential(), session.Parents())
	require.NoError(w, err)
	return made
}

const ordersSeven = `by {"host":"a","pid":812,"program":"orders","name":"orders-7"}` + "\n"

// gaveUp is the error of a wait of this long.
func (w *world) gaveUp(l *lock.Lock, d time.Duration) error {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	_, err := l.Lock(ctx)
	require.ErrorIs(w, err, context.DeadlineExceeded)
	return err
}

// looks are the requests of a session since the journal was cleared that read and set no watch.
func (w *world) looks(h *bubble.Host) (all []string) {
	synctest.Wait()
	for _, r := range w.Server.Journal() {
		reads := r.Op == zktest.OpGetData || r.Op == zktest.OpExists || r.Op == zktest.OpGetChildren || r.Op == zktest.OpGetChildren2
		if r.SessionID == h.Status().SessionID && reads && !r.Watch {
			all = append(all, r.Op.String()+" "+r.Path)
		}
	}
	return all
}

func TestAWaitInVainSaysWhoHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build        builder
		contender    string
		data, others string
	}{
		"lock":             {(*world).lock, "lock-", "", "; 2 wait"},
		"reader":           {(*world).reader, "write-", "", "; 2 wait"},
		"writer":           {(*world).writer, "read-", "", "; 2 wait"},
		"semaphore":        {permits(3), "lease-3-", "held\n", ""},
		"asked to give up": {(*world).lock, "lock-", "unlock\n", "; 2 wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("b")
				held := w.stranger(c.contender, c.data+ordersSeven)
				if name == "semaphore" {
					require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 3))
				}
				time.Sleep(36 * time.Second)
				w.queued(c.build(w, w.process("c")))
				w.queued(c.build(w, w.process("d")))
				l := c.build(w, h)
				ctx, cancel := context.WithTimeoutCause(w.Context(), 5*time.Second, errors.New("no time left"))
				defer cancel()
				waits := bubble.Begin(func() error { _, err := l.Lock(ctx); return err })
				time.Sleep(900 * time.Millisecond)
				w.Server.ClearJournal()
				time.Sleep(4 * time.Second)
				_, _, others := w.asked(h)
				require.Equal(w, []string{"getChildren2 " + path, "getData " + held}, w.looks(h))
				require.Equal(w, 2, others, "nothing else")
				w.Server.ClearJournal()
				err := bubble.Within(w, time.Second, waits)
				require.ErrorContains(w, err, "lock "+path+": no time left")
				require.Regexp(w, `: held by orders-7 on host a \(pid 812\), queued 41 s ago`+c.others+`$`, err.Error())
				require.Empty(w, w.looks(h), "none when it has ended")
			})
		})
	}
}

// A hand-over within a second costs what it costs without: then nothing is looked up.
func TestAHandOverWithinASecondLooksNothingUp(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{100 * time.Millisecond, 900 * time.Millisecond} {
		inBubble(t, func(w *world) {
			h := w.Host("b")
			l := w.lock(h, lock.WithWarnAfter(0))
			g := w.held(w.lock(w.process("a")))
			w.Server.ClearJournal()
			waits := bubble.Begin(func() error { _, err := l.Lock(w.Context()); return err })
			time.Sleep(pause)
			require.NoError(w, g.Release(w.Context()))
			require.NoError(w, bubble.Within(w, time.Millisecond, waits))
			time.Sleep(time.Minute)
			require.LessOrEqual(w, len(w.looks(h)), 1, "the listing with the create: %v", w.looks(h))
		})
	}
}

// All that wait on one session for one path share the read, and a later wait has one of its own.
func TestWaitsOfASessionShareTheRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("b")
		w.stranger("lock-", ordersSeven)
		var waits []<-chan error
		for range 10 {
			l := w.lock(h)
			waits = append(waits, bubble.Begin(func() error { return w.gaveUp(l, 5*time.Second) }))
			time.Sleep(50 * time.Millisecond)
		}
		w.Server.ClearJournal()
		time.Sleep(3 * time.Second)
		require.Len(w, w.looks(h), 2)
		for _, wait := range waits {
			require.ErrorContains(w, bubble.Within(w, 10*time.Second, wait), "held by orders-7 on host a (pid 812), queued 5 s ago; 9 wait")
		}
		w.Server.ClearJournal()
		require.ErrorContains(w, w.gaveUp(w.lock(h), time.Hour), "held by orders-7 on host a (pid 812), queued 1h0m5s ago (seen 59m59s ago)")
		require.NotContains(w, w.gaveUp(w.lock(h), 900*time.Millisecond).Error(), "held", "nothing was seen since it began")
	})
}

// A look that is not answered, is refused, or is overtaken by the grant, changes nothing; and no
// request follows when the wait has ended.
func TestALookThatComesToNothing(t *testing.T) {
	t.Parallel()
	slow := func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpGetChildren2 && !r.Watch {
			return zktest.Delay(time.Second)
		}
		return zktest.Pass
	}
	for name, granted := range map[string]bool{"the grant comes first": true, "the wait ends first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("b")
				g, l := w.held(w.lock(w.process("a"))), w.lock(h, lock.WithWarnAfter(0))
				ctx, cancel := context.WithCancelCause(w.Context())
				defer cancel(nil)
				waits := bubble.Begin(func() error { _, err := l.Lock(ctx); return err })
				time.Sleep(500 * time.Millisecond)
				w.Server.ClearJournal()
				defer w.Server.Intercept(slow)()
				time.Sleep(time.Second)
				if granted {
					require.NoError(w, g.Release(w.Context()))
					require.NoError(w, bubble.Within(w, time.Second, waits), "it does not wait for the look")
				} else {
					cancel(errors.New("enough"))
					require.EqualError(w, bubble.Within(w, time.Second, waits), "lock "+path+": enough")
				}
				time.Sleep(time.Minute)
				require.Len(w, w.looks(h), 1, "the holder is not read any more")
			})
		})
	}
	t.Run("it is refused", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			h := w.Host("b")
			held := w.stranger("lock-", ordersSeven)
			defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpGetData && r.Path == held && !r.Watch {
					return zktest.Fail(zktest.ErrNoAuth)
				}
				return zktest.Pass
			})()
			require.EqualError(w, w.gaveUp(w.lock(h), 5*time.Second), "lock "+path+": context deadline exceeded")
			require.Len(w, w.looks(h), 3, "the listing with the create, and a look")
		})
	})
	t.Run("the connection is lost", func(t *testing.T) {
		inBubble(t, func(w *world) {
			h := w.Host("b")
			w.stranger("lock-", ordersSeven)
			l := w.lock(h)
			waits := bubble.Begin(func() error { return w.gaveUp(l, 5*time.Second) })
			time.Sleep(500 * time.Millisecond)
			heal := h.Machine.Partition()
			require.NotContains(w, bubble.Within(w, time.Minute, waits).Error(), "held")
			heal()
			time.Sleep(time.Second)
			w.Server.ClearJournal()
			time.Sleep(time.Minute)
			require.Empty(w, w.looks(h))
		})
	})
}

// What strangers write is shown only if it is whole and printable.
func TestWhatStrangersWriteIsNotShownAsItIs(t *testing.T) {
	t.Parallel()
	for n, data := range []string{`by {"name":"\u001b[2Jx"}` + "\n", "by {\"name\":\"\x07x\"}\n", `by {"name":"x"`, "\x1b[2J", "10.0.0.7"} {
		inBubble(t, func(w *world) {
			w.stranger("lock-", data)
			l := w.lock(w.Host("b"))
			require.Regexp(w, `held by session 0x[0-9a-f]+, queued \d s ago$`, w.gaveUp(l, 5*time.Second).Error(), fmt.Sprint(n))
			owners, all := w.whose(l)
			require.Zero(w, owners[0])
			require.Equal(w, []string{data}, all)
		})
	}
}

func TestWhoWaitsForADelayIsNotToldThatItHoldsItself(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.process("a")
		w.held(w.delayed(h))
		h.Die()
		time.Sleep(10 * time.Second)
		require.NotContains(w, w.gaveUp(w.delayed(w.Host("b")), 5*time.Second).Error(), "held")
	})
}

// Of a standing intent the log tells, for whoever reads its details; otherwise nothing is asked.
func TestTheLogTellsWhatAnIntentWaitsFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log, quiet bubble.Log
		w.stranger("lock-", ordersSeven)
		a, b := w.Host("b", log.Debug()), w.Host("c", quiet.Option())
		w.queued(w.lock(a))
		recipe.Logger(b.Session).Debug("refused, so that the level is known to be off")
		synctest.Wait()
		w.queued(w.lock(b))
		w.Server.ClearJournal()
		time.Sleep(time.Hour)
		require.Len(w, w.looks(a), 2)
		require.Empty(w, w.looks(b))
		require.Equal(w, 1, log.Count("what is wanted is held"))
		require.Equal(w, 1, log.Count(`holder="held by orders-7 on host a (pid 812), queued 1 s ago; 1 wait"`))
	})
}

// The path of an error is the caller's. Its text, and the log, have that in ZooKeeper.
func TestErrorsAndTheLogShowAbsolutePaths(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		l := w.lock(w.Host("a", session.WithNamespace("/app"), log.Option()))
		g := w.held(l)
		ctx, cancel := context.WithTimeout(w.Context(), 11*time.Second)
		defer cancel()
		_, err := w.lock(w.Host("b", session.WithNamespace("/app"))).Lock(ctx)
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

// A wait that ends while there is no connection says that, not only that its time is up.
func TestAWaitInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		w.held(w.lock(w.Host("b")))
		w.Server.Kill(0)
		ctx, cancel := context.WithTimeout(w.Context(), 40*time.Second)
		defer cancel()
		_, err := l.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Regexp(w, "^lock "+path+`: no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused: context deadline exceeded`, err.Error())
		require.NoError(w, w.Server.Restart(0))
	})
}
