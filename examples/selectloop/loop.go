package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

const (
	lockPath     = "/locks/press"
	electionPath = "/leaders/press"
	queuePath    = "/queues/press"
)

// The kinds of facts.
const (
	grants = "grants"
	terms  = "terms"
	jobs   = "jobs"
	ticks  = "ticks"
	states = "states"
)

// loop is one goroutine that waits for everything.
type loop struct {
	session *session.Session
	out     io.Writer
	seen    map[string]int
	want    map[string]int
	mishap  func() // called once when everything is held; nil for none
	enough  error

	grant *lock.Grant
	term  *election.Term
}

func (l *loop) run(ctx context.Context) error {
	press, err := lock.New(l.session, lockPath)
	if err != nil {
		return err
	}
	defer ground.Close(press)
	leader, err := election.New(l.session, electionPath)
	if err != nil {
		return err
	}
	defer ground.Close(leader)
	line, err := queue.New(l.session, queuePath)
	if err != nil {
		return err
	}
	consumer, err := line.Consume()
	if err != nil {
		return err
	}
	defer ground.Close(consumer)
	news := l.session.Observe(ctx)
	every := time.NewTicker(200 * time.Millisecond)
	defer every.Stop()

	press.Acquire()   // intents: stated once
	leader.Campaign() // …
	for {
		select { // facts: as they come
		case l.grant = <-press.Acquired():
			l.note(grants, "holds the lock, with token %d", l.grant.Token())
		case l.term = <-leader.Leader():
			l.note(terms, "leads, with token %d", l.term.Token())
		case job, open := <-consumer.Items():
			if !open {
				return consumer.Err()
			}
			l.note(jobs, "does job %q", job.Data())
			if err := job.Ack(ctx); err != nil {
				l.note("", "job %q is somebody else's: %v", job.Data(), err)
			}
		case status := <-news:
			l.note(states, "session is %s, epoch %d", status.State, status.Epoch)
		case <-every.C:
			l.note(ticks, "")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.stirUp()
		if l.done() {
			return l.enough
		}
	}
}

// stirUp ends the session once everything is held.
func (l *loop) stirUp() {
	if l.mishap == nil || l.grant == nil || l.term == nil {
		return
	}
	fmt.Fprintln(l.out, "* the session is ended")
	l.mishap()
	l.mishap = nil
	<-l.grant.Done()
	<-l.term.Done()
	fmt.Fprintf(l.out, "* the grant is over (%v), and so is the term\n", l.grant.Err())
}

func (l *loop) note(kind, format string, args ...any) {
	l.seen[kind]++
	if format != "" {
		fmt.Fprintf(l.out, format+"\n", args...)
	}
}

// done reports whether every kind has been seen often enough.
func (l *loop) done() bool {
	for kind, often := range l.want {
		if l.seen[kind] < often {
			return false
		}
	}
	return true
}
