package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// I6: the own znode is watched. Whoever waits stands again, whoever is inside has lost its passage
// within a round trip, and the others are not held.
func TestTheOwnZnodeIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		admin := w.Host("admin")
		team.doubles[0].Arrive()
		synctest.Wait()
		w.deleteParty(admin, "p0")
		synctest.Wait()
		require.Equal(w, 1, w.standing())
		passages := team.enter(w)
		w.deleteParty(admin, "p0")
		bubble.Now(w, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrDeleted)
		passages[1].Depart()
		bubble.Now(w, passages[1].Left())
		bubble.Now(w, passages[0].Left())
		leave(w, team.enter(w)...)
	})
}

// Somebody deletes the znode of one that has departed: that is no end of the round.
func TestTheZnodeOfOneWhoDepartedIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		_, passages := w.departing()
		w.deleteParty(w.Host("admin"), "p0")
		held(w, "one is inside", passages[:2]...)
		leave(w, passages...)
	})
}

// Somebody deletes the whole barrier. Who waited stands again, in a barrier made anew.
func TestTheBarrierIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		leave(w, team.enter(w)...)
		team.doubles[0].Arrive()
		synctest.Wait()
		require.NoError(w, w.Host("admin").DeleteAll(w.Context(), path))
		leave(w, team.enter(w)...)
		leave(w, team.enter(w)...)
	})
}

// Somebody deletes the open round while p0 is inside the one before. A new process of p0 makes an
// open one again, and waits all the same, until p0 has left.
func TestTheOpenRoundIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		require.NoError(w, team.doubles[1].Close(w.Context()))
		require.NoError(w, w.Host("admin").DeleteAll(w.Context(), path+"/round-0000000002"))
		next := []*barrier.Double{w.double(w.Host("new0"), 2, barrier.WithID("p0")), w.double(w.Host("new1"), 2, barrier.WithID("p1"))}
		next[0].Arrive()
		next[1].Arrive()
		time.Sleep(time.Minute)
		bubble.Never(w, next[0].Entered(), "p0 is inside")
		require.NoError(w, passages[0].Err())
		passages[0].Depart()
		leave(w, gather(w, next...)...)
	})
}

// deleteParty deletes the znode of a party in the newest round that it stands in.
func (w *world) deleteParty(h *bubble.Host, id string) {
	w.Helper()
	rounds, _, err := h.Children(w.Context(), path)
	require.NoError(w, err)
	for _, round := range rounds {
		names, _, err := h.Children(w.Context(), path+"/"+round)
		require.NoError(w, err)
		for _, name := range names {
			if len(name) > len(id) && name[len(name)-len(id)-1:] == "-"+id {
				require.NoError(w, h.Delete(w.Context(), path+"/"+round+"/"+name, -1))
				return
			}
		}
	}
	w.Fatalf("%s stands nowhere\n%s", id, w.Server.Dump())
}
