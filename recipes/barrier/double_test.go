package barrier_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

func TestRoundAfterRound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		token := int64(0)
		for round := range int64(5) {
			passages := team.enter(w)
			p := passages[0]
			require.Equal(w, round+1, p.Round())
			require.Equal(w, []string{"p0", "p1", "p2"}, p.Members())
			require.Greater(w, p.Token(), token)
			token = p.Token()
			leave(w, passages...)
			require.Zero(w, w.standing())
			require.Len(w, w.rounds(), 1, "the next")
		}
	})
}

func TestNobodyEntersBeforeAllAreThereNorHasLeftBeforeAllAreDone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Minute)
		never(w, team.doubles[0].Entered(), "two of three")
		passages := team.enter(w)
		passages[0].Depart()
		passages[2].Depart()
		time.Sleep(time.Minute)
		never(w, passages[0].Left(), "one is inside")
		never(w, passages[1].Left(), "one is inside")
		require.ErrorIs(w, passages[0].Err(), session.ErrReleased)
		require.NoError(w, passages[1].Err())
		passages[1].Depart()
		for _, p := range passages {
			now(w, p.Left())
		}
	})
}

func TestASingleParty(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := w.double(w.host("a"), 1)
		for range 3 {
			p, err := d.Enter(w.Context())
			require.NoError(w, err)
			require.Len(w, p.Members(), 1)
			require.NoError(w, p.Leave(w.Context()))
		}
	})
}

func TestManyCallersOfOneParty(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		const rounds = 20
		done := make(chan error, 2*rounds)
		for _, d := range team.doubles {
			for range rounds {
				go func() {
					p, err := d.Enter(w.Context())
					if err == nil {
						err = p.Leave(w.Context())
					}
					done <- err
				}()
			}
		}
		for range 2 * rounds {
			require.NoError(w, within(w, time.Minute, done))
		}
	})
}

func TestArriveAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := w.double(w.host("a"), 1)
		d.Arrive()
		synctest.Wait()
		for range 10 { // on offer: it changes nothing
			d.Arrive()
			synctest.Wait()
		}
		p := within(w, time.Second, d.Entered())
		d.Arrive() // at once, while inside: for the next round
		never(w, d.Entered(), "inside already")
		p.Depart()
		next := within(w, time.Second, d.Entered())
		require.Equal(w, p.Round()+1, next.Round())
		leave(w, next)
		never(w, d.Entered(), "without being asked")
	})
}

// B58, CURATOR-318 and 80: whoever gives up before the round is open leaves nothing, and the others' verdict is the same for all.
func TestB58_GivingUpWithdraws(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := team.doubles[1].Enter(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		synctest.Wait()
		require.Equal(w, 1, w.standing())
		team.doubles[2].Arrive()
		never(w, team.doubles[2].Entered(), "two of three, and one that gave up")
		passages := gather(w, team.doubles...)
		leave(w, passages...)
	})
}

// The other side of B58: the round is opened while one of its parties gives up. ZooKeeper decides which was first, and whoever gave up holds nobody.
func TestB58_GivingUpAtTheSameInstantAsTheOpening(t *testing.T) {
	t.Parallel()
	entered, withdrawn := 0, 0
	for seed := range uint64(60) {
		inBubble(t, func(w *world) {
			team := w.team(2)
			defer w.server.Intercept(w.slowly(seed))()
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(20+seed)*time.Millisecond)
			defer cancel()
			errs := make(chan error, 1)
			var p *barrier.Passage
			go func() {
				var err error
				p, err = team.doubles[0].Enter(ctx)
				errs <- err
			}()
			team.doubles[1].Arrive()
			if err := within(w, time.Minute, errs); err == nil {
				entered++
				leave(w, p, within(w, time.Minute, team.doubles[1].Entered()))
				return
			}
			select {
			case other := <-team.doubles[1].Entered(): // it had been opened
				entered++
				leave(w, other)
			case <-time.After(time.Minute):
				withdrawn++
			}
			passages := gather(w, team.doubles...) // it goes on either way
			leave(w, passages...)
		})
	}
	require.Positive(t, entered)
	require.Positive(t, withdrawn)
}

// B59, CURATOR-233 and 536: a wait for the others' departure ends with its context. The party has departed all the same.
func TestB59_TheWaitForTheOthersIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		w.server.ClearJournal()
		ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		require.ErrorIs(w, passages[0].Leave(ctx), context.DeadlineExceeded)
		require.Equal(w, time.Hour, time.Since(began))
		own := 0
		for _, r := range w.server.Journal() {
			if r.Op != zkPing && r.Op != zkSync {
				own++
			}
		}
		require.Equal(w, 2, own, "one to depart and one to watch the other: no spinning")
		passages[1].Depart()
		within(w, time.Second, passages[0].Left())
		within(w, time.Second, passages[1].Left())
	})
}

func TestLeaveWithThePassagesOwnContext(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		done := make(chan error, 1)
		go func() { done <- passages[0].Leave(passages[0].Context()) }()
		time.Sleep(time.Second)
		require.NoError(w, passages[1].Leave(w.Context()))
		require.NoError(w, within(w, time.Second, done))
	})
}

func TestBreak(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		require.NoError(w, team.doubles[2].Break(w.Context()), "there is nothing to break")
		errs := make(chan error, 2)
		for _, d := range team.doubles[:2] {
			go func() { _, err := d.Enter(w.Context()); errs <- err }()
		}
		synctest.Wait()
		require.NoError(w, team.doubles[2].Break(w.Context()))
		for range 2 {
			err := within(w, time.Second, errs)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.NotErrorIs(w, err, barrier.ErrCrowd)
		}
		synctest.Wait()
		require.Zero(w, w.standing())
		require.Len(w, w.rounds(), 1, "the broken round is gone")
		passages := team.enter(w)
		require.EqualValues(w, 2, passages[0].Round())
		require.NoError(w, team.doubles[0].Break(w.Context()), "what is open already stays so")
		require.True(w, passages[0].Valid())
		leave(w, passages...)
	})
}

func TestAStandingIntentTakesTheBreakWithIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		team.doubles[0].Arrive()
		synctest.Wait()
		require.NoError(w, team.doubles[1].Break(w.Context()))
		within(w, time.Second, team.doubles[0].Done())
		require.ErrorIs(w, team.doubles[0].Err(), barrier.ErrBroken)
		_, err := team.doubles[0].Enter(w.Context())
		require.ErrorIs(w, err, barrier.ErrBroken)
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}

func TestDifferingParties(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		two, three := w.double(w.host("a"), 2), w.double(w.host("b"), 3)
		errs := make(chan error, 2)
		go func() { _, err := two.Enter(w.Context()); errs <- err }()
		synctest.Wait()
		go func() { _, err := three.Enter(w.Context()); errs <- err }()
		for range 2 {
			err := within(w, time.Second, errs)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.ErrorIs(w, err, barrier.ErrDiffering)
		}
	})
}

// The number of parties changes between two rounds: the open round that the last one has left is made to fit.
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
		never(w, team.doubles[0].Entered(), "alone")
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
		third := w.double(w.host("c"), 2)
		_, err := third.Enter(w.Context())
		require.ErrorIs(w, err, barrier.ErrCrowd)
		require.NotErrorIs(w, err, barrier.ErrBroken, "the round goes on")
		for _, p := range passages {
			require.True(w, p.Valid())
		}
		third.Arrive()
		within(w, time.Second, third.Done())
		require.ErrorIs(w, third.Err(), barrier.ErrCrowd)
		leave(w, passages...)
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}

// B62: however many come at once, everyone gets a verdict, nobody waits for ever, and if some enter they are as many as agreed.
func TestB62_TooManyPartiesAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		inBubble(t, func(w *world) {
			type result struct {
				p   *barrier.Passage
				err error
			}
			results := make(chan result, 3)
			defer w.server.Intercept(w.slowly(seed))()
			for _, name := range []string{"a", "b", "c"} {
				d := w.double(w.host(name), 2)
				go func() {
					p, err := d.Enter(w.Context())
					results <- result{p, err}
				}()
			}
			var inside []*barrier.Passage
			refused := 0
			for range 3 {
				r := within(w, time.Minute, results)
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

func TestBadInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s := w.host("a").Session
		for _, bad := range []struct {
			says string
			s    *session.Session
			path string
			n    int
			opts []barrier.Option
		}{
			{says: "s: nil", path: path, n: 1},
			{says: "path", s: s, path: "x", n: 1},
			{says: "path", s: s, path: "/", n: 1},
			{says: "path", s: s, path: "/a/", n: 1},
			{says: "parties: 0", s: s, path: path},
			{says: "parties: -1", s: s, path: path, n: -1},
			{says: "parties: 1001", s: s, path: path, n: 1001},
			{says: "opts[0]", s: s, path: path, n: 1, opts: []barrier.Option{nil}},
			{says: "id: empty", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("")}},
			{says: "id: has a slash", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("a/b")}},
			{says: "id: ", s: s, path: path, n: 1, opts: []barrier.Option{barrier.WithID("a\nb")}},
		} {
			_, err := barrier.NewDouble(bad.s, bad.path, bad.n, bad.opts...)
			require.ErrorContains(w, err, bad.says)
			if bad.n == 1 {
				_, err = barrier.New(bad.s, bad.path, bad.opts...)
				require.ErrorContains(w, err, bad.says)
			}
		}
		_, exists, err := s.Exists(w.Context(), path)
		require.NoError(w, err)
		require.False(w, exists)
	})
}

// Constructors do no I/O, and a closed session is an error at once.
func TestConstructorsDoNoIO(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		dials := 0
		s, err := session.New(w.server.Hosts(), session.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("not now")
		}))
		require.NoError(w, err)
		d, err := barrier.NewDouble(s, path, 2)
		require.NoError(w, err)
		time.Sleep(time.Minute)
		require.Zero(w, dials)
		require.NoError(w, d.Err())
		require.NoError(w, s.Close(w.Context()))
		require.ErrorIs(w, d.Err(), session.ErrClosed)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
		require.ErrorIs(w, d.Break(w.Context()), session.ErrClosed)
		_, err = barrier.NewDouble(s, path, 2)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		passages[0].Depart()
		synctest.Wait()
		for range 2 {
			require.NoError(w, team.doubles[0].Close(w.Context()), "departed, and waits for the others")
			require.NoError(w, team.doubles[1].Close(w.Context()), "inside")
		}
		require.ErrorIs(w, passages[1].Err(), session.ErrLost)
		require.ErrorIs(w, passages[1].Err(), session.ErrClosed)
		require.ErrorIs(w, passages[0].Leave(w.Context()), session.ErrClosed)
		require.Equal(w, 1, w.standing())
		require.NoError(w, passages[2].Leave(w.Context()), "the others don't hold it")
		errs := make(chan error, 1)
		go func() { _, err := team.doubles[2].Enter(w.Context()); errs <- err }()
		synctest.Wait()
		require.NoError(w, team.doubles[2].Close(w.Context()), "waiting")
		require.ErrorIs(w, within(w, time.Second, errs), session.ErrClosed)
		require.Zero(w, w.standing())
		require.ErrorIs(w, team.doubles[2].Err(), session.ErrClosed)
	})
}
