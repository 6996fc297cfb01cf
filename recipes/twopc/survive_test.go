// One transaction, with a fault at each request of each participant; crashes of actors with
// requests under way; and sites of one name. Helpers: world_test.go; model: history_test.go.

package twopc_test

import (
	"context"
	"errors"
	"fmt"
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

// trial is one transaction of a coordinator, c, and the sites a and b. A fault strikes one of them.
type trial struct {
	*bubble.World
	model     *model
	all       sync.WaitGroup // the applications
	form      []twopc.Option
	votes     map[string]bool
	c         *twopc.Coordinator
	sites     map[string]*twopc.Site
	hosts     map[string]*bubble.Host // of c, a and b
	uncertain atomic.Bool             // Begin could not find out whether it has begun the transaction
}

var both = []string{"a", "b"}

func newTrial(w *bubble.World, form []twopc.Option, votes map[string]bool) *trial {
	w.Helper()
	tr := &trial{World: w, model: newModel(), form: form, votes: votes, sites: map[string]*twopc.Site{}, hosts: map[string]*bubble.Host{}}
	for _, name := range []string{"c", "a", "b"} {
		tr.hosts[name] = w.Host(name)
	}
	tr.c = newCoordinator(w, tr.hosts["c"], form...)
	for _, name := range both {
		tr.startSite(name)
	}
	return tr
}

// startSite starts a site, and an application that votes after 100 ms.
func (tr *trial) startSite(name string) {
	tr.sites[name] = newSite(tr.World, tr.hosts[name], name)
	tr.model.serve(&tr.all, name, tr.sites[name], both, func(string) bool {
		time.Sleep(100 * time.Millisecond)
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
			tr.model.follow(&tr.all, "c", tx, both, always)
		}
		tr.uncertain.Store(errors.Is(err, twopc.ErrGone))
	})
}

// restart starts the process of a participant that was killed, on another machine.
func (tr *trial) restart(name string) {
	tr.Helper()
	tr.hosts[name] = tr.Host(name + " again")
	if name != "c" {
		tr.startSite(name)
		return
	}
	tr.c = newCoordinator(tr.World, tr.hosts["c"], tr.form...)
	ctx, cancel := context.WithTimeout(tr.Context(), time.Minute)
	defer cancel()
	taken := must(tr.c.Recover(ctx))
	for _, tx := range taken {
		tr.model.follow(&tr.all, "c again", tx, both, always)
	}
}

// concluded: the transaction is decided, or may never have begun, and nothing is left.
func (tr *trial) concluded() bool {
	return (tr.uncertain.Load() || tr.model.of("t") != twopc.Undecided) && len(nodes(tr.World)) == 0
}

// fault is what happens at one request of a participant.
type fault struct {
	verdict  zktest.Verdict // what becomes of the request
	crashes  bool           // the actor panics
	expires  bool           // the session expires
	restarts time.Duration  // the process is killed, and started again after this
}

// The ZooKeeper session of a process that was killed expires within expiryOfDead.
const expiryOfDead = 20 * time.Second

var faults = map[string]fault{
	"killed before":                    {verdict: zktest.DropRequest, restarts: expiryOfDead},
	"killed after":                     {verdict: zktest.DropReply, restarts: expiryOfDead},
	"killed, and its session is alive": {verdict: zktest.DropReply, restarts: time.Second},
	"panics":                           {verdict: zktest.Pass, crashes: true},
	"panics, and its reply is lost":    {verdict: zktest.CutAfter, crashes: true},
	"expires":                          {verdict: zktest.Pass, expires: true},
	"reply dropped":                    {verdict: zktest.DropReply},
	"request dropped":                  {verdict: zktest.DropRequest},
	"cut after":                        {verdict: zktest.CutAfter},
	"cut before":                       {verdict: zktest.CutBefore},
}

// inject has the fault happen at the k-th request of a participant, pings and the end of the
// session aside. reached tells, once, whether there was such a request.
func (tr *trial) inject(f fault, name string, k int) (reached func() bool) {
	host, id, killed := tr.hosts[name], tr.hosts[name].Status().SessionID, new(atomic.Bool)
	tr.Cleanup(tr.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && killed.Load() {
			return zktest.DropRequest
		}
		return zktest.Pass
	}))
	return tr.AtKth(host.Session, k, func(*zktest.Request) zktest.Verdict {
		switch {
		case f.restarts > 0:
			killed.Store(true)
			tr.all.Go(host.Die)
		case f.expires:
			tr.all.Go(func() { tr.Server.Expire(id) })
		case f.crashes && name == "c":
			tr.c.Crash("at a request")
		case f.crashes:
			tr.sites[name].Crash("at a request")
		}
		return f.verdict
	}, zktest.OpCloseSession)
}

// At every request of the coordinator or a site any fault may happen: no two participants ever see
// different outcomes, the transaction comes to an end, and nothing is left.
func TestAtEveryStep(t *testing.T) {
	t.Parallel()
	trials := map[string]struct {
		votes   map[string]bool
		victims []string // if both sites agree, they are alike
	}{
		"all agree": {map[string]bool{"a": true, "b": true}, []string{"c", "a"}},
		"b refuses": {map[string]bool{"a": true}, []string{"c", "b"}},
	}
	for what, f := range faults {
		for formed, form := range forms {
			for voted, c := range trials {
				t.Run(what+", "+formed+", "+voted, func(t *testing.T) {
					t.Parallel()
					for _, victim := range c.victims {
						for k, reached := 1, true; reached; k++ {
							inBubble(t, func(w *bubble.World) { reached = newTrial(w, form, c.votes).survives(f, victim, k) })
						}
					}
				})
			}
		}
	}
}

