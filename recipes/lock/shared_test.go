package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func (w *world) reader(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.NewRead(h.Session, path, opts...)
	require.NoError(w, err)
	return l
}

func (w *world) writer(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.NewWrite(h.Session, path, opts...)
	require.NoError(w, err)
	return l
}

func TestReadersTogetherWritersAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		r1, r2, r3 := w.reader(w.Host("r1")), w.reader(w.Host("r2")), w.reader(w.Host("r3"))
		w1, w2 := w.writer(w.Host("w1")), w.writer(w.Host("w2"))
		first, second := w.held(r1), w.held(r2)
		require.Equal(w, fence.Shared, first.Sequencer().Mode)
		w.queued(w1)
		w.queued(r3)
		w.queued(w2)
		bubble.Never(w, w1.Acquired(), "a writer beside readers")
		bubble.Never(w, r3.Acquired(), "a reader before the writer who came first")
		line, err := r1.Contenders(w.Context())
		require.NoError(w, err)
		var holding []bool
		for _, c := range line {
			holding = append(holding, c.Holding)
		}
		require.Equal(w, []bool{true, true, false, false, false}, holding)

		require.NoError(w, first.Release(w.Context()))
		bubble.Never(w, w1.Acquired(), "a writer beside a reader")
		require.NoError(w, second.Release(w.Context()))
		alone := bubble.Within(w, time.Second, w1.Acquired())
		require.Equal(w, fence.Exclusive, alone.Sequencer().Mode)
		bubble.Never(w, r3.Acquired(), "a reader beside a writer")
		require.NoError(w, w1.Release(w.Context()))
		third := bubble.Within(w, time.Second, r3.Acquired())
		bubble.Never(w, w2.Acquired(), "a writer beside a reader")
		require.NoError(w, r3.Release(w.Context()))
		last := bubble.Within(w, time.Second, w2.Acquired())
		require.Greater(w, third.Token(), alone.Token())
		require.Greater(w, last.Token(), third.Token())
	})
}

// B09 [kazoo#649]: a reader waits for writers before it only, so that no circle closes with one
// behind it.
func TestB09_AReaderAndAWriterBehindItBothGetTheirTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w1, r, w2 := w.writer(w.Host("w1")), w.reader(w.Host("r")), w.writer(w.Host("w2"))
		g := w.held(w1)
		w.queued(r)
		w.queued(w2)
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, r.Acquired())
		bubble.Never(w, w2.Acquired(), "a writer beside a reader")
		require.NoError(w, r.Release(w.Context()))
		bubble.Within(w, time.Second, w2.Acquired())
	})
}

func TestAnUpgradeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		r, r2, wr, other := w.reader(h), w.reader(h), w.writer(h), w.writer(w.Host("b"))
		w.Server.ClearJournal()
		require.NoError(w, r.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			began := time.Now()
			for _, l := range []*lock.Lock{wr, other} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrUpgrade)
				_, err = l.TryLock(g.Context())
				require.ErrorIs(w, err, lock.ErrUpgrade)
				require.ErrorIs(w, l.Do(ctx, func(context.Context, *lock.Grant) error { panic("never") }), lock.ErrUpgrade)
			}
			for _, l := range []*lock.Lock{r, r2, w.lock(h)} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock, "that is no upgrade, and would wait for itself all the same once a writer is between")
			}
			require.Zero(w, time.Since(began))
			return nil
		}))
		require.NoError(w, wr.Do(w.Context(), func(ctx context.Context, _ *lock.Grant) error {
			for _, l := range []*lock.Lock{r, wr, other} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock)
			}
			return nil
		}))
		require.Zero(w, w.nodes())
	})
}

// I8: a release wakes those who can proceed, and one more at most: the readers behind a writer, or
// one writer.
func TestI8_ASharedReleaseWakesThoseWhoCanProceed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		g := w.held(w.writer(w.Host("first")))
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
		var readers, behind []*lock.Lock
		for i := range 20 {
			readers = append(readers, w.queued(w.reader(hosts[i%3])))
		}
		last := w.queued(w.writer(w.Host("last")))
		for i := range 20 {
			behind = append(behind, w.queued(w.reader(hosts[i%3])))
		}
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		for _, r := range readers {
			bubble.Within(w, time.Second, r.Acquired())
		}
		synctest.Wait()
		requests, events := w.traffic()
		require.LessOrEqual(w, events, 1+len(readers), "the releaser's own watch and the readers'")
		require.LessOrEqual(w, requests, 1+len(readers), "the deletion, and a listing each at most")

		w.Server.ClearJournal()
		for _, r := range readers {
			require.NoError(w, r.Close(w.Context()))
		}
		bubble.Within(w, time.Second, last.Acquired())
		synctest.Wait()
		requests, events = w.traffic()
		require.LessOrEqual(w, events, len(readers)+1, "each releaser's own watch, and the last one's successor")
		require.LessOrEqual(w, requests, len(readers)+2)
		for _, r := range behind {
			bubble.Never(w, r.Acquired(), "a reader beside a writer")
		}
	})
}

// Curator's and kazoo's shared contenders, and everybody's exclusive ones, are waited for as what
// they are.
func TestForeignSharedContenders(t *testing.T) {
	t.Parallel()
	const guid = "0123456789abcdef0123456789abcdef"
	inBubble(t, func(w *world) {
		h := w.Host("a")
		r, wr := w.reader(h), w.writer(h)
		for name, reads := range map[string]bool{
			"_c_5f0c17e2-7dec-4d0b-a765-00a0c91e6bf6-__READ__0000000000": true, "__READ__0000000000": true, guid + "__rlock__0000000000": true, "read-0000000000": true,
			"_c_5f0c17e2-7dec-4d0b-a765-00a0c91e6bf6-__WRIT__0000000000": false, "__WRIT__0000000000": false, guid + "__lock__0000000000": false, "write-0000000000": false,
			"lock-0000000000": false, "x-72057594037927936-0000000000": false, "n_0000000000": false, "lease-2-0000000000": false,
		} {
			_, err := h.Create(w.Context(), path+"/"+name, nil, session.Parents())
			require.NoError(w, err)
			_, err = wr.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld, name)
			g, err := r.TryLock(w.Context())
			if reads {
				require.NoError(w, err, name)
				require.NoError(w, g.Release(w.Context()))
			} else {
				require.ErrorIs(w, err, lock.ErrHeld, name)
			}
			require.NoError(w, h.Delete(w.Context(), path+"/"+name, -1))
		}
	})
}
