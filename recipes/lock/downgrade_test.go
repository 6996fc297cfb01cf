package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B10 [CURATOR-276/621]: a writer who goes on as a reader keeps his place. The writer behind waits
// for him, the readers come in beside him.
func TestB10_AWriterBehindWaitsForTheDowngraded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		w1, w2, r1, r3 := w.writer(h), w.writer(w.Host("w2")), w.reader(w.Host("r1")), w.reader(w.Host("r3"))
		g := w.held(w1)
		w.queued(r1)
		w.queued(w2)
		w.queued(r3)
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		require.Equal(w, g.Token(), read.Token())
		require.NotEqual(w, g.Path(), read.Path())
		require.ErrorIs(w, g.Err(), session.ErrReleased)
		require.True(w, read.Valid())
		require.Equal(w, fence.Shared, read.Sequencer().Mode)
		require.NoError(w, fence.Check(w.Context(), h.Session, read.Sequencer()))
		bubble.Within(w, time.Second, r1.Acquired())
		bubble.Never(w, w2.Acquired(), "a writer beside a reader")
		bubble.Never(w, r3.Acquired(), "a reader before the writer who came first")
		line, err := r1.Contenders(w.Context())
		require.NoError(w, err)
		require.Equal(w, read.Path(), line[0].Path)
		require.Equal(w, read.Token(), line[0].Token, "the token is the writer's")
		require.Empty(w, line[0].Data)
		require.Equal(w, []bool{true, true, false, false}, []bool{line[0].Holding, line[1].Holding, line[2].Holding, line[3].Holding})

		_, err = w1.Lock(read.Context())
		require.ErrorIs(w, err, lock.ErrUpgrade, "now it is a reader who would have to wait for himself")
		_, err = read.Commit(w.Context(), session.SetOp(path, []byte("x"), -1))
		require.NoError(w, err)
		_, err = g.Commit(w.Context(), session.SetOp(path, []byte("x"), -1))
		require.ErrorIs(w, err, session.ErrLost)
		require.NoError(w, r1.Release(w.Context()))
		bubble.Never(w, w2.Acquired(), "a writer beside a reader")
		require.NoError(w, g.Release(w.Context()), "it was released, and what came of it stands")
		require.True(w, read.Valid())
		require.NoError(w, read.Release(w.Context()))
		next := bubble.Within(w, time.Second, w2.Acquired())
		require.Greater(w, next.Token(), g.Token())
	})
}

// The standing intent of the write side stands again as a writer once the downgraded grant is over.
func TestADowngradedStandingIntentStandsAgainAsAWriter(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.writer(w.Host("a"), lock.WithData([]byte("mine")))
		g := w.granted(l)
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Never(w, l.Acquired(), "a second grant")
		line, err := l.Contenders(w.Context())
		require.NoError(w, err)
		require.Equal(w, "mine", string(line[0].Data))
		require.NoError(w, read.Release(w.Context()))
		again := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, fence.Exclusive, again.Sequencer().Mode)
		read, err = again.Downgrade(w.Context())
		require.NoError(w, err)
		require.NoError(w, l.Release(w.Context()))
		require.ErrorIs(w, read.Err(), session.ErrReleased)
		require.Zero(w, w.nodes())
	})
}

func TestDowngradeWithinDo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l, waiting := w.writer(h), w.writer(w.Host("b"))
		boom := errors.New("boom")
		err := l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			w.queued(waiting)
			read, err := g.Downgrade(ctx) // whose own end this very call is
			require.NoError(w, err)
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			bubble.Never(w, waiting.Acquired(), "a writer beside a reader")
			require.True(w, read.Valid())
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.NotErrorIs(w, err, session.ErrLost)
		bubble.Within(w, time.Second, waiting.Acquired())
		require.NoError(w, waiting.Release(w.Context()))
		require.Zero(w, w.nodes(), "what came of the grant is released with it")

		err = l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			read, err := g.Downgrade(ctx)
			require.NoError(w, err)
			require.NoError(w, h.Delete(w.Context(), read.Path(), -1))
			bubble.Within(w, time.Second, read.Done())
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
	})
}

