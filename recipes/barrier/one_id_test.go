package barrier_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// departures are the names that are recorded as departed from the rounds.
func (w *world) departures() []string {
	var found []string
	for line := range strings.Lines(w.Server.Dump()) {
		if name, _, _ := strings.Cut(line, " "); strings.Contains(name, "/out/") {
			found = append(found, name)
		}
	}
	return found
}

// p0, p1 and p2. p1's former process died at its arrival. The new one is the last to arrive, and
// decides; meanwhile somebody deletes its znode, and its caller gives up. It must not release the
// round with the znode of the dead, nor act for another member.
func TestWhoIsNoMemberDoesNotActForOne(t *testing.T) {
	t.Parallel()
	for range 10 { // it depended on the order of GUIDs
		inBubble(t, func(w *world) {
			team, old, h1 := w.team(3), w.Host("old"), w.Host("h1")
			a, c := team.doubles[0], team.doubles[2]
			a.Arrive()
			c.Arrive()
			synctest.Wait()
			w.diesAtItsArrival(old, w.double(old, 3, barrier.WithID("p1")))
			b, id := w.double(h1, 3, barrier.WithID("p1")), h1.Status().SessionID
			var delayed atomic.Bool
			defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.SessionID == id && strings.Contains(r.Path, "-p1") && r.Op == zktest.OpGetData && delayed.CompareAndSwap(false, true) {
					return zktest.Delay(time.Second) // it looks which of the two is the later one
				}
				return zktest.Pass
			})()
			ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
			defer cancel()
			go func() { _, _ = b.Enter(ctx) }() // ends with ctx
			time.Sleep(100 * time.Millisecond)
			require.True(w, delayed.Load())
			w.deleteOf(id)
			time.Sleep(1100 * time.Millisecond)
			require.Empty(w, w.departures(), "nobody has entered")
			bubble.Never(w, a.Entered(), "the new process of p1 has given up, and the old one is dead")

			passages := gather(w, a, b, c)
			passages[2].Depart()
			passages[1].Depart()
			time.Sleep(time.Minute)

			held(w, "p0 is inside", passages[1], passages[2])
			require.NoError(w, passages[0].Err())
			leave(w, passages...)
		})
	}
}

// diesAtItsArrival: the process of a party dies at the moment at which its znode is made.
func (w *world) diesAtItsArrival(h *bubble.Host, d *barrier.Double) {
	w.Helper()
	id := h.Status().SessionID
	var gone atomic.Bool
	defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case r.SessionID != id:
		case gone.Load():
			return zktest.DropRequest
		case arrives(r):
			gone.Store(true)
			return zktest.DropReply
		}
		return zktest.Pass
	})()
	d.Arrive()
	synctest.Wait()
	require.True(w, gone.Load())
	h.Machine.Partition()
}

// deleteOf has another client delete the party's znode of a session.
func (w *world) deleteOf(session int64) {
	w.Helper()
	admin := w.Host("admin")
	for line := range strings.Lines(w.Server.Dump()) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, path) && strings.Contains(line, fmt.Sprintf("owner=%#x", session)) {
			require.NoError(w, admin.Delete(w.Context(), name, -1))
			return
		}
	}
	w.Fatalf("no znode of session %#x", session)
}

// Two live processes have one id, and it is the earlier one that releases the round: the later one
// is in, the earlier one is told that it was replaced, and acts for nobody.
func TestWhoIsReplacedReleasesTheRound(t *testing.T) {
	t.Parallel()
	for range 10 { // it depended on the order of GUIDs
		inBubble(t, func(w *world) {
			team, late := w.team(3), w.Host("late")
			later := w.double(late, 3, barrier.WithID("p0"))
			id := late.Status().SessionID
			defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				switch {
				case r.SessionID == id && r.Op == zktest.OpGetData: // it is slow to see that it could decide
					return zktest.Delay(2500 * time.Millisecond)
				case releases(r) && r.SessionID != id:
					return zktest.Delay(time.Second) // the later one arrives meanwhile
				}
				return zktest.Pass
			})()
			team.doubles[1].Arrive()
			team.doubles[2].Arrive()
			synctest.Wait()
			answer := w.asks(team.doubles[0])
			time.Sleep(500 * time.Millisecond)
			passages := gather(w, later, team.doubles[1], team.doubles[2])
			require.ErrorIs(w, bubble.Within(w, time.Second, answer), barrier.ErrReplaced)
			require.Empty(w, w.departures(), "all are inside")
			passages[0].Depart()
			passages[1].Depart()
			time.Sleep(time.Minute)
			held(w, "p2 is inside", passages[0], passages[1])
			require.NoError(w, passages[2].Err())
			leave(w, passages...)
		})
	}
}

// A process of an id waits while another one is inside, even if the next round could open without
// that one: until the other has left, or died.
func TestWhoseIDIsInsideWaits(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		inBubble(t, func(w *world) {
			team := w.team(2)
			passages := team.enter(w)
			require.NoError(w, team.doubles[1].Close(w.Context())) // p1 is started anew, and does not wait for p0
			next := []*barrier.Double{w.double(w.Host("new0"), 2, barrier.WithID("p0")), w.double(w.Host("new1"), 2, barrier.WithID("p1"))}
			next[0].Arrive()
			next[1].Arrive()
			time.Sleep(time.Minute)
			bubble.Never(w, next[0].Entered(), "p0 is inside")
			require.NoError(w, passages[0].Err())
			if dies {
				team.hosts[0].Machine.Partition()
			} else {
				passages[0].Depart()
			}
			leave(w, gather(w, next...)...)
		})
	}
}

// A new process that may not read the round which another one of its id is inside is told so: it
// cannot know that nobody is in there, and enters no other round.
func TestAReadOfAnOlderRoundIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		passages := w.team(1).enter(w)
		h := w.Host("new")
		id := h.Status().SessionID
		d := w.double(h, 1, barrier.WithID("p0"))
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpGetData && r.Path == path+"/round-0000000001" {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})()
		require.ErrorIs(w, bubble.Within(w, time.Minute, w.asks(d)), session.ErrNoAuth)
		require.NoError(w, passages[0].Err())
	})
}

// A deployment starts a new process of each id, one after the other, in the middle of a round, and
// stops the old one when it has left that. No round is broken, and nobody is refused.
func TestARollingDeployment(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		for i := range team.doubles {
			passages := team.enter(w)
			replacement := w.double(w.Host(fmt.Sprint("new", i)), 3, barrier.WithID(fmt.Sprint("p", i)))
			replacement.Arrive()
			bubble.Never(w, replacement.Entered(), "the old process is inside")
			leave(w, passages...)
			require.NoError(w, team.doubles[i].Close(w.Context()))
			team.doubles[i] = replacement
		}
		leave(w, team.enter(w)...)
	})
}
