// Histories of hundreds of transactions under random faults, and the model that they are held
// against.

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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/twopc"
)

// Hundreds of transactions while processes die and come back, connections break, hosts are cut off,
// sessions expire, and answers to beginnings are lost, perhaps until another coordinator has
// recovered what they began; coordinators die before they acknowledge, and others are taken for
// dead, live on and acknowledge, too. What everybody promised and learned is a history that
// two-phase commit could have had: one outcome of each transaction at every site and at every
// coordinator.
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 12, func(t *testing.T, seed uint64) {
		t.Parallel()
		inBubble(t, func(w *world) { faulty(w, rand.New(rand.NewPCG(seed, 9)), seed%2 == 1) })
	})
}

// process is a coordinator's or a site's, which may be killed and started again.
type process struct {
	name  string
	host  *bubble.Host
	c     *twopc.Coordinator
	alive bool
}

func faulty(w *world, rng *rand.Rand, peers bool) {
	l := newLedger()
	var all sync.WaitGroup
	form := []twopc.Option{twopc.WithVoteTimeout(5 * time.Second)}
	if peers {
		form = append(form, twopc.WithPeerDecision())
	}
	names := []string{"a", "b", "c"}
	votes := func(name string) func(string) bool {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		var mu sync.Mutex
		return func(string) bool {
			mu.Lock()
			pause, agree := time.Duration(mine.Int64N(int64(500*time.Millisecond))), mine.IntN(10) > 0
			mu.Unlock()
			time.Sleep(pause)
			return agree
		}
	}
	lives := 0
	var always atomic.Bool // nobody fails to acknowledge any more
	var mu sync.Mutex
	whims := rand.New(rand.NewPCG(rng.Uint64(), 2))
	mostly := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return always.Load() || whims.IntN(4) > 0
	}
	recovered := func(c *twopc.Coordinator, who string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		taken, _ := c.Recover(ctx)
		for _, tx := range taken {
			l.heed(&all, who, tx, names, mostly)
		}
	}
	start := func(p *process) {
		lives++
		p.host, p.alive = w.Host(fmt.Sprint(p.name, lives)), true
		if p.name != "leader" && p.name != "deputy" {
			l.serve(&all, p.name, w.site(p.host, p.name), names, votes(p.name))
			return
		}
		c := w.coordinator(p.host, form...)
		p.c = c
		who := fmt.Sprint(p.name, lives)
		all.Go(func() { // ends when it has recovered, or is dead
			recovered(c, who)
		})
	}
	var processes []*process
	for _, name := range []string{"leader", "a", "b", "c", "deputy"} {
		p := &process{name: name}
		processes = append(processes, p)
		start(p)
	}
	for i := range 250 {
		c, who := processes[0].c, fmt.Sprint("leader", lives)
		id, patience := fmt.Sprint("t", i), 5*time.Second
		if i%2 == 0 {
			patience = time.Minute // long enough to outlive the session
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			switch tx, err := c.Begin(ctx, id, []byte(id), names...); {
			case tx != nil: // also one of which it is not known whether it has begun
				l.heed(&all, who, tx, names, mostly)
			case !errors.Is(err, twopc.ErrGone): // it has not begun, and never will
				l.note(aborted, id, who)
			}
		})
		time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
		p := processes[rng.IntN(len(processes))]
		switch rng.IntN(20) {
		case 0, 1:
			w.Server.Disconnect(p.host.Status().SessionID)
		case 2:
			w.Server.Expire(p.host.Status().SessionID)
		case 3:
			heal := p.host.Machine.Partition()
			time.AfterFunc(time.Duration(rng.Int64N(int64(12*time.Second))), heal)
		case 4:
			p.host.Die()
			time.Sleep(time.Duration(rng.Int64N(int64(8 * time.Second))))
			start(p)
		case 5, 6, 7: // the answer to a beginning is lost, and it is found out soon, or late
			heal := w.loseTheNext(processes[0].host)
			time.AfterFunc(time.Duration(rng.Int64N(int64(20*time.Second))), heal)
			deputy, who := processes[4].c, fmt.Sprint("deputy", lives)
			time.AfterFunc(time.Second, func() { all.Go(func() { recovered(deputy, who) }) })
		case 8, 9: // the leader is taken for dead, and what it has recovered; and it lives on, learns the outcomes, and acknowledges
			w.Server.Expire(processes[0].host.Status().SessionID)
			if rng.IntN(2) == 0 {
				time.AfterFunc(time.Duration(rng.Int64N(int64(8*time.Second))), processes[0].host.Machine.Partition())
			}
			deputy, who := processes[4].c, fmt.Sprint("deputy", lives)
			time.AfterFunc(time.Duration(rng.Int64N(int64(time.Second))), func() { all.Go(func() { recovered(deputy, who) }) })
		}
	}
	time.Sleep(time.Minute)
	always.Store(true)
	processes[0].host.Die() // whatever is left is recovered
	processes[4].host.Die()
	start(processes[0])
	for began := time.Now(); time.Since(began) < 5*time.Minute && len(w.nodes()) > 0; {
		time.Sleep(time.Second)
	}
	require.Empty(w, l.complaints())
	require.Empty(w, w.nodes())
	for _, p := range processes[:4] { // the deputy is dead
		require.NoError(w, p.host.Close(w.Context()))
	}
	w.ended(&all)
	commits, aborts := l.decided()
	w.Logf("%d committed, %d aborted", commits, aborts)
	require.Greater(w, commits, 20)
	require.Greater(w, aborts, 10)
}

