// One transaction, while something happens to one of its participants at each of its steps; what
// the actors had under way when they crashed; and sites of one name.

package twopc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// trial is one transaction of one coordinator and two sites, one of which something happens to.
type trial struct {
	*world
	ledger *ledger
	all    sync.WaitGroup // the applications
	form   []twopc.Option
	votes  map[string]bool
	c      *twopc.Coordinator
	sites  map[string]*twopc.Site
	hosts  map[string]*bubble.Host

	unknown atomic.Bool // it is not known whether it has begun
}

var both = []string{"a", "b"}

func newTrial(w *world, form []twopc.Option, votes map[string]bool) *trial {
	w.Helper()
	tr := &trial{world: w, ledger: newLedger(), form: form, votes: votes, sites: map[string]*twopc.Site{}, hosts: map[string]*bubble.Host{}}
	for _, who := range []string{"c", "a", "b"} {
		tr.hosts[who] = w.Host(who)
	}
	tr.c = w.coordinator(tr.hosts["c"], form...)
	for _, name := range both {
		tr.sites[name] = w.site(tr.hosts[name], name)
		tr.serve(name)
	}
	return tr
}

func (tr *trial) serve(name string) {
	tr.ledger.serve(&tr.all, name, tr.sites[name], both, func(string) bool {
		time.Sleep(100 * time.Millisecond) // it thinks about it
		return tr.votes[name]
	})
}

// begin begins the transaction, if the coordinator lives long enough.
func (tr *trial) begin() {
	tr.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		tx, err := tr.c.Begin(ctx, "t", []byte("pay"), both...)
		if tx != nil {
			tr.ledger.follow(&tr.all, "c", tx, both)
		}
		tr.unknown.Store(errors.Is(err, twopc.ErrGone)) // and not begun again
	})
}

// restart starts the process of somebody who died, on another machine.
func (tr *trial) restart(who string) {
	tr.Helper()
	h := tr.Host(who + " again")
	tr.hosts[who] = h
	if who != "c" {
		tr.sites[who] = tr.site(h, who)
		tr.serve(who)
		return
	}
	tr.c = tr.coordinator(h, tr.form...)
	ctx, cancel := context.WithTimeout(tr.Context(), time.Minute)
	defer cancel()
	taken, err := tr.c.Recover(ctx)
	require.NoError(tr, err)
	for _, tx := range taken {
		tr.ledger.follow(&tr.all, "c again", tx, both)
	}
}

// conclude checks that everybody has come to one end, and nothing is left.
func (tr *trial) conclude(what string) {
	tr.Helper()
	for began := time.Now(); time.Since(began) < 2*time.Minute && !tr.over(); {
		time.Sleep(time.Second)
	}
	require.Empty(tr, tr.ledger.complaints(), what)
	require.Empty(tr, tr.nodes(), what+"\n"+tr.Server.Dump())
	for _, h := range tr.hosts {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		require.NoError(tr, h.Close(ctx))
		cancel()
	}
	tr.ended(&tr.all)
}

// over reports whether the transaction is decided, or never began as far as is known, and nothing
// is left.
func (tr *trial) over() bool {
	return (tr.unknown.Load() || tr.ledger.of("t") != twopc.Undecided) && len(tr.nodes()) == 0
}

// kill kills a process at its k-th request, which is carried out or not.
func (tr *trial) kill(who string, k int, carriedOut bool) (met func() bool) {
	h, dead := tr.hosts[who], new(atomic.Bool)
	id := h.Status().SessionID
	tr.Cleanup(tr.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && dead.Load() {
			return zktest.DropRequest
		}
		return zktest.Pass
	}))
	return tr.strike(h, k, func(*zktest.Request) zktest.Verdict {
		dead.Store(true)
		tr.all.Go(h.Die)
		if carriedOut {
			return zktest.DropReply
		}
		return zktest.DropRequest
	})
}

var ballots = map[string]map[string]bool{"all agree": {"a": true, "b": true}, "b refuses": {"a": true}}

// struck are those to whom something may happen: the two sites are alike if both agree, and the one
// that refuses is the one to look at if not.
func struck(votes map[string]bool) []string {
	if votes["b"] {
		return []string{"c", "a"}
	}
	return []string{"c", "b"}
}

// blow is something that happens to somebody at its k-th request.
type blow struct {
	strike func(tr *trial, who string, k int) (met func() bool)
	starts time.Duration // it is killed, and starts again after this
	asIs   bool          // nothing comes of it: the outcome is that of the votes
}