// survives plays the trial, with a fault at the victim's k-th request. It tells whether there was
// such a request.
func (tr *trial) survives(f fault, victim string, k int) (reached bool) {
	what := fmt.Sprintf("%s at %d", victim, k)
	struck := tr.inject(f, victim, k)
	tr.begin()
	if f.restarts > 0 {
		time.Sleep(f.restarts)
		if reached = struck(); reached {
			tr.restart(victim)
		}
	}
	for began := time.Now(); time.Since(began) < 2*time.Minute && !tr.concluded(); {
		time.Sleep(time.Second)
	}
	require.Empty(tr, tr.model.complaints(), what)
	require.Empty(tr, nodes(tr.World), what+"\n"+tr.Server.Dump())
	for _, h := range tr.hosts {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		require.NoError(tr, h.Close(ctx))
		cancel()
	}
	awaitAll(tr.World, &tr.all)
	if f.restarts == 0 {
		reached = struck()
		require.True(tr, tr.concluded())
	}
	if harmless := !f.crashes && !f.expires && f.restarts == 0; harmless || !reached {
		require.Equal(tr, tr.votes["b"], tr.model.of("t") == twopc.Committed, what)
	}
	return reached
}

// An Abort comes just when the machine replaces the request that a new one will be told after a
// crash: the new machine is told of the Abort as well.
func TestAnAbortThatTheMachineHasNotHeardOfSurvivesACrash(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *bubble.World) {
		hc, second := w.Host("c"), w.Host("a", session.WithTimeout(time.Minute))
		c := newCoordinator(w, hc, twopc.WithVoteTimeout(time.Hour))
		newSite(w, second, "a")
		tx := must(c.Begin(w.Context(), "t", nil, "a"))
		heal := hc.Machine.Partition()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, tx.Abort(ctx, "not any more"), context.DeadlineExceeded)
		c.RepeatProgress(tx)
		defer second.Machine.Partition()() // the site would take the coordinator for dead
		c.Crash("with an Abort under way")
		heal()
		bubble.Within(w, 20*time.Second, tx.Decided())
		require.ErrorContains(w, tx.Err(), "not any more")
	})
}

// The actors are created again between two votes, and read all votes again: each vote is delivered
// once, and none is lost behind those that were read twice.
func TestEachVoteIsGivenOnceAcrossCrashes(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(w *bubble.World, form []twopc.Option) {
		c := newCoordinator(w, w.Host("c"), form...)
		h := w.Host("sites")
		names := []string{"x", "y", "z"}
		sites := map[string]*twopc.Site{}
		for _, name := range names {
			sites[name] = newSite(w, h, name)
		}
		tx := must(c.Begin(w.Context(), "t", nil, names...))
		for _, name := range names {
			require.NoError(w, bubble.Within(w, time.Second, sites[name].Proposals()).VoteCommit(w.Context()))
			sites[name].Crash("behind its vote")
			synctest.Wait()
			heal := h.Machine.Partition() // the sites would take the coordinator for dead
			c.Crash("while it is not watched")
			time.Sleep(time.Second)
			heal()
			time.Sleep(2 * time.Second)
		}
		bubble.Within(w, time.Minute, tx.Done())
		require.Equal(w, twopc.Committed, tx.Outcome())
		told := votes(tx)
		require.Equal(w, []twopc.Vote{{Site: "x", Outcome: twopc.Committed}, {Site: "y", Outcome: twopc.Committed}, {Site: "z", Outcome: twopc.Committed}}[:len(told)], told)
		if form == nil { // a decision of the peers may come before the last vote
			require.Len(w, told, len(names))
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
			inBubble(t, func(w *bubble.World) { comeAndGo(w, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func comeAndGo(w *bubble.World, rng *rand.Rand) {
	first, second := w.Host("one"), w.Host("another")
	var closing sync.WaitGroup
	var sites []*twopc.Site
	open := func(h *bubble.Host) {
		s := must(twopc.NewSite(h.Session, path, "a"))
		sites = append(sites, s)
	}
	verdicts := []zktest.Verdict{zktest.CutAfter, zktest.CutBefore, zktest.DropReply, zktest.DropRequest}
	patience := []time.Duration{time.Minute, 30 * time.Second, 0} // 0: the context has ended
	open(first)
	for range 3 + rng.IntN(20) {
		site := sites[rng.IntN(len(sites))]
		draw(rng, []event{
			{4, func() { open(first) }},
			{1, func() { open(second) }},
			{2, func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience[rng.IntN(len(patience))])
				closing.Go(func() { defer cancel(); _ = site.Close(ctx) })
			}},
			{1, func() { site.Crash("at any time") }},
			{1, func() {
				w.Kth(first.Session, 1+rng.IntN(4), verdicts[rng.IntN(len(verdicts))], zktest.OpCloseSession)
			}},
			{1, func() {
				if rng.IntN(4) == 0 {
					w.Server.Expire(first.Status().SessionID)
				}
			}},
		})
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
	}
	time.Sleep(2 * time.Minute)
	open(first)
	time.Sleep(2 * time.Minute)
	living := slices.DeleteFunc(sites, func(s *twopc.Site) bool { return s.Err() != nil })
	require.Len(w, living, 1, w.Server.Dump())
	tx := must(newCoordinator(w, w.Host("c")).Begin(w.Context(), "t", nil, "a"))
	require.NoError(w, bubble.Within(w, time.Second, living[0].Proposals()).VoteCommit(w.Context()))
	bubble.Within(w, time.Second, tx.Decided())
	require.Equal(w, twopc.Committed, tx.Outcome())
	require.Contains(w, w.Server.Dump(), path+"/alive/a")
	require.NoError(w, living[0].Close(w.Context()))
	require.NotContains(w, w.Server.Dump(), path+"/alive/a")
	closing.Wait()
}
