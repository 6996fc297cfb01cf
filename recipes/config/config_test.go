package config_test

// A cell's value, its updates and its end. The package's helpers are at the end.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestARendezvous(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		late := open(w, w.Host("late").Session, config.JSON[limits]())
		require.Equal(w, config.Snapshot[limits]{}, late.Load())
		got := make(chan config.Snapshot[limits])
		go func() {
			s, err := late.Await(w.Context())
			if err != nil {
				w.Error(err)
			}
			got <- s
		}()
		time.Sleep(time.Hour)
		first := open(w, w.Host("first").Session, config.JSON[limits]())
		written := must(first.Update(w.Context(), set(limits{Rate: 7})))
		s := bubble.Within(w, time.Minute, got)
		require.Equal(w, written, s)
		require.Equal(w, 7, s.Value.Rate)
		require.True(w, s.Good())
		synctest.Wait()
		require.Equal(w, s, late.Load())
		data, _, err := w.Host("reader").Session.Get(w.Context(), path)
		require.NoError(w, err)
		require.JSONEq(w, `{"Rate":7}`, string(data))
	})
}

// TestNewWaitsForNothing: a cell can be made before there is a server, and says so.
func TestNewWaitsForNothing(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		w.Server.Kill(0)
		s := must(session.New(w.Server.Hosts(), session.WithDialer(w.Server.Dialer())))
		c := must(config.New(s, path, config.JSON[limits]()))
		synctest.Wait()
		require.Equal(w, config.Snapshot[limits]{Stale: true}, c.Load())
		require.NoError(w, w.Server.Restart(0))
		must(c.Update(w.Context(), set(limits{Rate: 3})))
		synctest.Wait()
		require.Equal(w, 3, c.Load().Value.Rate)
		require.NoError(w, s.Close(w.Context()))
		bubble.Within(w, time.Second, c.Done())
		require.ErrorIs(w, errOf(config.New(s, path, config.JSON[limits]())), session.ErrClosed)
	})
}

func TestBadDataKeepTheLastGoodValue(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s := w.Host("a").Session
		put(w, s, "{")
		c := open(w, s, config.JSON[limits]())
		require.ErrorIs(w, c.Load().Err, config.ErrBadData)
		require.True(w, c.Load().Present)
		require.False(w, c.Load().Good())
		require.ErrorIs(w, errOf(c.Update(w.Context(), increment)), config.ErrBadData)
		put(w, s, `{"Rate":1}`)
		good := c.Load()
		require.True(w, good.Good())
		put(w, s, `{"Rate":"many"}`)
		now := c.Load()
		require.ErrorIs(w, now.Err, config.ErrBadData)
		require.ErrorContains(w, now.Err, "Rate")
		require.Equal(w, good.Value, now.Value)
		require.Greater(w, now.Mzxid, good.Mzxid)
		require.NoError(w, s.Delete(w.Context(), path, -1))
		synctest.Wait()
		now = c.Load()
		require.Equal(w, config.Snapshot[limits]{Value: good.Value}, now, "gone: the last good value, and that it is gone")
		put(w, s, `{"Rate":2}`)
		require.Equal(w, 2, c.Load().Value.Rate, "B67: and made anew")
	})
}

func TestObserveGivesTheStatesInOrder(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s := w.Host("a").Session
		c := open(w, s, config.JSON[limits]())
		ctx, cancel := context.WithCancel(w.Context())
		seen := c.Observe(ctx)
		require.False(w, bubble.Within(w, time.Second, seen).Present)
		for i := range 5 {
			must(c.Update(w.Context(), set(limits{Rate: i})))
			require.Equal(w, i, bubble.Within(w, time.Second, seen).Value.Rate)
		}
		w.Server.Disconnect(s.Status().SessionID)
		require.True(w, bubble.Within(w, time.Minute, seen).Stale)
		now := bubble.Within(w, time.Minute, seen)
		require.False(w, now.Stale)
		require.Equal(w, 4, now.Value.Rate)
		cancel()
		bubble.Closed(w, seen)
	})
}

