// Histories of hundreds of transactions under random faults, and the model that checks them.
// Helpers: world_test.go.

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
// dead, live on and acknowledge, too. All promises and outcomes together are a history that
// two-phase commit allows: one outcome of each transaction at every site and at every coordinator.
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 12, func(t *testing.T, seed uint64) {
		t.Parallel()
		inBubble(t, func(w *bubble.World) { faulty(w, rand.New(rand.NewPCG(seed, 9)), seed%2 == 1) })
	})
}

// process is a coordinator's or a site's, which may be killed and started again.
type process struct {
	name string
	life string // the name, with a number of its own
	host *bubble.Host
	c    *twopc.Coordinator // of the leader and the deputy
}

// faulty plays a history. rng draws its events, and dice what the applications do, which run side
// by side.
func faulty(w *bubble.World, rng *rand.Rand, peers bool) {
	m := newModel()
	var all sync.WaitGroup
	form := []twopc.Option{twopc.WithVoteTimeout(5 * time.Second)}
	if peers {
		form = append(form, twopc.WithPeerDecision())
	}
	names := []string{"a", "b", "c"}
	within := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	var mu sync.Mutex // of dice
	dice := rand.New(rand.NewPCG(rng.Uint64(), 2))
	oneIn := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n) == 0
	}
	agrees := func(string) bool { // nine times out of ten, after up to half a second
		mu.Lock()
		pause := time.Duration(dice.Int64N(int64(500 * time.Millisecond)))
		mu.Unlock()
		time.Sleep(pause)
		return !oneIn(10)
	}
	var calm atomic.Bool // every application acknowledges
	acks := func() bool { return calm.Load() || !oneIn(4) }
	recovers := func(c *twopc.Coordinator, life string) {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			taken, _ := c.Recover(ctx)
			for _, tx := range taken {
				m.follow(&all, life, tx, names, acks)
			}
		})
	}
	lives := 0
	start := func(p *process) {
		lives++
		p.life = fmt.Sprint(p.name, lives)
		p.host = w.Host(p.life)
		if slices.Contains(names, p.name) {
			m.serve(&all, p.name, newSite(w, p.host, p.name), names, agrees)
			return
		}
		p.c = newCoordinator(w, p.host, form...)
		recovers(p.c, p.life)
	}
	leader, deputy := &process{name: "leader"}, &process{name: "deputy"}
	processes := []*process{leader, {name: "a"}, {name: "b"}, {name: "c"}, deputy}
	for _, p := range processes {
		start(p)
	}
	deputyRecovers := func(after time.Duration) {
		c, life := deputy.c, deputy.life
		time.AfterFunc(after, func() { recovers(c, life) })
	}
	for i := range 250 { // a transaction, and beside it an event
		c, life, id := leader.c, leader.life, fmt.Sprint("t", i)
		patience := []time.Duration{time.Minute, 5 * time.Second}[i%2] // a minute outlives the session
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			switch tx, err := c.Begin(ctx, id, []byte(id), names...); {
			case tx != nil: // it may have begun
				m.follow(&all, life, tx, names, acks)
			case !errors.Is(err, twopc.ErrGone): // it has not begun, and never will
				m.add(aborted, id, life)
			}
		})
		time.Sleep(within(time.Second))
		p := processes[rng.IntN(len(processes))]
		draw(rng, []event{
			{10, func() {}},
			{2, func() { w.Server.Disconnect(p.host.Status().SessionID) }},
			{1, func() { w.Server.Expire(p.host.Status().SessionID) }},
			{1, func() { time.AfterFunc(within(12*time.Second), p.host.Machine.Partition()) }},
			{1, func() {
				p.host.Die()
				time.Sleep(within(8 * time.Second))
				start(p)
			}},
			{3, func() { // the answer to a Begin is lost, and the leader learns that sooner or later
				time.AfterFunc(within(20*time.Second), loseNextReply(w, leader.host))
				deputyRecovers(time.Second)
			}},
			{2, func() { // the leader is taken for dead, lives on, learns the outcomes, and acknowledges
				w.Server.Expire(leader.host.Status().SessionID)
				if rng.IntN(2) == 0 {
					time.AfterFunc(within(8*time.Second), leader.host.Machine.Partition())
				}
				deputyRecovers(within(time.Second))
			}},
		})
	}
	time.Sleep(time.Minute)
	calm.Store(true) // from here on everything comes to its end
	leader.host.Die()
	deputy.host.Die()
	start(leader) // which recovers everything that is left
	for began := time.Now(); time.Since(began) < 5*time.Minute && len(nodes(w)) > 0; {
		time.Sleep(time.Second)
	}
	require.Empty(w, m.complaints())
	require.Empty(w, nodes(w))
	for _, p := range processes {
		if p != deputy {
			require.NoError(w, p.host.Close(w.Context()))
		}
	}
	awaitAll(w, &all)
	count := m.decided()
	w.Logf("%d committed, %d aborted", count[twopc.Committed], count[twopc.Aborted])
	require.Greater(w, count[twopc.Committed], 20)
	require.Greater(w, count[twopc.Aborted], 10)
}

