package twopc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
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

// strike lets something happen at the k-th request of somebody's session, pings and its end aside;
// it tells whether it came to that.
func (w *world) strike(h *bubble.Host, k int, at func(*zktest.Request) zktest.Verdict) (met func() bool) {
	return w.AtKth(h.Session, k, at, zktest.OpCloseSession)
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

func everyTrial(t *testing.T, f func(t *testing.T, form []twopc.Option, votes map[string]bool)) {
	t.Helper()
	for formed, form := range forms {
		for voted, votes := range ballots {
			t.Run(formed+", "+voted, func(t *testing.T) {
				t.Parallel()
				f(t, form, votes)
			})
		}
	}
}

// Kill the coordinator or a site at any step, restart it: no two ever see different outcomes, and
// it comes to an end.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	everyTrial(t, func(t *testing.T, form []twopc.Option, votes map[string]bool) {
		for _, who := range struck(votes) {
			for _, carriedOut := range []bool{false, true} {
				for k, met := 1, true; met; k++ {
					inBubble(t, func(w *world) {
						what := fmt.Sprintf("%s killed at %d, carried out: %v", who, k, carriedOut)
						tr := newTrial(w, form, votes)
						reached := tr.kill(who, k, carriedOut)
						tr.begin()
						time.Sleep(20 * time.Second)
						if met = reached(); met {
							tr.restart(who)
						}
						tr.conclude(what)
						if !met {
							require.Equal(w, votes["b"], tr.ledger.of("t") == twopc.Committed)
						}
					})
				}
			}
		}
	})
}

// The process that starts again does not wait for its predecessor's session to expire.
func TestKilledAtEveryStepAndRestartedAtOnce(t *testing.T) {
	t.Parallel()
	everyTrial(t, func(t *testing.T, form []twopc.Option, votes map[string]bool) {
		for _, who := range struck(votes) {
			for k, met := 1, true; met; k++ {
				inBubble(t, func(w *world) {
					tr := newTrial(w, form, votes)
					reached := tr.kill(who, k, true)
					tr.begin()
					time.Sleep(time.Second)
					if met = reached(); met {
						tr.restart(who)
					}
					tr.conclude(fmt.Sprintf("%s killed at %d", who, k))
				})
			}
		}
	})
}

// Whichever reply or request is lost, of whomever, nothing comes of it.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	everyTrial(t, func(t *testing.T, form []twopc.Option, votes map[string]bool) {
		for name, fate := range bubble.Fates {
			for _, who := range struck(votes) {
				for k, met := 1, true; met; k++ {
					inBubble(t, func(w *world) {
						tr := newTrial(w, form, votes)
						reached := w.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict { return fate })
						tr.begin()
						tr.conclude(fmt.Sprintf("%s: %s at %d", who, name, k))
						require.Equal(w, votes["b"], tr.ledger.of("t") == twopc.Committed, "%s: %s at %d", who, name, k)
						met = reached()
					})
				}
			}
		}
	})
}

// Whatever is under way when an actor panics: it is made anew, and goes on.
func TestAPanicAtAnyMoment(t *testing.T) {
	t.Parallel()
	fates := []zktest.Verdict{zktest.Pass, zktest.CutAfter}
	everyTrial(t, func(t *testing.T, form []twopc.Option, votes map[string]bool) {
		for _, fate := range fates {
			for _, who := range struck(votes) {
				for k, met := 1, true; met; k++ {
					inBubble(t, func(w *world) {
						tr := newTrial(w, form, votes)
						reached := w.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict {
							if who == "c" {
								tr.c.Crash("at a request")
							} else {
								tr.sites[who].Crash("at a request")
							}
							return fate
						})
						tr.begin()
						tr.conclude(fmt.Sprintf("%s panics at %d", who, k))
						require.True(w, tr.over())
						met = reached()
					})
				}
			}
		}
	})
}

// The session of somebody expires at any step.
func TestAnExpiryAtAnyMoment(t *testing.T) {
	t.Parallel()
	everyTrial(t, func(t *testing.T, form []twopc.Option, votes map[string]bool) {
		for _, who := range struck(votes) {
			for k, met := 1, true; met; k++ {
				inBubble(t, func(w *world) {
					tr := newTrial(w, form, votes)
					id := tr.hosts[who].Status().SessionID
					reached := w.strike(tr.hosts[who], k, func(*zktest.Request) zktest.Verdict {
						tr.all.Go(func() { w.Server.Expire(id) })
						return zktest.Pass
					})
					tr.begin()
					tr.conclude(fmt.Sprintf("%s expires at %d", who, k))
					require.True(w, tr.over())
					met = reached()
				})
			}
		}
	})
}
