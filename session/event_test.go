// Events of the session's own, and the hooks that are told them. Those of recipes are in
// test/events; a hook that panics, ends its goroutine or never returns is in test/callbacks.

package session_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// seen are the events that a hook was told.
type seen struct {
	mu  sync.Mutex
	all []session.Event
}

func (r *seen) hook() session.Option {
	return session.WithEvents(func(_ *session.Session, ev session.Event) { r.add(ev) })
}

func (r *seen) add(ev session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, ev)
}

// take returns the events since the last call, when everything has settled.
func (r *seen) take() []session.Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// kinds are those of the events since the last call, with what they took, to the second; of a
// connection, which may take a few more, to the minute.
func (r *seen) kinds() (kinds []string) {
	for _, ev := range r.take() {
		text, unit := ev.Kind.String(), time.Second
		if ev.Kind == session.EventConnected {
			unit = time.Minute
		}
		if ev.Took >= unit {
			text += " " + ev.Took.Truncate(unit).String()
		}
		kinds = append(kinds, text)
	}
	return kinds
}

// emit tells an event as recipes do.
func emit(s *session.Session, ev session.Event) {
	seam.Emit.(func(*session.Session, session.Event))(s, ev)
}

func TestTheEventsOfASession(t *testing.T) {
	type row struct {
		befalls func(w *harness, s *session.Session) (mend func())
		want    []string
	}
	each(t, map[string]row{
		"nothing": {func(*harness, *session.Session) func() { return func() {} }, nil},
		"the server is down": {func(w *harness, _ *session.Session) func() {
			w.srv.Kill(0)
			return func() { require.NoError(w, w.srv.Restart(0)) }
		}, []string{"suspended", "untrusted 5s", "connected 1m0s"}},
		"the session expires": {func(w *harness, s *session.Session) func() {
			w.srv.Expire(id(s))
			return func() {}
		}, []string{"suspended", "epoch ended", "epoch began", "connected"}},
		"the process stands still": {func(_ *harness, s *session.Session) func() {
			session.ShiftMono(s, time.Minute)
			session.ShiftWall(s, time.Minute)
			return func() {}
		}, []string{"stalled 1m0s", "untrusted 1m0s", "connected"}},
	}, func(w *harness, row row) {
		var told seen
		s, _, _ := w.holding(told.hook())
		require.Equal(w, []string{"started", "epoch began", "connected"}, told.kinds())
		mend := row.befalls(w, s)
		time.Sleep(time.Minute)
		mend()
		time.Sleep(time.Minute)
		require.Equal(w, row.want, told.kinds())
		require.NoError(w, s.Close(w.ctx))
		all := told.take()
		require.Len(w, all, 2)
		require.Equal(w, session.EventEpochEnded, all[0].Kind)
		require.Equal(w, session.EventClosed, all[1].Kind)
		for _, ev := range all {
			require.ErrorIs(w, ev.Err, session.ErrClosed)
			require.Equal(w, s.Status().Epoch, ev.Epoch)
			require.Equal(w, s.Status().SessionID, ev.SessionID)
		}
	})
}

// The end of a possession is told before what its session tells of the reason, whichever goroutine
// tells it.
func TestTheEndOfAPossessionIsToldBeforeItsReason(t *testing.T) {
	inBubble(t, func(w *harness) {
		var told seen
		s, c := w.openClient(told.hook())
		j := c.inQueue(w)
		var h *session.Hold
		h, err := c.Hold(1, j.Path, j.Stat.Czxid, func(error) {
			emit(s, session.Event{Kind: session.EventLost, To: fmt.Sprint(h.Err() != nil)})
		})
		require.NoError(w, err)
		told.take()
		w.srv.Expire(id(s))
		time.Sleep(time.Minute)
		all := told.take()
		at := func(k session.EventKind) int {
			return slices.IndexFunc(all, func(ev session.Event) bool { return ev.Kind == k })
		}
		require.Equal(w, "true", all[at(session.EventLost)].To, "its Done has closed")
		require.Less(w, at(session.EventLost), at(session.EventEpochEnded))
		require.Less(w, at(session.EventEpochEnded), at(session.EventEpochBegan))
	})
}

// What the session tells while the end of a possession is still being told, by another goroutine,
// comes behind the reason of that end.
func TestLaterEventsWaitForTheEndOfAPossession(t *testing.T) {
	inBubble(t, func(w *harness) {
		var told seen
		s, c := w.openClient(told.hook())
		j := c.inQueue(w)
		finish := make(chan struct{})
		_, err := c.Hold(1, j.Path, j.Stat.Czxid, func(error) { <-finish })
		require.NoError(w, err)
		told.take()
		w.srv.Kill(0)
		time.Sleep(10 * time.Second)
		require.Equal(w, session.Untrusted, s.Status().State)
		require.Equal(w, []string{"suspended"}, told.kinds())
		require.NoError(w, w.srv.Restart(0))
		time.Sleep(10 * time.Second)
		require.Equal(w, session.Connected, s.Status().State)
		require.Empty(w, told.kinds())
		close(finish)
		all := told.kinds()
		require.Len(w, all, 2)
		require.Contains(w, all[0], "untrusted")
		require.Contains(w, all[1], "connected")
	})
}