func TestADowngradeThatCannotBe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		for _, l := range []*lock.Lock{w.lock(h), w.reader(h)} {
			g := w.held(l)
			_, err := g.Downgrade(w.Context())
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.True(w, g.Valid(), "nothing has changed")
			require.NoError(w, g.Release(w.Context()))
		}
		l := w.writer(h)
		g := w.held(l)
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		_, err := g.Downgrade(ended)
		require.ErrorIs(w, err, context.Canceled)
		require.True(w, g.Valid(), "nothing has changed")
		require.NoError(w, g.Release(w.Context()))
		_, err = g.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrLost, "it was released")

		g = w.held(l)
		require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		_, err = g.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrDeleted)

		for range 100 { // the two come in whatever order
			g = w.held(l)
			reads, errs := make(chan *lock.Grant, 2), make(chan error, 2)
			for range 2 {
				go func() {
					read, err := g.Downgrade(w.Context())
					if err != nil {
						errs <- err
						return
					}
					reads <- read
				}()
			}
			require.ErrorIs(w, bubble.Within(w, time.Minute, errs), session.ErrLost, "one of the two")
			require.NoError(w, bubble.Within(w, time.Minute, reads).Release(w.Context()))
		}
		require.NoError(w, l.Close(w.Context()))
		require.Zero(w, w.nodes())
	})
}

// A caller who leaves gets nothing, and nothing is left.
func TestADowngradeWhoseCallerLeaves(t *testing.T) {
	t.Parallel()
	for _, fate := range []zktest.Verdict{zktest.Delay(2 * time.Second), zktest.CutAfter, zktest.CutBefore, zktest.DropReply} {
		inBubble(t, func(w *world) {
			h := w.Host("a")
			l, waiting := w.writer(h), w.writer(w.Host("b"))
			g := w.held(l)
			w.queued(waiting)
			hear := w.deaf(h, fate)
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			read, err := g.Downgrade(ctx)
			hear()
			if err == nil { // the reconnection was quick
				require.NoError(w, read.Release(w.Context()))
			} else {
				require.ErrorIs(w, err, context.DeadlineExceeded)
			}
			bubble.Within(w, 20*time.Second, waiting.Acquired())
			time.Sleep(time.Minute)
			require.Equal(w, 1, w.nodes())
		})
	}
}

// A revocation of the writer is none of the reader.
func TestRevocationBesideADowngrade(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		g := w.held(w.writer(w.Host("a")))
		require.NoError(w, lock.Revoke(w.Context(), admin, g.Path()))
		bubble.Within(w, time.Second, g.Revoked())
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Never(w, read.Revoked(), "nobody asked the reader")
		require.NoError(w, lock.Revoke(w.Context(), admin, read.Path()))
		bubble.Within(w, time.Second, read.Revoked())
		require.NoError(w, lock.Break(w.Context(), admin, read.Path(), time.Second))
		bubble.Within(w, time.Second, read.Done())
		require.ErrorIs(w, read.Err(), session.ErrDeleted)
	})
}

// The epoch ends while the exchange is under way.
func TestADowngradeWhoseEpochEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a, b := w.writer(ha), w.writer(w.Host("b"))
		g := w.granted(a)
		w.queued(b)
		heal := ha.Machine.Partition()
		ended := make(chan error, 1)
		go func() { _, err := g.Downgrade(context.Background()); ended <- err }()
		bubble.Within(w, time.Minute, b.Acquired())
		heal()
		require.ErrorIs(w, bubble.Within(w, time.Minute, ended), session.ErrLost)
		require.NoError(w, b.Release(w.Context()))
		next := bubble.Within(w, time.Minute, a.Acquired())
		require.Greater(w, next.Token(), g.Token())
	})
}

// In the layouts of others that know readers, the reader's znode has their form, and the writer's
// number.
func TestDowngradeInOtherLayouts(t *testing.T) {
	t.Parallel()
	for layout, pattern := range map[lock.Layout]string{
		lock.Troupe:  `^/locks/orders/_c_[0-9a-f-]{36}-read-0000000000$`,
		lock.Curator: `^/locks/orders/_c_[0-9a-f-]{36}-__READ__0000000000$`,
		lock.Kazoo:   `^/locks/orders/[0-9a-f]{32}__rlock__0000000000$`,
	} {
		inBubble(t, func(w *world) {
			l := w.writer(w.Host("a"), lock.WithLayout(layout))
			g := w.held(l)
			behind, reads := w.queued(w.writer(w.Host("b"))), w.reader(w.Host("c"))
			read, err := g.Downgrade(w.Context())
			require.NoError(w, err)
			require.Regexp(w, pattern, read.Path())
			bubble.Never(w, behind.Acquired(), "a writer beside a reader")
			require.NoError(w, behind.Release(w.Context()))
			require.NoError(w, w.held(reads).Release(w.Context()))
			_, err = read.Downgrade(w.Context())
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.NoError(w, read.Release(w.Context()))
		})
	}
	inBubble(t, func(w *world) {
		g := w.held(w.lock(w.Host("a"), lock.WithLayout(lock.Kazoo))) // whose exclusive lock and write lock are one
		_, err := g.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrUnsupported)
		require.True(w, g.Valid())
	})
}