var blows = map[string]blow{
	"killed before":                    {strike: killed(false), starts: 20 * time.Second},
	"killed after":                     {strike: killed(true), starts: 20 * time.Second},
	"killed, and its session is alive": {strike: killed(true), starts: time.Second}, // its successor does not wait for the expiry
	"panics":                           {strike: panics(zktest.Pass)},
	"panics, and its reply is lost":    {strike: panics(zktest.CutAfter)},
	"expires": {strike: func(tr *trial, who string, k int) (met func() bool) {
		id := tr.hosts[who].Status().SessionID
		return tr.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict {
			tr.all.Go(func() { tr.Server.Expire(id) })
			return zktest.Pass
		})
	}},
}

func killed(carriedOut bool) func(tr *trial, who string, k int) (met func() bool) {
	return func(tr *trial, who string, k int) (met func() bool) { return tr.kill(who, k, carriedOut) }
}

func panics(fate zktest.Verdict) func(tr *trial, who string, k int) (met func() bool) {
	return func(tr *trial, who string, k int) (met func() bool) {
		return tr.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict {
			if who == "c" {
				tr.c.Crash("at a request")
			} else {
				tr.sites[who].Crash("at a request")
			}
			return fate
		})
	}
}

// Whatever happens to the coordinator or a site at any step, or to any of its requests: no two ever
// see different outcomes, it comes to an end, and nothing is left.
func TestAtEveryStep(t *testing.T) {
	t.Parallel()
	all := maps.Clone(blows)
	for name, fate := range bubble.Fates {
		all[name] = blow{asIs: true, strike: func(tr *trial, who string, k int) (met func() bool) {
			return tr.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict { return fate })
		}}
	}
	for what, b := range all {
		for formed, form := range forms {
			for voted, votes := range ballots {
				t.Run(what+", "+formed+", "+voted, func(t *testing.T) {
					t.Parallel()
					for _, who := range struck(votes) {
						for k, met := 1, true; met; k++ {
							inBubble(t, func(w *world) { met = b.hits(newTrial(w, form, votes), who, k) })
						}
					}
				})
			}
		}
	}
}

// hits is one trial. It tells whether the k-th request was reached.
func (b blow) hits(tr *trial, who string, k int) (met bool) {
	reached := b.strike(tr, who, k)
	tr.begin()
	if time.Sleep(b.starts); b.starts > 0 && reached() {
		met = true
		tr.restart(who)
	}
	tr.conclude(fmt.Sprintf("%s at %d", who, k))
	if b.starts == 0 {
		met = reached()
		require.True(tr, tr.over())
	}
	if b.asIs || !met {
		require.Equal(tr, tr.votes["b"], tr.ledger.of("t") == twopc.Committed, "%s at %d", who, k)
	}
	return met
}

// unseen crashes a coordinator's actor while the sites are cut off: its presence blinks, which they
// would take for a death.
func (w *world) unseen(c *twopc.Coordinator, sites *bubble.Host) {
	w.Helper()
	synctest.Wait()
	heal := sites.Machine.Partition()
	c.Crash("while nobody looks")
	time.Sleep(time.Second)
	heal()
	time.Sleep(2 * time.Second)
}

// An Abort comes just when the machine notes what a new one is to be told after a crash: that is
// told of the Abort as well.
func TestAnAbortThatTheMachineHasNotHeardOfSurvivesACrash(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hc, far := w.Host("c"), w.Host("a", session.WithTimeout(time.Minute))
		c := w.coordinator(hc, twopc.WithVoteTimeout(time.Hour))
		w.site(far, "a")
		tx, err := c.Begin(w.Context(), "t", nil, "a")
		require.NoError(w, err)
		heal := hc.Machine.Partition()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, tx.Abort(ctx, "not any more"), context.DeadlineExceeded)
		c.RepeatProgress(tx)
		defer far.Machine.Partition()() // it would take the coordinator for dead
		c.Crash("with an Abort under way")
		heal()
		bubble.Within(w, 20*time.Second, tx.Decided())
		require.ErrorContains(w, tx.Err(), "not any more")
	})
}

// The actors are made anew between two votes, and look at all of them again: each vote is given
// once, and none is lost behind those that were seen twice.
func TestEachVoteIsGivenOnceAcrossCrashes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		c := w.coordinator(w.Host("c"), form...)
		h := w.Host("sites")
		names := []string{"x", "y", "z"}
		sites := map[string]*twopc.Site{}
		for _, name := range names {
			sites[name] = w.site(h, name)
		}
		tx, err := c.Begin(w.Context(), "t", nil, names...)
		require.NoError(w, err)
		for _, name := range names {
			require.NoError(w, bubble.Within(w, time.Second, sites[name].Proposals()).Commit(w.Context()))
			sites[name].Crash("behind its vote")
			w.unseen(c, h)
		}
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Committed, tx.Outcome())
		var votes []string
		for v := range tx.Votes() {
			require.True(w, v.Commit)
			votes = append(votes, v.Site)
		}
		require.Equal(w, names[:len(votes)], votes)
		if form == nil { // a decision of the peers may come before the last vote
			require.Len(w, votes, len(names))
		}
	})
}

