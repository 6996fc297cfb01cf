package config_test

// Updates while replies are lost, connections break and sessions expire: each is done once, or
// its outcome is unknown. With servers that die, they are a workload of test/chaos. Helpers:
// config_test.go.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whichever request or reply of an update is lost, it is done once.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		s := w.Host("a").Session
		c := open(w, s, config.JSON[limits]())
		strike(s)
		for i := range 3 { // the first one creates
			s := must(c.Update(w.Context(), increment))
			require.Equal(w, i+1, s.Value.Rate, "at %d", k)
			require.EqualValues(w, i, s.Version, "at %d", k)
		}
		time.Sleep(time.Minute)
		require.Equal(w, 3, c.Load().Value.Rate)
		require.NotContains(w, w.Server.Dump(), "-update", "a marker is left: at %d", k)
	}, bubble.Brisk()...)
}

// A write is lost with its session, and the marker with it. Update writes again only if what it
// finds shows that the write was not carried out. Otherwise the outcome is unknown.
func TestAWriteThatIsLostWithItsSession(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fate              zktest.Verdict
		before, meanwhile string // "": no write
		want              error
		rate              int
	}{
		"carried out":                            {zktest.DropReply, `{"Rate":1}`, "", session.ErrUnknownOutcome, 2},
		"carried out, as the first":              {zktest.DropReply, "", "", session.ErrUnknownOutcome, 1},
		"carried out, and changed since":         {zktest.DropReply, `{"Rate":1}`, `{"Rate":7}`, session.ErrUnknownOutcome, 7},
		"not carried out":                        {zktest.DropRequest, `{"Rate":1}`, "", nil, 2},
		"not carried out, as the first":          {zktest.DropRequest, "", "", nil, 1},
		"not carried out, and changed since":     {zktest.DropRequest, `{"Rate":1}`, `{"Rate":7}`, nil, 8},
		"not carried out, and another did so":    {zktest.DropRequest, `{"Rate":1}`, `{"Rate":2}`, session.ErrUnknownOutcome, 2},
		"not carried out, and another was first": {zktest.DropRequest, "", `{"Rate":7}`, nil, 8},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				h, admin := w.Host("a"), w.Host("admin").Session
				require.NoError(w, admin.EnsurePath(w.Context(), "/app"))
				if row.before != "" {
					put(w, admin, row.before)
				}
				c := open(w, h.Session, config.JSON[limits]())
				lost := make(chan func(), 1)
				w.AtKth(h.Session, 1, func(*zktest.Request) zktest.Verdict {
					lost <- h.Machine.Partition()
					return row.fate
				}, zktest.OpSync, zktest.OpGetData)
				updated := bubble.Begin(func() error { _, err := c.Update(w.Context(), increment); return err })
				heal := bubble.Within(w, time.Minute, lost, "the write")
				time.Sleep(time.Minute) // its session expires
				if row.meanwhile != "" {
					put(w, admin, row.meanwhile)
				}
				heal()
				require.ErrorIs(w, bubble.Within(w, time.Minute, updated, "the update"), row.want)
				require.EqualValues(w, 2, h.Status().Epoch)
				data, _, err := admin.Get(w.Context(), path)
				require.NoError(w, err)
				require.JSONEq(w, fmt.Sprintf(`{"Rate":%d}`, row.rate), string(data))
			})
		})
	}
}

// A request is lost in an epoch that goes on, and others write meanwhile: without its marker it was
// not carried out, and f is called again.
func TestAWriteThatIsLostBeforeOthersWrite(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, admin := w.Host("a"), w.Host("admin").Session
		put(w, admin, `{"Rate":1}`)
		c := open(w, h.Session, config.JSON[limits]())
		w.AtKth(h.Session, 1, func(*zktest.Request) zktest.Verdict {
			for range 2 {
				require.NoError(w, w.Server.Znodes(w).Set(path, []byte(`{"Rate":7}`)))
			}
			return zktest.CutBefore
		}, zktest.OpSync, zktest.OpGetData)
		var got []int
		s, err := c.Update(w.Context(), func(l limits) (limits, error) {
			got = append(got, l.Rate)
			return increment(l)
		})
		require.NoError(w, err)
		require.Equal(w, []int{1, 7}, got)
		require.Equal(w, 8, s.Value.Rate)
		require.EqualValues(w, 1, h.Status().Epoch)
	})
}

// An update that is given up leaves no marker, whether it was carried out or not, and says that
// its outcome is unknown.
func TestAnUpdateThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for k, met := 1, true; met; k++ {
		bubble.Run(t, func(w *bubble.World) {
			s := w.Host("a").Session
			put(w, s, `{"Rate":1}`)
			c := open(w, s, config.JSON[limits]())
			ctx, cancel := context.WithCancel(w.Context())
			reached := w.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
				cancel()
				return zktest.Delay(time.Second)
			})
			_, err := c.Update(ctx, increment)
			if met = reached(); met && err != nil {
				require.ErrorIs(w, err, context.Canceled)
			}
			time.Sleep(time.Minute)
			switch rate := c.Load().Value.Rate; {
			case err == nil:
				require.Equal(w, 2, rate, k)
			case !errors.Is(err, session.ErrUnknownOutcome):
				require.Equal(w, 1, rate, k)
			}
			require.NotContains(w, w.Server.Dump(), "-update", k)
		}, bubble.Brisk()...)
	}
}

// Many processes count together, while connections break and sessions expire: no count is lost and
// none is made twice.
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				var mu sync.Mutex
				var counted []int
				unknown := 0
				var all sync.WaitGroup
				var sessions []*session.Session
				for i := range 5 {
					s := w.Host(fmt.Sprint("h", i)).Session
					sessions = append(sessions, s)
					c := open(w, s, config.JSON[limits]())
					all.Go(func() {
						for range 40 {
							time.Sleep(time.Duration(10*(i+1)) * time.Millisecond)
							got, err := c.Update(w.Context(), increment)
							mu.Lock()
							if err == nil {
								counted = append(counted, got.Value.Rate)
							} else if errors.Is(err, session.ErrUnknownOutcome) {
								unknown++
							} else {
								w.Error(err)
							}
							mu.Unlock()
						}
					})
				}
				for i := range 30 {
					time.Sleep(time.Duration(41+seed*7) * time.Millisecond)
					id := sessions[i%5].Status().SessionID
					if i%7 == 3 {
						w.Server.Expire(id)
					} else {
						w.Server.Disconnect(id)
					}
				}
				all.Wait()
				last := open(w, w.Host("last").Session, config.JSON[limits]()).Load()
				slices.Sort(counted)
				require.Equal(w, counted, slices.Compact(slices.Clone(counted)), "one count twice")
				require.GreaterOrEqual(w, last.Value.Rate, len(counted))
				require.LessOrEqual(w, last.Value.Rate, len(counted)+unknown, "a count that nobody made")
				require.GreaterOrEqual(w, last.Value.Rate, counted[len(counted)-1], "a count that was lost")
				require.LessOrEqual(w, unknown, 5)
				require.NotContains(w, w.Server.Dump(), "-update")
			})
		})
	}
}
