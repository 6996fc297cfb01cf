// What a snapshot shows of recipes. Helpers: events_test.go.

package events_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Of a wait it shows since when it lasts, how many are ahead, and, after a second, who holds and
// how many others wait, with the instant at which that was read. It makes no request itself.
func TestASnapshotOfAWait(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		w := &world{World: b, Session: b.Session(), other: b.Session(session.WithIdentity("orders-7"))}
		w.held(time.Hour)
		began, waiting := time.Now(), must(lock.New(w.Session, path))
		for range 2 {
			ended := bubble.Begin(func() error { _, err := waiting.Lock(w.minute()); return err })
			defer func() { require.NoError(w, waiting.Close(w.minute())); <-ended }()
		}
		time.Sleep(500 * time.Millisecond)
		must(lock.New(b.Session(), path)).Acquire() // the third session waits behind them
		require.Empty(w, w.Snapshot().Waiting[0].Holder, "a short wait does not read it")
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		b.Server.ClearJournal()
		snap := w.Snapshot()
		require.Empty(w, b.Server.Journal())
		require.Equal(w, []session.RecipeState{{Recipe: "lock", Path: path, State: "waiting", Since: began}}, snap.Recipes)
		require.Empty(w, snap.Held)
		require.Positive(w, snap.Watches)
		require.Len(w, snap.Waiting, 2)
		for _, wait := range snap.Waiting {
			require.Contains(w, wait.Holder, "orders-7")
			require.Equal(w, 2*time.Second, snap.Time.Sub(wait.Looked))
			require.Regexp(w, `test/events/snapshot_test.go:\d+$`, wait.Asked)
			wait.Holder, wait.Looked, wait.Asked = "", time.Time{}, ""
			require.Equal(w, session.Waiting{Recipe: "lock", Path: path, Since: began, State: "waiting", Ahead: 1, Behind: 1}, wait)
		}
	}, bubble.Brisk()...)
}

// Of a standing intent too it shows who holds, for a listing and a read in all of the wait.
func TestASnapshotOfAStandingIntent(t *testing.T) {
	t.Parallel()
	for name, stand := range map[string]func(w *world){
		"a lock": func(w *world) {
			must(must(lock.New(w.other, path)).Lock(w.minute()))
			must(lock.New(w.Session, path)).Acquire()
		},
		"an election": func(w *world) {
			must(must(election.New(w.other, path)).Lead(w.minute()))
			must(election.New(w.Session, path)).Campaign()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(b *bubble.World) {
				w := &world{World: b, Session: b.Session(), other: b.Session(session.WithIdentity("orders-7"))}
				stand(w)
				time.Sleep(900 * time.Millisecond)
				require.Empty(w, w.Snapshot().Waiting[0].Holder)
				b.Server.ClearJournal()
				time.Sleep(time.Hour)
				requests := map[zktest.Op]int{}
				for _, r := range b.Server.Journal() {
					if r.SessionID == w.Status().SessionID {
						requests[r.Op]++
					}
				}
				require.Equal(w, 1, requests[zktest.OpGetChildren2])
				require.Equal(w, 1, requests[zktest.OpGetData])
				snap := w.Snapshot()
				require.Contains(w, snap.Waiting[0].Holder, "orders-7")
				require.Equal(w, time.Hour-100*time.Millisecond, snap.Time.Sub(snap.Waiting[0].Looked).Round(10*time.Millisecond))
			}, bubble.Brisk()...)
		})
	}
}

// A party of a double barrier waits until the others have come.
func TestASnapshotOfAParty(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		w := &world{World: b, Session: b.Session(session.WithNamespace("/some/where")), other: b.Session(session.WithNamespace("/some/where"))}
		d, began := must(barrier.NewDouble(w.Session, path, 2, barrier.WithName("a"))), time.Now()
		entered := bubble.Begin(func() error { _, err := d.Enter(w.minute()); return err })
		time.Sleep(10 * time.Second)
		rows := w.Snapshot().Waiting
		require.Len(w, rows, 1)
		require.Regexp(w, `test/events/snapshot_test.go:\d+$`, rows[0].Asked)
		rows[0].Asked = ""
		require.Equal(w, session.Waiting{Recipe: "barrier", Path: "/some/where" + path, Name: "a", Since: began, State: "waiting"}, rows[0])
		must(barrier.NewDouble(w.other, path, 2)).Arrive()
		require.NoError(w, <-entered)
		require.Empty(w, w.Snapshot().Waiting)
	}, bubble.Brisk()...)
}

