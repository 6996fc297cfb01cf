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

func TestDifferingParties(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		two, three := w.double(w.Host("a"), 2), w.double(w.Host("b"), 3)
		first := w.asks(two)
		synctest.Wait()
		for _, answer := range []<-chan error{first, w.asks(three)} {
			err := bubble.Within(w, time.Second, answer)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.ErrorIs(w, err, barrier.ErrDiffering)
		}
	})
}

// The number of parties changes between two rounds: the open round that the last one has left is
// made to fit.
func TestAnotherNumberOfParties(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		leave(w, team.enter(w)...)
		a, b := w.double(team.hosts[0], 2), w.double(team.hosts[1], 2)
		leave(w, gather(w, a, b)...)
		leave(w, gather(w, a, b)...)
	})
}

// B62: only parties count. Foreign znodes do not, nor does what the recipe itself puts there.
func TestB62_ForeignZnodes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		for _, name := range []string{"ready", "round-", "round-1", "round-x000000001", "round--000000001", "round-0000000000", "foo"} {
			_, err := team.hosts[0].Create(w.Context(), path+"/"+name, nil, session.Parents())
			require.NoError(w, err)
		}
		team.doubles[0].Arrive()
		synctest.Wait()
		for _, name := range []string{"ready", "party-", "p1", "_c_x", "out-1"} {
			_, err := team.hosts[0].Create(w.Context(), path+"/round-0000000001/"+name, nil)
			require.NoError(w, err)
		}
		bubble.Never(w, team.doubles[0].Entered(), "alone")
		passages := team.enter(w)
		leave(w, passages...)
		passages = team.enter(w)
		require.EqualValues(w, 2, passages[0].Round())
		leave(w, passages...)
	})
}

// B62: more parties than agreed is an error of its own.
func TestB62_TooManyParties(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		third := w.double(w.Host("c"), 2)
		_, err := third.Enter(w.Context())
		require.ErrorIs(w, err, barrier.ErrCrowd)
		require.NotErrorIs(w, err, barrier.ErrBroken, "the round goes on")
		for _, p := range passages {
			require.True(w, p.Valid())
		}
		third.Arrive()
		bubble.Within(w, time.Second, third.Done())
		require.ErrorIs(w, third.Err(), barrier.ErrCrowd)
		leave(w, passages...)
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}

// B62: however many come at once, everyone gets a verdict, nobody waits for ever, and if some enter
// they are as many as agreed.
func TestB62_TooManyPartiesAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		inBubble(t, func(w *world) {
			type result struct {
				p   *barrier.Passage
				err error
			}
			results := make(chan result, 3)
			defer w.Server.Intercept(bubble.Slowly(seed))()
			for _, name := range []string{"a", "b", "c"} {
				d := w.double(w.Host(name), 2)
				go func() {
					p, err := d.Enter(w.Context())
					results <- result{p, err}
				}()
			}
			var inside []*barrier.Passage
			refused := 0
			for range 3 {
				r := bubble.Within(w, time.Minute, results)
				if r.err != nil {
					require.ErrorIs(w, r.err, barrier.ErrCrowd)
					refused++
					continue
				}
				inside = append(inside, r.p)
			}
			require.True(w, refused == 3 || refused == 1 && len(inside) == 2, "%d refused", refused)
			leave(w, inside...)
		})
	}
}

// A process dies and is started anew before ZooKeeper knows: under its id it takes its own place,
// and both rounds that it meets go on.
func TestAProcessStartedAnew(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		synctest.Wait()
		team.hosts[0].Machine.Partition()
		anew := w.double(w.Host("anew"), 3, barrier.WithID("p0"))
		anew.Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Second)
		bubble.Never(w, anew.Entered(), "two of three, and one of them twice")
		passages := gather(w, anew, team.doubles[1], team.doubles[2])
		require.Equal(w, []string{"p0", "p1", "p2"}, passages[0].Members())

		again := w.double(w.Host("again"), 3, barrier.WithID("p0"))
		again.Arrive() // while the round goes on, full: it is not one too many
		bubble.Never(w, again.Entered(), "the next round")
		require.NoError(w, again.Err())
		leave(w, passages...)
		leave(w, gather(w, again, team.doubles[1], team.doubles[2])...)
	})
}

// Of two living parties with one id the later is in, and the earlier is told.
func TestTwoPartiesWithOneID(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		first, second := w.double(w.Host("a"), 2, barrier.WithID("same")), w.double(w.Host("b"), 2, barrier.WithID("same"))
		other := w.double(w.Host("c"), 2)
		answer := w.asks(first)
		synctest.Wait()
		second.Arrive()
		bubble.Never(w, second.Entered(), "two of one id")
		passages := gather(w, second, other)
		require.ErrorIs(w, bubble.Within(w, time.Second, answer), barrier.ErrReplaced)
		leave(w, passages...)
	})
}
