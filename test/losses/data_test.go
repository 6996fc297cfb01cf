package losses_test

// What has the same transaction's number, in an ensemble that has lost its data, and is something
// else: whoever watches is told.

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// watched is something that is watched, and what is seen of it.
type watched struct {
	make  func(w *bubble.World, s *session.Session, who string)        // as many transactions, whoever it is
	watch func(w *bubble.World, s *session.Session) (shows func() any) // now
	want  [2]any                                                       // before and after
}

func TestTheSameNumbersInAnotherHistoryAreNews(t *testing.T) {
	t.Parallel()
	create := func(w *bubble.World, s *session.Session, path, data string, opts ...session.CreateOption) {
		_, err := s.Create(bubble.Minute(w), path, []byte(data), opts...)
		require.NoError(w, err)
	}
	onlyData := func(w *bubble.World, s *session.Session, who string) { create(w, s, "/a", who) }
	for name, row := range map[string]watched{
		"data": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			return latest(s.WatchData(w.Context(), "/a"), func(d session.Data) any { return string(d.Bytes) })
		}, [2]any{"one", "two"}},
		"children": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", "")
			create(w, s, "/a/"+who, "")
		}, func(w *bubble.World, s *session.Session) func() any {
			return latest(s.WatchChildren(w.Context(), "/a"), func(c session.Children) any { return c.Names })
		}, [2]any{[]string{"one"}, []string{"two"}}},
		"a value": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			c, err := config.New(s, "/a", config.Text())
			require.NoError(w, err)
			return func() any { return c.Load().Value }
		}, [2]any{"one", "two"}},
		"a line in which names come again": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", "")
			create(w, s, "/a/0123456789abcdef0123456789abcdef__lock__0000000000", who, session.Ephemeral())
		}, holder(lock.Kazoo), [2]any{"one", "two"}},
		"a lock that is one znode": {func(w *bubble.World, s *session.Session, who string) {
			create(w, s, "/a", who, session.Ephemeral())
		}, holder(lock.Simple), [2]any{"one", "two"}},
		"a barrier": {onlyData, func(w *bubble.World, s *session.Session) func() any {
			b, err := barrier.New(s, "/a")
			require.NoError(w, err)
			var down atomic.Bool
			go func() { down.Store(b.Wait(w.Context()) == nil) }() // ends with the test
			return func() any { return down.Load() }
		}, [2]any{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) { sameNumbers(w, row) })
		})
	}
}

// holder shows the data of who holds a lock.
func holder(layout lock.Layout) func(w *bubble.World, s *session.Session) func() any {
	return func(w *bubble.World, s *session.Session) func() any {
		l, err := lock.New(s, "/a", lock.WithLayout(layout))
		require.NoError(w, err)
		return latest(l.Observe(w.Context()), func(all []lock.Contender) any {
			if len(all) == 0 {
				return nil
			}
			return string(all[0].Data)
		})
	}
}

// latest shows the state that was received last.
func latest[T any](states <-chan T, show func(T) any) func() any {
	var last any
	return func() any {
		for {
			select {
			case v := <-states:
				last = show(v)
			default:
				return last
			}
		}
	}
}

func sameNumbers(w *bubble.World, row watched) {
	var server atomic.Pointer[zktest.Server]
	server.Store(w.Server)
	dial := session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return server.Load().Dialer()(ctx, network, addr)
	})
	watcher := w.Session(dial, session.WithTimeout(6*time.Second)) // transaction 1
	row.make(w, w.Session(), "one")                                // from transaction 3 on
	shows := row.watch(w, watcher)
	time.Sleep(time.Second)
	require.Equal(w, row.want[0], shows())
	for range 100 {
		require.NoError(w, w.Server.Set("/", nil))
	}
	require.NoError(w, watcher.SyncQuorum(bubble.Minute(w), "/"))

	other := zktest.Start(w)
	maker, err := session.Open(bubble.Minute(w), other.Hosts(), session.WithDialer(other.Dialer()))
	require.NoError(w, err)
	defer func() { _ = maker.CloseWithin(time.Minute) }()
	require.NoError(w, other.Set("/", nil))
	row.make(w, maker, "two")
	server.Store(other)
	require.NoError(w, w.Server.Close())
	time.Sleep(20 * time.Second)
	require.ErrorIs(w, watcher.Status().Cause, session.ErrDataLoss)
	shows()
	synctest.Wait()
	require.Equal(w, row.want[1], shows())
}