// A hook that does not keep up loses events of recipes, and is told how many; none of the session's
// own, nor the last. The other hooks lose nothing.
func TestAFloodOfEvents(t *testing.T) {
	inBubble(t, func(w *harness) {
		var quick, slow seen
		letGo := make(chan struct{})
		s := w.open(quick.hook(), session.WithEvents(func(s *session.Session, ev session.Event) {
			<-letGo
			slow.add(ev)
		}))
		const many = 3000
		for n := range many {
			emit(s, session.Event{Kind: session.EventItemPut, Attempt: n + 1})
			if n%100 == 0 {
				synctest.Wait() // quick keeps up
			}
		}
		for range 20 {
			w.srv.Disconnect(id(s))
			time.Sleep(10 * time.Second)
		}
		dropped := s.Snapshot().Dropped
		close(letGo)
		require.NoError(w, s.Close(w.ctx))
		ofSession := func(ev session.Event) bool { return ev.Kind <= session.EventClosed }
		all, some := quick.take(), slow.take()
		require.Equal(w, kinds(all, ofSession), kinds(some, ofSession))
		require.Equal(w, session.EventClosed, some[len(some)-1].Kind)
		items, told := 0, uint64(0)
		for _, ev := range some {
			told += ev.Dropped
			if ev.Kind == session.EventItemPut {
				require.Equal(w, items+1, ev.Attempt, "in order, the first ones")
				items++
			}
		}
		require.Equal(w, dropped, told)
		require.Equal(w, 1024, items+len([]string{"epoch began", "connected"}), "its places, as the hook was at work with the first event")
		require.Equal(w, many, items+int(told))
		require.Len(w, all, many+len(kinds(all, ofSession)), "the other hook has them all")
	})
}

// A hook that is at work for longer than Close waits for it is told of the end all the same, and of
// how much it has missed.
func TestASlowHookIsToldOfTheEnd(t *testing.T) {
	inBubble(t, func(w *harness) {
		var slow seen
		s := w.open(session.WithEvents(func(_ *session.Session, ev session.Event) {
			time.Sleep(time.Second)
			slow.add(ev)
		}))
		time.Sleep(time.Minute)
		for range 9 {
			emit(s, session.Event{Kind: session.EventReady})
		}
		slow.take()
		require.NoError(w, s.Close(w.ctx))
		time.Sleep(time.Minute)
		all := slow.take()
		require.Equal(w, []string{"ready", "closed"}, kinds(all, nil))
		require.EqualValues(w, 9, all[1].Dropped) // and the end of the epoch
		require.EqualValues(w, 9, s.Snapshot().Dropped)
	})
}

// A hook may call the session, and close it, which waits a tenth of a second for that hook.
func TestAHookCallsItsSession(t *testing.T) {
	inBubble(t, func(w *harness) {
		var told seen
		s := w.open(told.hook(), session.WithEvents(func(s *session.Session, ev session.Event) {
			if ev.Kind == session.EventReady {
				emit(s, session.Event{Kind: session.EventState, To: s.Snapshot().Status.State.String()})
				_ = s.Close(w.ctx)
			}
		}))
		told.take()
		began := time.Now()
		emit(s, session.Event{Kind: session.EventReady})
		<-s.Done()
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, 100*time.Millisecond, time.Since(began))
		all := told.take()
		require.Equal(w, []string{"ready", "state", "epoch ended", "closed"}, kinds(all, nil))
		require.Equal(w, "connected", all[1].To)
	})
}

// Snapshot shows the last 64 events of items, and the last 64 of all else, whoever is told them.
func TestTheLatestEvents(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		for n := range 100 {
			emit(s, session.Event{Kind: session.EventItemPut, Attempt: n})
		}
		snap := s.Snapshot()
		require.Equal(w, []string{"started", "epoch began", "connected"}, kinds(snap.Events, nil))
		require.Len(w, snap.ItemEvents, 64)
		for n, ev := range snap.ItemEvents {
			require.Equal(w, 36+n, ev.Attempt)
		}
		require.Equal(w, session.Connected, snap.Status.State)
		require.NotEmpty(w, snap.Actors.Children)
	})
}

// Snapshot counts the watches that the servers have for the session, and the requests that are not
// answered yet, of each operation.
func TestWhatASnapshotCounts(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		for _, path := range []string{"/a", "/b", "/c"} {
			newest(w, s.WatchData(w.ctx, path))
		}
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData || r.Op == zktest.OpGetChildren2 {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		under := func() (all []session.Requests) {
			synctest.Wait()
			for _, r := range s.Snapshot().Requests {
				if r.Active != 0 {
					all = append(all, session.Requests{Op: r.Op, Active: r.Active})
				}
			}
			return all
		}
		require.Empty(w, under())
		for _, ask := range []func() error{
			func() error { _, _, err := s.Get(w.ctx, "/a"); return err },
			func() error { _, _, err := s.Get(w.ctx, "/b"); return err },
			func() error { _, _, err := s.Children(w.ctx, "/"); return err },
		} {
			go func() { _ = ask() }() // ends with its answer
		}
		require.Equal(w, []session.Requests{{Op: "getData", Active: 2}, {Op: "getChildren2", Active: 1}}, under())
		time.Sleep(time.Minute)
		require.Empty(w, under())
		require.Equal(w, 3, s.Snapshot().Watches)
	})
}

// kinds are the kinds of those events that are chosen; nil: of all.
func kinds(all []session.Event, chosen func(session.Event) bool) (kinds []string) {
	for _, ev := range all {
		if chosen == nil || chosen(ev) {
			kinds = append(kinds, ev.Kind.String())
		}
	}
	return kinds
}