// begins tells whether a request begins a transaction.
func begins(r *zktest.Request, id string) bool {
	return r.Op == zktest.OpMulti && len(r.Ops) > 1 && r.Ops[1].Path == path+"/tx/"+id && slices.Contains([]zktest.Op{zktest.OpCreate, zktest.OpCreate2}, r.Ops[1].Op)
}

// A server that is overloaded has not taken a beginning yet when the coordinator's actor crashes,
// and the beginning is given up. It is not carried out behind that, with nobody to decide it.
func TestABeginningOfBeforeACrashDoesNotComeLater(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *world, form []twopc.Option) {
		h := w.Host("c")
		c := w.coordinator(h, append(form, twopc.WithVoteTimeout(time.Minute))...)
		w.site(w.Host("a"), "a")
		warm, err := c.Begin(w.Context(), "warm", nil, "a")
		require.NoError(w, err)
		require.NoError(w, warm.Abort(w.Context(), "warm"))
		var sent atomic.Bool
		began, id := time.Now(), h.Status().SessionID
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && begins(r, "t") && time.Since(began) < 10*time.Second {
				sent.Store(true)
				return zktest.Fail(zktest.ErrThrottled)
			}
			return zktest.Pass
		}))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err = c.Begin(ctx, "t", nil, "a")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		c.Crash("with a beginning under way")
		require.True(w, sent.Load())
		time.Sleep(time.Hour)
		if data, _, err := h.Get(w.Context(), path+"/tx/t"); err == nil {
			require.NotContains(w, string(data), `"undecided"`)
		}
	})
}

// Sites of one name come and go, most of them in one session, in any order, while connections break
// and actors crash. In the end one of them lives, shows that it does, and is asked; and when it has
// closed, nothing is left of it.
func TestSitesOfOneNameComeAndGo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { comeAndGo(w, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func comeAndGo(w *world, rng *rand.Rand) {
	h, far := w.Host("one"), w.Host("another")
	var all sync.WaitGroup
	var sites []*twopc.Site
	open := func(h *bubble.Host) *twopc.Site {
		s, err := twopc.NewSite(h.Session, path, "a")
		require.NoError(w, err)
		sites = append(sites, s)
		return s
	}
	fates := []zktest.Verdict{zktest.CutAfter, zktest.CutBefore, zktest.DropReply, zktest.DropRequest}
	for range 3 + rng.IntN(20) {
		switch rng.IntN(10) {
		case 0, 1, 2, 3:
			open(h)
		case 4:
			open(far)
		case 5, 6:
			if len(sites) == 0 {
				continue
			}
			s, patience := sites[rng.IntN(len(sites))], time.Duration(rng.IntN(3))*time.Second
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute-time.Minute*(patience/time.Second)/2)
				defer cancel()
				_ = s.Close(ctx)
			})
		case 7:
			if len(sites) > 0 {
				sites[rng.IntN(len(sites))].Crash("at any time")
			}
		case 8:
			fate := fates[rng.IntN(len(fates))]
			w.strike(h, 1+rng.IntN(4), func(*zktest.Request) zktest.Verdict { return fate })
		case 9:
			if rng.IntN(4) == 0 {
				w.Server.Expire(h.Status().SessionID)
			}
		}
		if rng.IntN(3) > 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond * time.Duration(rng.IntN(2)))
		}
	}
	time.Sleep(2 * time.Minute)
	open(h)
	time.Sleep(2 * time.Minute)
	var living []*twopc.Site
	for _, s := range sites {
		if s.Err() == nil {
			living = append(living, s)
		}
	}
	require.Len(w, living, 1, w.Server.Dump())
	c := w.coordinator(w.Host("c"))
	tx, err := c.Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	require.NoError(w, bubble.Within(w, time.Second, living[0].Proposals()).Commit(w.Context()))
	bubble.Within(w, time.Second, tx.Decided())
	require.Equal(w, twopc.Committed, tx.Outcome())
	require.Contains(w, w.Server.Dump(), path+"/alive/a")
	require.NoError(w, living[0].Close(w.Context()))
	require.NotContains(w, w.Server.Dump(), path+"/alive/a")
	all.Wait()
}
