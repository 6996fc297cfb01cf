package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() {
	loads["config"] = configLoad
	loads["naming"] = namingLoad
}

const configPath = "/config/value"

// configLoad: all workers update one value, and read it.
func configLoad(ctx context.Context, e *env) {
	cell, err := config.New(e.sess, configPath, config.Text())
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", cell.Close)
	var wg sync.WaitGroup
	defer wg.Wait()
	observing, stop := context.WithCancel(ctx)
	defer stop()
	o := e.fork()
	wg.Go(func() { // owner: configLoad; ends with observing
		newest := int64(0)
		for s := range cell.Observe(observing) {
			newest = o.newer(newest, s.Mzxid)
		}
	})
	for n := 0; e.busy.Err() == nil; n++ {
		bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
		if e.rand.IntN(3) == 0 {
			e.readCell(bounded)
		} else {
			e.updateCell(bounded, cell, n)
		}
		cancel()
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

var errOlder = errors.New("what is observed is older than what was before it")

// newer checks that an observation does not go back.
func (e *env) newer(before, mzxid int64) int64 {
	if mzxid != 0 && mzxid < before {
		e.failed("observe", fmt.Errorf("%w: %d after %d", errOlder, mzxid, before))
	}
	return max(before, mzxid)
}

func (e *env) updateCell(ctx context.Context, cell *config.Cell[string], n int) {
	w := history.Event{Kind: history.Wrote, Work: e.work, Thing: "config", Party: e.Name, Weight: 1}
	tries := 0
	_, err := cell.Update(ctx, func(old string) (string, error) {
		w.From, w.At, w.Mode, w.Old = history.Now(), 0, history.Trying, old
		w.Value = fmt.Sprintf("%s.%d.%d", e.Name, n, tries)
		tries++
		e.Write(w)
		return w.Value, nil
	})
	w.Done, w.Mode = err == nil, ""
	switch {
	case err == nil:
		e.moved()
	case errors.Is(err, session.ErrUnknownOutcome), errors.Is(err, config.ErrRecreated):
	case ctx.Err() != nil, errors.Is(err, session.ErrClosed):
		w.Mode = history.Refused
	default:
		e.failed("update", err)
	}
	if tries > 0 {
		e.Write(w)
	}
}

func (e *env) readCell(ctx context.Context) {
	from := history.Now()
	if _, err := e.sess.Multi(ctx, session.CheckOp(configPath, -1)); err != nil {
		return // it reads another time
	}
	data, _, err := e.sess.Get(ctx, configPath)
	if err == nil {
		e.Write(history.Event{Kind: history.Read, Work: e.work, Thing: "config", Party: e.Name, From: from, Value: string(data)})
	}
}

// namingLoad: each worker binds a name of its own, and reads those of the others.
func namingLoad(ctx context.Context, e *env) {
	names, err := naming.New(e.sess, "/naming")
	if err != nil {
		e.failed("new", err)
		return
	}
	mine := fmt.Sprintf("dir/n%d", e.Index)
	var wg sync.WaitGroup
	defer wg.Wait()
	observing, stop := context.WithCancel(ctx)
	defer stop()
	o := e.fork()
	wg.Go(func() { // owner: namingLoad; ends with observing
		newest := int64(0)
		for b := range names.Observe(observing, "dir/n0") {
			if b.Bound {
				newest = o.newer(newest, b.Mzxid)
			}
		}
	})
	for n := 0; e.busy.Err() == nil; n++ {
		bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
		if e.rand.IntN(3) == 0 {
			e.bind(bounded, names, mine, fmt.Sprintf("%s.%d", e.Name, n))
		} else {
			e.lookup(bounded, names, fmt.Sprintf("dir/n%d", e.rand.IntN(e.Workers)))
		}
		cancel()
		pause(e.busy, e.span(200*time.Millisecond))
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*e.Timeout)
	defer cancel()
	if err := names.Unbind(bounded, mine); err != nil && !errors.Is(err, naming.ErrNotBound) {
		e.check(bounded, "unbind", err)
	}
}

func (e *env) bind(ctx context.Context, names *naming.Names, name, value string) {
	w := history.Event{Kind: history.Wrote, Work: e.work, Thing: name, Party: e.Name, From: history.Now(), Value: value, Mode: history.Trying}
	e.Write(w)
	err := names.Bind(ctx, name, []byte(value))
	w.Done, w.Mode = err == nil, ""
	if err == nil {
		e.moved()
	} else if ctx.Err() == nil {
		e.check(ctx, "bind", err)
	}
	e.Write(w)
}

func (e *env) lookup(ctx context.Context, names *naming.Names, name string) {
	from := history.Now()
	if _, err := e.sess.Multi(ctx, session.CheckOp("/", -1)); err != nil {
		return // it reads another time
	}
	b, err := names.Lookup(ctx, name)
	switch {
	case e.busy.Err() != nil: // names may vanish
	case err == nil:
		e.Write(history.Event{Kind: history.Read, Work: e.work, Thing: name, Party: e.Name, From: from, Value: string(b.Value)})
	case errors.Is(err, naming.ErrNotBound):
		e.Write(history.Event{Kind: history.Read, Work: e.work, Thing: name, Party: e.Name, From: from})
	default:
		e.check(ctx, "lookup", err)
	}
}