// B69: deleted and made again with the same version while the connection was down. B68: a change
// made meanwhile comes after it.
func TestB69_AZnodeMadeAnewIsAnotherOne(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s, admin := w.Host("a").Session, w.Host("admin").Session
		put(w, admin, `{"Rate":1}`)
		c := open(w, s, config.JSON[limits]())
		before := c.Load()
		heal := w.Server.Host("a").Partition()
		require.NoError(w, admin.Delete(w.Context(), path, -1))
		put(w, admin, `{"Rate":2}`)
		seen := c.Observe(w.Context())
		time.Sleep(5 * time.Second)
		heal()
		time.Sleep(30 * time.Second)
		now := c.Load()
		require.Equal(w, before.Version, now.Version)
		require.Greater(w, now.Czxid, before.Czxid)
		require.Equal(w, 2, now.Value.Rate)
		require.Equal(w, now, bubble.Within(w, time.Second, seen))
	})
}

// B69, on the other side: an update that meets a znode made anew with the version that it knows
// says so.
func TestB69_AnUpdateOfAZnodeMadeAnew(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s, admin := w.Host("a").Session, w.Host("admin").Session
		put(w, admin, `{"Rate":1}`)
		c := open(w, s, config.JSON[limits]())
		_, err := c.Update(w.Context(), func(l limits) (limits, error) {
			require.NoError(w, admin.Delete(w.Context(), path, -1))
			put(w, admin, `{"Rate":2}`)
			return increment(l)
		})
		require.ErrorIs(w, err, config.ErrRecreated)
	})
}

func TestUpdateSeesWhatItReplaces(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s, admin := w.Host("a").Session, w.Host("admin").Session
		c := open(w, s, config.JSON[limits]())
		calls := 0
		_, err := c.Update(w.Context(), func(l limits) (limits, error) {
			if calls++; calls < 4 { // another client is quicker: it creates, changes, deletes
				if calls == 3 {
					require.NoError(w, admin.Delete(w.Context(), path, -1))
				} else {
					put(w, admin, `{"Rate":10}`)
				}
			}
			return increment(l)
		})
		require.NoError(w, err)
		require.Equal(w, 4, calls)
		synctest.Wait()
		require.Equal(w, 1, c.Load().Value.Rate)
		no := errors.New("no")
		before := w.Server.Dump()
		require.ErrorIs(w, errOf(c.Update(w.Context(), func(limits) (limits, error) { return limits{}, no })), no)
		require.Equal(w, before, w.Server.Dump())
		names, _, err := admin.Children(w.Context(), path)
		require.NoError(w, err)
		require.Empty(w, names, "no marker is left")
	})
}

type stubborn struct{ Rate int }

func (*stubborn) UnmarshalJSON([]byte) error { panic("not today") }

func TestCodecs(t *testing.T) {
	t.Parallel()
	roundtrip(t, config.JSON[limits](), limits{3, "x"}, `{"Rate":3,"Name":"x"}`, "", "{", "[]", `{"Rate":1} trailing`)
	roundtrip(t, config.YAML[limits](), limits{3, "x"}, "rate: 3\nname: x\n", "", "rate: [", "\t")
	roundtrip(t, config.Text(), "héllo", "héllo", "\xff")
	require.Error(t, errOf(config.Text().Encode("\xff")))
	require.Error(t, errOf(config.JSON[func()]().Encode(nil)))
	bubble.Run(t, func(w *bubble.World) {
		s := w.Host("a").Session
		put(w, s, `{}`)
		c := open(w, s, config.JSON[stubborn]())
		require.ErrorIs(w, c.Load().Err, config.ErrBadData)
		require.ErrorContains(w, c.Load().Err, "not today", "a panic in there is bad data too")
	}, bubble.Brisk()...)
}

