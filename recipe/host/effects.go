package host

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// carryOut does what the machine asks for. Nothing here waits: answers come back as messages.
func (a *actor) carryOut(e recipe.Effect) {
	switch e := e.(type) {
	case recipe.List:
		a.client.List(e.Epoch, e.Path, e.Watch, func(l session.Listed) {
			a.answer(l.Err, recipe.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Names: l.Names, Stat: stat(l.Stat), Code: code(l.Err), Err: l.Err})
		})
	case recipe.Read:
		a.client.Read(e.Epoch, e.Path, e.Watch, func(s session.Seen) {
			a.answer(s.Err, recipe.Seen{
				Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: s.Exists, Data: s.Data, Stat: stat(s.Stat), Code: code(s.Err), Err: s.Err,
			})
		})
	case recipe.Transact:
		a.client.Commit(e.Epoch, operations(e.Ops), func(results []session.Result, err error) {
			a.answer(err, transacted(e, results, err))
		})
	case recipe.Ensure:
		a.client.Ensure(e.Epoch, e.Path, e.Container, e.Data, func(err error) {
			a.answer(err, recipe.Ensured{Epoch: e.Epoch, Ask: e.Ask, Code: code(err), Err: err})
		})
	case recipe.Remove:
		a.client.Remove(e.Epoch, e.Path, func(err error) {
			a.answer(err, recipe.Removed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path})
		})
	case recipe.Wake:
		a.wake(e)
	case recipe.Cancel:
		if t := a.timers[e.Ask]; t != nil {
			t.Stop()
			delete(a.timers, e.Ask)
		}
	case recipe.Stop:
		a.mu.Lock()
		a.decided = true
		a.mu.Unlock()
		a.fail(e.Err)
	default:
		a.cfg.Perform(e)
	}
}

// answer sends a result to the actor, for the incarnation that asked. It is called from the
// session's goroutines. The end of an epoch is no answer: EpochEnded says so.
func (a *actor) answer(err error, ev recipe.Event) {
	if errors.Is(err, session.ErrExpired) || errors.Is(err, session.ErrClosed) {
		return
	}
	a.ref.Tell(answered{a.self.Incarnation(), ev})
}

// wake asks for another turn after a pause.
func (a *actor) wake(e recipe.Wake) {
	const first, most = 20 * time.Millisecond, 5 * time.Second
	pause := time.Duration(e.After) * time.Millisecond
	if e.After == 0 {
		pause = min(first<<min(e.Try, 10), most)
		pause = pause/2 + rand.N(pause/2)
	}
	if t := a.timers[e.Ask]; t != nil {
		t.Stop()
	}
	incarnation := a.self.Incarnation()
	a.timers[e.Ask] = time.AfterFunc(pause, func() { a.ref.Tell(answered{incarnation, recipe.Woke{Ask: e.Ask}}) })
}

// operations are those of a transaction as the session has them.
func operations(ops []recipe.Op) []session.Op {
	asks := make([]session.Op, len(ops))
	for i, op := range ops {
		switch op.Do {
		case recipe.Check:
			asks[i] = session.CheckOp(op.Path, op.Version)
		case recipe.Set:
			asks[i] = session.SetOp(op.Path, op.Data, op.Version)
		case recipe.Delete:
			asks[i] = session.DeleteOp(op.Path, op.Version)
		case recipe.Create:
			var opts []session.CreateOption
			if op.Ephemeral {
				opts = append(opts, session.Ephemeral())
			}
			if op.Sequential {
				opts = append(opts, session.Sequential())
			}
			asks[i] = session.CreateOp(op.Path, op.Data, opts...)
		}
	}
	return asks
}

func transacted(e recipe.Transact, results []session.Result, err error) recipe.Transacted {
	t := recipe.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: code(err), Failed: -1, Err: err}
	for i, r := range results {
		switch {
		case err == nil:
			t.Results = append(t.Results, recipe.Result{Path: r.Path, Stat: stat(r.Stat)})
		case r.Err != nil && !errors.Is(r.Err, session.ErrRolledBack) && t.Failed < 0:
			t.Failed = i
		}
	}
	return t
}

func stat(s session.Stat) recipe.Stat {
	return recipe.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: s.Ctime.UnixMilli(), Mtime: s.Mtime.UnixMilli(),
		Version: s.Version, Cversion: s.Cversion, Owner: s.EphemeralOwner, Children: s.NumChildren,
	}
}

func code(err error) recipe.Code {
	switch {
	case err == nil:
		return recipe.Done
	case errors.Is(err, session.ErrUnknownOutcome):
		return recipe.Unknown
	case errors.Is(err, session.ErrNoNode):
		return recipe.NoNode
	case errors.Is(err, session.ErrNodeExists):
		return recipe.NodeExists
	case errors.Is(err, session.ErrBadVersion):
		return recipe.BadVersion
	case errors.Is(err, session.ErrNotEmpty):
		return recipe.NotEmpty
	default:
		return recipe.Refused
	}
}