// The model complains of each kind of violation, and of nothing else.
func TestTheModelComplains(t *testing.T) {
	t.Parallel()
	for name, history := range map[string][]fact{
		"two outcomes":               {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {committed, "t", "c"}, {aborted, "t", "a"}},
		"a commit without all":       {{agreeing, "t", "a"}, {committed, "t", "c"}},
		"a promise that was broken":  {{agreeing, "t", "a"}, {agreed, "t", "a"}, {refused, "t", "a"}},
		"a commit against a refusal": {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {refused, "t", "b"}, {committed, "t", "a"}},
		"nothing":                    {{agreeing, "t", "a"}, {agreeing, "t", "b"}, {agreed, "t", "b"}, {committed, "t", "c"}, {committed, "t", "a"}},
	} {
		m := newModel()
		for _, f := range history {
			m.add(f.what, f.id, f.who, both...)
		}
		require.Equal(t, name == "nothing", len(m.complaints()) == 0, name)
	}
}

// model checks histories: the promises and outcomes of all processes, in order.
type model struct {
	mu      sync.Mutex
	facts   []fact
	wrong   []string
	outcome map[string]twopc.Outcome
}

// fact is one action of a process in a transaction, or an outcome that it has learned.
type fact struct {
	what kind
	id   string
	who  string
}

type kind int

const (
	agreeing  kind = iota + 1 // it asks for its vote to commit
	agreed                    // its vote to commit was confirmed
	refused                   // its vote to abort was confirmed
	committed                 // it has learned that outcome
	aborted
)

func newModel() *model {
	return &model{outcome: map[string]twopc.Outcome{}}
}

// add adds a fact, and complains if it contradicts those before.
func (m *model) add(what kind, id, who string, sites ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := func(what kind, who string) bool { return slices.Contains(m.facts, fact{what, id, who}) }
	complain := func(format string, args ...any) { m.wrong = append(m.wrong, id+": "+fmt.Sprintf(format, args...)) }
	m.facts = append(m.facts, fact{what, id, who})
	switch what {
	case refused, aborted:
		m.learn(id, who, twopc.Aborted, complain)
	case committed:
		m.learn(id, who, twopc.Committed, complain)
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

func (m *model) learn(id, who string, o twopc.Outcome, complain func(string, ...any)) {
	if known := m.outcome[id]; known != twopc.Undecided && known != o {
		complain("it is %v for %s and was %v for another", o, who, known)
	}
	m.outcome[id] = o
}

func (m *model) of(id string) twopc.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outcome[id]
}

// decided counts the transactions by their outcome.
func (m *model) decided() map[twopc.Outcome]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := map[twopc.Outcome]int{}
	for _, o := range m.outcome {
		count[o]++
	}
	return count
}

func (m *model) complaints() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.wrong)
}

// serve is a site's application: it votes, acts on the decision, acknowledges. It ends with the
// site.
func (m *model) serve(all *sync.WaitGroup, name string, site *twopc.Site, sites []string, vote func(id string) bool) {
	all.Go(func() {
		for p := range site.Proposals() {
			all.Go(func() { m.take(name, p, sites, vote) })
		}
	})
}

func (m *model) take(name string, p *twopc.Proposal, sites []string, vote func(id string) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for p.Voted() == twopc.Undecided && p.Err() == nil && p.Outcome() == twopc.Undecided {
		var err error
		if vote(p.ID()) {
			m.add(agreeing, p.ID(), name)
			if err = p.VoteCommit(ctx); err == nil {
				m.add(agreed, p.ID(), name)
			}
		} else if err = p.VoteAbort(ctx, "no"); err == nil {
			m.add(refused, p.ID(), name)
		}
		if errors.Is(err, twopc.ErrVoted) || errors.Is(err, twopc.ErrDecided) {
			break
		}
	}
	select {
	case <-p.Decided():
	case <-p.Done():
		if p.Outcome() == twopc.Undecided {
			return // the process has ended, or the outcome can't be known: another process is asked
		}
	}
	m.add(learned[p.Outcome()], p.ID(), name, sites...)
	_ = p.Ack(ctx) // if it fails, it is offered again
}

var learned = map[twopc.Outcome]kind{twopc.Committed: committed, twopc.Aborted: aborted}

func always() bool { return true }

// follow is a coordinator's application, once a transaction has begun: it records the outcome, and
// acknowledges it if acks says so.
func (m *model) follow(all *sync.WaitGroup, who string, tx *twopc.Tx, sites []string, acks func() bool) {
	all.Go(func() {
		<-tx.Done()
		o := tx.Outcome()
		if o == twopc.Undecided {
			return
		}
		m.add(learned[o], tx.ID(), who, sites...)
		if acks() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			_ = tx.Ack(ctx) // if it fails, it is recovered again
		}
	})
}