// Of what is held it shows the token, since when, which attempt of an item it is, who asked for it,
// and whether the application has it.
func TestASnapshotOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	bubble.EachRow(t, map[string]struct {
		hold func(w *world) (*session.Hold, func())
		want session.Held
	}{
		"a lock": {func(w *world) (*session.Hold, func()) {
			g := must(must(lock.New(w.Session, path)).Lock(w.minute()))
			return g.Hold, func() { _ = g.Release(w.minute()) }
		}, session.Held{Recipe: "lock"}},
		"a term that is not received": {func(w *world) (*session.Hold, func()) {
			e := must(election.New(w.Session, path, election.WithName("a")))
			e.Campaign()
			return nil, func() { _ = e.Withdraw(w.minute()) }
		}, session.Held{Recipe: "election", Name: "a", Unreceived: true}},
		"an item": {func(w *world) (*session.Hold, func()) {
			q := must(queue.New(w.Session, path))
			must(q.Put(w.minute(), nil, queue.WithID("x")))
			_ = must(q.Take(w.minute())).Nack(w.minute(), queue.WithPause(0))
			i := must(q.Take(w.minute()))
			return i.Hold, func() { _ = i.Ack(w.minute()) }
		}, session.Held{Recipe: "queue", Name: "x", Attempt: 2}},
		"an item that is not received": {func(w *world) (*session.Hold, func()) {
			q := must(queue.New(w.Session, path))
			must(q.Put(w.minute(), nil, queue.WithID("x")))
			c := must(q.Consume())
			return nil, func() { _ = c.Close(w.minute()) }
		}, session.Held{Recipe: "queue", Name: "x", Attempt: 1, Unreceived: true}},
		"a passage": {func(w *world) (*session.Hold, func()) {
			p := must(must(barrier.NewDouble(w.Session, path, 1, barrier.WithName("a"))).Enter(w.minute()))
			return p.Hold, p.Depart
		}, session.Held{Recipe: "barrier", Name: "a"}},
	}, func(b *bubble.World, row struct {
		hold func(w *world) (*session.Hold, func())
		want session.Held
	},
	) {
		w := &world{World: b, Session: b.Session(session.WithNamespace("/some/where"))}
		h, end := row.hold(w)
		synctest.Wait()
		began := time.Now()
		time.Sleep(time.Minute)
		held := w.Snapshot().Held
		require.Len(w, held, 1)
		got := held[0]
		if h != nil {
			require.Equal(w, h.Token(), got.Token)
		}
		require.NotZero(w, got.Token)
		require.WithinDuration(w, began, got.Since, time.Second)
		require.Regexp(w, `test/events/snapshot_test.go:\d+$`, got.Asked)
		got.Token, got.Since, got.Asked = 0, time.Time{}, ""
		row.want.Path = "/some/where" + path
		require.Equal(w, row.want, got)
		end()
		require.Empty(w, w.Snapshot().Held)
	}, bubble.Brisk()...)
}

// A call of Take waits from its beginning until it has an item or its context ends.
func TestASnapshotOfCallsOfTake(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		w := &world{World: b, Session: b.Session(session.WithNamespace("/some/where"))}
		q, began := must(queue.New(w.Session, path)), time.Now()
		waits := func(since ...time.Time) {
			b.Helper()
			synctest.Wait()
			rows := w.Snapshot().Waiting
			slices.SortFunc(rows, func(a, b session.Waiting) int { return a.Since.Compare(b.Since) })
			require.Len(w, rows, len(since))
			for i, row := range rows {
				require.Regexp(w, `test/events/snapshot_test.go:\d+$`, row.Asked)
				row.Asked = ""
				require.Equal(w, session.Waiting{Recipe: "queue", Path: "/some/where" + path, Since: since[i], State: "consuming"}, row)
			}
		}
		first := bubble.Begin(func() error { _, err := q.Take(w.minute()); return err })
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithCancel(w.Context())
		second := bubble.Begin(func() error { _, err := q.Take(ctx); return err })
		waits(began, began.Add(10*time.Second))
		cancel()
		require.ErrorIs(w, <-second, context.Canceled)
		waits(began)
		must(q.Put(w.minute(), nil))
		require.NoError(w, <-first)
		waits()
	}, bubble.Brisk()...)
}

