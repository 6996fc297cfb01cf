package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// worker simulates one process.
type worker struct {
	ground  *ground.Ground
	name    string
	ledger  *ledger
	network network
	died    bool
}

func newWorker(g *ground.Ground, number int, b *ledger) *worker {
	return &worker{ground: g, name: fmt.Sprintf("worker %d", number), ledger: b}
}

var (
	errDied = errors.New("died")
	errMood = errors.New("not in the mood")
)

// run takes jobs until ctx ends, or the worker dies.
func (w *worker) run(ctx context.Context) error {
	s, err := w.ground.Open(ctx, session.WithDialer(w.network.dial))
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer func() { w.leave(s) }()
	line, err := newLine(s)
	if err != nil {
		return err
	}
	jobs, err := line.Consume()
	if err != nil {
		return err
	}
	defer func() { w.leave(jobs) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-jobs.Errors():
			if err != nil { // nil: it is closed, as Items is
				w.ledger.note("%s skips: %v", w.name, err)
			}
		case job, open := <-jobs.Items():
			if !open {
				return jobs.Err()
			}
			if err := w.handle(ctx, job); errors.Is(err, errDied) {
				w.died = true
				w.network.cut() // its messages no longer reach ZooKeeper
				return nil
			} else if err != nil {
				return unlessOver(ctx, err)
			}
		}
	}
}

// leave closes what a worker has opened, unless it has died.
func (w *worker) leave(c interface {
	Close(ctx context.Context) error
},
) {
	if w.died {
		ground.Abandon(c)
		return
	}
	ground.Close(c)
}

// handle does a job and acknowledges it, or returns it.
func (w *worker) handle(ctx context.Context, job *queue.Item) error {
	err := w.do(job)
	switch {
	case errors.Is(err, errDied):
		w.ledger.note("%s dies of %q", w.name, job.Data())
		return err
	case err != nil:
		w.ledger.note("%s gives %q back after attempt %d: %v", w.name, job.Data(), job.Attempt(), err)
		err = job.Nack(ctx, pause(job)...)
		if string(job.Data()) == hopeless && job.Attempt() >= attempts && (err == nil || errors.Is(err, session.ErrLost)) {
			w.ledger.bury()
		}
	default:
		if err = job.Ack(ctx); err == nil {
			w.ledger.done(string(job.Data()))
		}
	}
	if errors.Is(err, session.ErrLost) {
		w.ledger.note("%s has lost %q: it is somebody else's", w.name, job.Data())
		return nil
	}
	return err
}

// pause says when a job wants to be tried again. Without it the queue's back-off does.
func pause(job *queue.Item) []queue.NackOption {
	if string(job.Data()) == moody {
		return []queue.NackOption{queue.After(mood)}
	}
	return nil
}

// do does the job.
func (w *worker) do(job *queue.Item) error {
	w.ledger.deliver()
	switch data := string(job.Data()); {
	case data == fatal && job.Attempt() == 1:
		return errDied
	case data == fatal:
		w.ledger.note("%s does %q, at attempt %d", w.name, data, job.Attempt())
	case data == hopeless, data == moody && job.Attempt() < attempts:
		return errMood
	}
	return nil
}

func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end is not a failure
	}
	return err
}

// network is a worker's connection to ZooKeeper. When it is cut, it is silent, like that of a
// process that has died.
type network struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

var errCut = errors.New("this process is dead")

func (w *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		_ = c.Close()
		return nil, errCut
	}
	w.conns = append(w.conns, c)
	return c, nil
}

func (w *network) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, c := range w.conns {
		_ = c.Close()
	}
}