// The checker finds what it is there to find, and nothing else.
func TestTheModelComplains(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]fact{
		"two outcomes":               {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {committed, "t", "c"}, {aborted, "t", "a"}},
		"a commit without all":       {{agreeing, "t", "a"}, {committed, "t", "c"}},
		"a promise that was broken":  {{agreeing, "t", "a"}, {agreed, "t", "a"}, {refused, "t", "a"}},
		"a commit against a refusal": {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {refused, "t", "b"}, {committed, "t", "a"}},
		"nothing":                    {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {agreed, "t", "b"}, {committed, "t", "c"}, {committed, "t", "a"}},
	} {
		l := newLedger()
		for _, f := range history {
			l.note(f.what, f.id, f.who, both...)
		}
		require.Equal(t, name == "nothing", len(l.complaints()) == 0, name)
	}
}

// ledger is what all processes together have promised and learned, in order: the model that
// histories are checked against.
type ledger struct {
	mu      sync.Mutex
	facts   []fact
	wrong   []string
	outcome map[string]twopc.Outcome
}

// fact is something that one process has done or learned about a transaction.
type fact struct {
	what fate
	id   string
	who  string
}

type fate int

const (
	agreeing  fate = iota + 1 // it asks for its vote to commit to be written
	agreed                    // that was confirmed
	refused                   // its vote to abort was confirmed
	committed                 // it has learned
	aborted
)

func newLedger() *ledger {
	return &ledger{outcome: map[string]twopc.Outcome{}}
}

// note enters a fact, and whether it may follow upon those before.
func (l *ledger) note(what fate, id, who string, sites ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := func(what fate, who string) bool { return slices.Contains(l.facts, fact{what, id, who}) }
	complain := func(format string, args ...any) { l.wrong = append(l.wrong, id+": "+fmt.Sprintf(format, args...)) }
	l.facts = append(l.facts, fact{what, id, who})
	switch what {
	case refused, aborted:
		l.learn(id, who, twopc.Aborted, complain)
	case committed:
		l.learn(id, who, twopc.Committed, complain)
		for _, site := range sites {
			if !is(agreeing, site) || is(refused, site) {
				complain("%s learns that it is committed, and %s has not agreed", who, site)
			}
		}
	}
	if is(agreed, who) && is(refused, who) {
		complain("%s has voted both ways", who)
	}
}

func (l *ledger) learn(id, who string, o twopc.Outcome, complain func(string, ...any)) {
	if known := l.outcome[id]; known != twopc.Undecided && known != o {
		complain("it is %v for %s and was %v for another", o, who, known)
	}
	l.outcome[id] = o
}

func (l *ledger) of(id string) twopc.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcome[id]
}

// decided counts the transactions by their outcome.
func (l *ledger) decided() (commits, aborts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.outcome {
		if o == twopc.Committed {
			commits++
		} else {
			aborts++
		}
	}
	return commits, aborts
}

func (l *ledger) complaints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.wrong)
}

// serve is a site's application: it votes, acts on the decision, acknowledges. It ends with the
// site.
func (l *ledger) serve(all *sync.WaitGroup, name string, site *twopc.Site, sites []string, vote func(id string) bool) {
	all.Go(func() {
		for p := range site.Proposals() {
			all.Go(func() { l.take(name, p, sites, vote) })
		}
	})
}

func (l *ledger) take(name string, p *twopc.Proposal, sites []string, vote func(id string) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for p.Voted() == twopc.Undecided && p.Err() == nil && p.Outcome() == twopc.Undecided {
		var err error
		if vote(p.ID()) {
			l.note(agreeing, p.ID(), name)
			if err = p.Commit(ctx); err == nil {
				l.note(agreed, p.ID(), name)
			}
		} else if err = p.Abort(ctx, "no"); err == nil {
			l.note(refused, p.ID(), name)
		}
		if errors.Is(err, twopc.ErrVoted) || errors.Is(err, twopc.ErrDecided) {
			break
		}
	}
	select {
	case <-p.Decided():
	case <-p.Done():
		if p.Outcome() == twopc.Undecided {
			return // the process is over, or nobody can know: another one is asked
		}
	}
	l.learned(p.Outcome(), p.ID(), name, sites)
	_ = p.Ack(ctx) // if it fails, it is offered again
}

func (l *ledger) learned(o twopc.Outcome, id, who string, sites []string) {
	if o == twopc.Committed {
		l.note(committed, id, who, sites...)
		return
	}
	l.note(aborted, id, who)
}

// follow is a coordinator's application, once a transaction has begun: it notes the outcome, and
// acknowledges.
func (l *ledger) follow(all *sync.WaitGroup, who string, tx *twopc.Tx, sites []string) {
	l.heed(all, who, tx, sites, func() bool { return true })
}

// heed is follow for an application that does not always come to acknowledging.
func (l *ledger) heed(all *sync.WaitGroup, who string, tx *twopc.Tx, sites []string, acks func() bool) {
	all.Go(func() {
		<-tx.Done()
		if o := tx.Outcome(); o != twopc.Undecided {
			l.learned(o, tx.ID(), who, sites)
			if !acks() {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			_ = tx.Ack(ctx) // if it fails, it is recovered again
		}
	})
}
