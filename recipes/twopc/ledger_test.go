// The model of two-phase commit that histories are checked against, and the applications that keep
// it.

package twopc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/twopc"
)

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
