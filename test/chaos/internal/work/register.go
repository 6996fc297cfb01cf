package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() { loads["register"] = registerLoad }

const registerPath = "/register/value"

// registerLoad: the holder of a lock writes a register by Commit, and all workers read it.
func registerLoad(ctx context.Context, e *env) {
	l, err := lock.New(e.sess, "/register/line")
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", l.Close)
	for e.busy.Err() == nil {
		if err := e.sess.EnsurePath(e.busy, registerPath); err == nil {
			break
		}
	}
	for n := 0; e.busy.Err() == nil; n++ {
		if e.rand.IntN(3) == 0 {
			e.readRegister(ctx)
			continue
		}
		wait, cancel := context.WithTimeout(e.busy, time.Minute)
		g, err := l.Lock(wait)
		cancel()
		if err != nil {
			if e.busy.Err() == nil && !ended(wait, err) {
				e.failed("lock", err)
			}
			continue
		}
		for i := range 1 + e.rand.IntN(3) {
			e.writeRegister(ctx, g, fmt.Sprintf("%s.%d.%d", e.Name, n, i))
		}
		if e.rand.IntN(8) == 0 { // long enough for a SIGSTOP within it
			pause(e.busy, e.span(e.Timeout))
			e.writeRegister(ctx, g, fmt.Sprintf("%s.%d.late", e.Name, n))
		}
		e.release(ctx, "release", g.Release)
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

// writeRegister writes a unique value. Mode "refused" says that ZooKeeper, or Troupe, has refused
// it.
func (e *env) writeRegister(ctx context.Context, g *lock.Grant, value string) {
	bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
	defer cancel()
	w := history.Event{Kind: history.Wrote, Work: e.work, Thing: "register", Party: e.Name, From: history.Now(), Token: g.Token(), Value: value, Mode: history.Trying}
	e.Write(w)
	_, err := g.Commit(bounded, session.SetOp(registerPath, []byte(value), -1))
	w.Done, w.Mode = err == nil, ""
	switch {
	case err == nil:
		e.moved()
	case errors.Is(err, session.ErrUnknownOutcome):
	case errors.Is(err, session.ErrLost), bounded.Err() != nil, errors.Is(err, session.ErrClosed):
		w.Mode = history.Refused
	default:
		e.failed("commit", err)
	}
	e.Write(w)
}

// readRegister reads behind a transaction, which a majority of the servers has to agree to: a sync
// alone is answered by a leader that has been deposed and does not know it.
func (e *env) readRegister(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
	defer cancel()
	from := history.Now()
	if _, err := e.sess.Multi(bounded, session.CheckOp(registerPath, -1)); err != nil {
		return // it reads another time
	}
	data, stat, err := e.sess.Get(bounded, registerPath)
	if err != nil {
		return
	}
	e.Write(history.Event{Kind: history.Read, Work: e.work, Thing: "register", Party: e.Name, From: from, Value: string(data), Token: int64(stat.Version)})
	pause(e.busy, e.span(100*time.Millisecond))
}