func roundtrip[T any](t *testing.T, c config.Codec[T], v T, text string, bad ...string) {
	t.Helper()
	data := must(c.Encode(v))
	require.Equal(t, text, string(data))
	back := must(c.Decode(data))
	require.Equal(t, v, back)
	for _, b := range bad {
		require.Error(t, errOf(c.Decode([]byte(b))), "%q", b)
	}
}

func TestContextsAndEnds(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		s := w.Host("a").Session
		c := open(w, s, config.Text())
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(w, errOf(c.Await(ctx)), context.DeadlineExceeded)
		heal := w.Server.Host("a").Partition()
		require.ErrorIs(w, errOf(c.Update(ctx, func(s string) (string, error) { return s, nil })), context.DeadlineExceeded)
		short, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, errOf(config.Open(short, s, "/other", config.Text())), context.DeadlineExceeded)
		heal()
		seen := c.Observe(w.Context())
		require.NoError(w, c.Err())
		require.Equal(w, 1, w.Watches(s), "none of the cell that was not opened")
		require.NoError(w, c.Close(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		bubble.Within(w, time.Second, c.Done())
		require.ErrorIs(w, c.Err(), session.ErrClosed)
		require.Zero(w, w.Watches(s))
		bubble.Closes(w, seen)
		require.ErrorIs(w, errOf(c.Await(w.Context())), session.ErrClosed)
		require.ErrorIs(w, errOf(c.Update(w.Context(), func(s string) (string, error) { return s, nil })), session.ErrClosed)
		d := open(w, s, config.Text())
		require.NoError(w, s.Close(w.Context()))
		bubble.Within(w, time.Second, d.Done())
		require.ErrorIs(w, d.Err(), session.ErrClosed)
		require.ErrorIs(w, errOf(config.Open(w.Context(), s, path, config.Text())), session.ErrClosed)
	})
}

// The costs are those of docs/recipes/config.md.
func TestCosts(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		writer, reader := w.Host("writer").Session, w.Host("reader").Session
		put(w, writer, `{"Rate":1}`)
		c := open(w, writer, config.JSON[limits]())
		for range 3 { // however many cells, one watch
			open(w, reader, config.JSON[limits]())
		}
		count := func(s *session.Session) (requests, fired int) {
			synctest.Wait()
			for _, q := range w.Server.Journal() {
				fired += q.Fired
				if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing {
					requests++
				}
			}
			return requests, fired
		}
		w.Server.ClearJournal()
		must(c.Update(w.Context(), increment))
		requests, fired := count(writer)
		require.Equal(w, 5, requests, "sync, read, write, delete the marker; and the writer follows too")
		require.Equal(w, 2, fired, "one for each session")
		requests, _ = count(reader)
		require.Equal(w, 1, requests)
		w.Server.ClearJournal()
		require.Equal(w, 2, c.Load().Value.Rate)
		requests, _ = count(writer)
		require.Zero(w, requests)
	})
}

func TestMain(m *testing.M) { tier.Main(m) }

const path = "/app/limits"

type limits struct {
	Rate int
	Name string `json:",omitempty" yaml:",omitempty"`
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *bubble.World)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, f, bubble.Brisk()...)
}

func open[T any](w *bubble.World, s *session.Session, codec config.Codec[T]) *config.Cell[T] {
	w.Helper()
	c := must(config.Open(w.Context(), s, path, codec))
	w.Cleanup(func() { require.NoError(w, c.Close(w.Context())) })
	return c
}

// put writes raw data, as a client without this package.
func put(w *bubble.World, s *session.Session, data string) {
	w.Helper()
	_, err := s.Set(w.Context(), path, []byte(data), -1)
	if err != nil {
		_, err = s.Create(w.Context(), path, []byte(data), session.Parents())
	}
	require.NoError(w, err)
	synctest.Wait()
}

func set(l limits) func(limits) (limits, error) {
	return func(limits) (limits, error) { return l, nil }
}

// increment is an update that tells whether it was lost or done twice.
func increment(l limits) (limits, error) {
	l.Rate++
	return l, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func errOf[T any](_ T, err error) error { return err }