// What has ended and can't be deleted yet is neither held nor waited for.
func TestASnapshotOfWhatIsOver(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		h := b.Host("a")
		w := &world{World: b, Session: h.Session, other: b.Session()}
		g := must(must(lock.New(w.Session, path)).Lock(w.minute()))
		heal := h.Machine.Partition()
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		require.Error(w, g.Release(ended))
		synctest.Wait()
		snap := w.Snapshot()
		require.Empty(w, snap.Held)
		require.Empty(w, snap.Waiting)
		heal()
		require.NoError(w, w.Close(w.minute()))
		require.Zero(w, w.Snapshot().Watches)
	}, bubble.Brisk()...)
}

// Each row has a state from the beginning on.
func TestASnapshotBeforeTheStart(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		s := b.Session()
		_ = must(twopc.NewCoordinator(s, path))
		for _, row := range s.Snapshot().Recipes {
			require.NotEmpty(b, row.State)
		}
	}, bubble.Brisk()...)
}

// Snapshots that are taken while everything changes, by hooks too, have no row without its path and
// time.
func TestSnapshotsWhileEverythingChanges(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(b *bubble.World) {
		look := func(s *session.Session, _ session.Event) {
			snap := s.Snapshot()
			for _, row := range snap.Recipes {
				require.True(b, row.Path == path && row.State != "" && !row.Since.IsZero(), "%+v", row)
			}
			for _, row := range snap.Held {
				require.True(b, row.Path == path && row.Token != 0 && !row.Since.IsZero() && (row.Asked != "" || row.Unreceived), "%+v", row)
			}
			for _, row := range snap.Waiting {
				require.True(b, row.Path == path && row.State != "" && !row.Since.IsZero() && row.Asked != "", "%+v", row)
			}
		}
		system := must(actors.New())
		w := &world{World: b, Session: b.Session(session.WithEvents(look), session.WithSystem(system)), other: b.Session(session.WithEvents(look), session.WithSystem(system))}
		q := must(queue.New(w.Session, path))
		for _, s := range []*session.Session{w.Session, w.other} {
			l, d := must(lock.New(s, path)), must(barrier.NewDouble(s, path, 1))
			go func() {
				for ; s.Err() == nil; time.Sleep(time.Millisecond) {
					if g, err := l.Lock(w.Context()); err == nil {
						time.Sleep(time.Second)
						_ = g.Release(w.Context())
					}
				}
			}()
			go func() {
				for ; s.Err() == nil; time.Sleep(time.Millisecond) {
					_, _ = q.Put(w.Context(), nil)
					if i, err := q.Take(w.Context()); err == nil {
						time.Sleep(time.Second)
						_ = i.Ack(w.Context())
					}
					if p, err := d.Enter(w.Context()); err == nil {
						_ = p.Leave(w.Context())
					}
				}
			}()
		}
		for n := range 20 {
			time.Sleep(1500 * time.Millisecond)
			if n%5 == 4 {
				b.Server.Expire(w.Status().SessionID)
			}
			look(w.Session, session.Event{})
		}
		require.NoError(w, w.Close(w.minute()))
		require.NoError(w, w.other.Close(w.minute()))
		time.Sleep(2 * time.Second) // the users end
		look(w.Session, session.Event{})
		require.Empty(w, w.Snapshot().Held)
		require.Zero(w, w.Snapshot().Watches)
		require.NoError(w, system.Close(w.minute()))
	}, bubble.Brisk()...)
}

// Snapshots are taken one after the other while a party enters, withdraws and leaves.
func TestSnapshotsWhileAPartyComesAndGoes(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s := bubble.Open(t, server.Hosts(), session.WithDialer(server.Dialer()))
	d := must(barrier.NewDouble(s, path, 1))
	over := bubble.Begin(func() bool {
		for s.Err() == nil {
			for _, row := range s.Snapshot().Held {
				assert.NotEmpty(t, row.Asked)
			}
		}
		return true
	})
	for n := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*10*time.Microsecond) // some give up at the last moment
		if p, err := d.Enter(ctx); err == nil {
			p.Depart()
		}
		cancel()
	}
	require.NoError(t, s.Close(t.Context()))
	<-over
}
