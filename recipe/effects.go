package recipe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// carryOut carries out an effect of the machine. Nothing here waits: answers come back as messages.
func (a *actor) carryOut(e machine.Effect) {
	if a.grants != nil && a.grants.carryOut(e) {
		return
	}
	switch e := e.(type) {
	case machine.List:
		a.host.client.List(e.Epoch, e.Path, e.Watch, a.onListed(e.Ask, e.Path))
	case machine.Read:
		if e.SameSession && a.follow(e) {
			break
		}
		a.host.client.Read(e.Epoch, e.Path, e.Watch, func(s seam.Seen) { a.answer(s.Err, seen(e, s)) })
	case machine.MultiRead:
		a.host.client.MultiRead(e.Epoch, queries(e), func(found []seam.Found, err error) { a.answer(err, multiSeen(e, found, err)) })
	case machine.Transact:
		a.host.client.Commit(e.Epoch, Operations(e.Ops), func(results []session.Result, err error) {
			a.answer(err, transacted(e, results, err))
		})
	case machine.Ensure:
		a.host.client.Ensure(e.Epoch, e.Path, e.Container, e.Data, func(err error) {
			a.answer(err, machine.Ensured{Epoch: e.Epoch, Ask: e.Ask, Code: code(err), Err: err})
		})
	case machine.Remove:
		a.host.client.Remove(e.Epoch, e.Path, func(err error) {
			a.answer(err, machine.Removed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path})
		})
	case machine.Unwatch:
		a.host.client.Unwatch(e.Epoch, e.Path)
	case machine.Wake:
		a.wake(e)
	case machine.Cancel:
		if t := a.timers[e.Ask]; t != nil {
			t.Stop()
			delete(a.timers, e.Ask)
		}
	case machine.Stop:
		a.host.mu.Lock()
		a.host.stopped = a.host.stopped || e.Err == nil
		a.host.mu.Unlock()
		a.fail(e.Err)
	case machine.Enter, machine.Record, machine.Release, machine.Downgrade, machine.Grant, machine.End, machine.Revoked, machine.Freed,
		machine.Settle, machine.Publish:
		panic(fmt.Sprintf("recipe: %T is for a machine that is run with NewClaims", e))
	default:
		if a.host.cfg.Perform == nil {
			panic(fmt.Sprintf("recipe: nobody performs %T", e))
		}
		a.host.cfg.Perform(e)
	}
}

// follow follows a contender of another instance on the same session, without a request; false if
// there is none at the path.
func (a *actor) follow(e machine.Read) bool {
	held, ok := a.host.client.Follow(e.Epoch, e.Path)
	if ok {
		a.answer(nil, machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, SameSession: true})
	}
	if held {
		a.answer(nil, machine.Fired{Epoch: e.Epoch, Path: e.Path, Change: machine.Held})
	}
	return ok
}

func (a *actor) onListed(ask uint64, path string) func(seam.Listed) {
	return func(l seam.Listed) {
		if path == a.host.cfg.Path {
			a.host.warnShared(l.Names)
		}
		a.answer(l.Err, listed(ask, path, l))
	}
}

// warnShared warns once of a queue at the path of this instance. Each ignores the znodes of the
// other, but the path is probably a mistake.
func (h *Host) warnShared(names []string) {
	for _, name := range [...]string{"items", "claims", "bell"} { // of every queue: see its package layout
		if !slices.Contains(names, name) {
			return
		}
	}
	h.shared.Do(func() {
		Logger(h.cfg.Session).Warn("a queue has the same path", "recipe", h.cfg.Kind, "path", h.cfg.Session.Path(h.cfg.Path))
	})
}

// answer sends an answer to the actor, for the incarnation that asked. The session's goroutines
// call it. If err is the end of the epoch there is no answer: EpochEnded is told instead.
func (a *actor) answer(err error, ev machine.Event) {
	if errors.Is(err, session.ErrExpired) || errors.Is(err, session.ErrClosed) {
		return
	}
	a.host.ref.Tell(answered{a.self.Incarnation(), ev})
}

// afterwards lets the actor do something that follows from an answer.
func (a *actor) afterwards(do func()) {
	a.host.ref.Tell(afterwards{a.self.Incarnation(), do})
}

// wake starts the timer of a Wake.
func (a *actor) wake(e machine.Wake) {
	const first, most = 20 * time.Millisecond, 5 * time.Second
	pause := time.Duration(e.After) * time.Millisecond
	if e.After == 0 {
		pause = min(first<<min(e.Try, 10), most) // shifted by 10 it is beyond most already
		pause = pause/2 + rand.N(pause/2)        // half of it is jitter
	}
	pause += seam.Turn.(func(*session.Session, time.Duration) time.Duration)(a.host.cfg.Session, 1000) // 0, unless a test replays a scenario
	if t := a.timers[e.Ask]; t != nil {
		t.Stop()
	}
	incarnation := a.self.Incarnation()
	a.timers[e.Ask] = time.AfterFunc(pause, func() { a.host.ref.Tell(answered{incarnation, machine.Woke{Ask: e.Ask}}) })
}

func seen(e machine.Read, s seam.Seen) machine.Seen {
	return machine.Seen{
		Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: s.Exists, Data: s.Data, Stat: stat(s.Stat), Code: code(s.Err), Err: s.Err,
	}
}

func listed(ask uint64, path string, l seam.Listed) machine.Listed {
	return machine.Listed{Epoch: l.Epoch, Ask: ask, Path: path, Names: l.Names, Contenders: l.Contenders, Stat: stat(l.Stat), Code: code(l.Err), Err: l.Err}
}

func queries(e machine.MultiRead) []seam.Query {
	all := make([]seam.Query, len(e.Queries))
	for i, q := range e.Queries {
		all[i] = seam.Query(q)
	}
	return all
}

// multiSeen has an answer to each query, also if all of them failed with err.
func multiSeen(e machine.MultiRead, found []seam.Found, err error) machine.MultiSeen {
	l := machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask}
	for i, q := range e.Queries {
		f := seam.Found{Err: err}
		if err == nil {
			f = found[i]
		}
		if q.Children {
			l.Answers = append(l.Answers, listed(e.Ask, q.Path, seam.Listed{Epoch: e.Epoch, Names: f.Names, Err: f.Err}))
			continue
		}
		s := seam.Seen{Exists: f.Err == nil, Data: f.Data, Stat: f.Stat, Err: f.Err}
		if errors.Is(f.Err, session.ErrNoNode) {
			s.Err = nil
		}
		l.Answers = append(l.Answers, seen(machine.Read{Epoch: e.Epoch, Ask: e.Ask, Path: q.Path}, s))
	}
	return l
}

// Transact carries out a transaction as [machine.Transact] does, and waits for it. If ctx descends
// from a possession that has ended, it is not sent: the error is session.ErrLost, and Failed is -1.
func Transact(ctx context.Context, s *session.Session, ops []session.Op) machine.Transacted {
	results, err := s.Multi(ctx, ops...)
	return transacted(machine.Transact{}, results, err)
}

// Operations are the operations of a transaction in the session's form.
func Operations(ops []machine.Op) []session.Op {
	asks := make([]session.Op, len(ops))
	for i, op := range ops {
		switch op.Do {
		case machine.Check:
			asks[i] = session.CheckOp(op.Path, op.Version)
		case machine.Set:
			asks[i] = session.SetOp(op.Path, op.Data, op.Version)
		case machine.Delete:
			asks[i] = session.DeleteOp(op.Path, op.Version)
		case machine.Create:
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

func transacted(e machine.Transact, results []session.Result, err error) machine.Transacted {
	t := machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: code(err), Failed: -1, Err: err}
	for i, r := range results {
		switch {
		case err == nil:
			t.Results = append(t.Results, machine.Result{Path: r.Path, Stat: stat(seam.Stat(r.Stat))})
		case r.Err != nil && !errors.Is(r.Err, session.ErrRolledBack) && t.Failed < 0:
			t.Failed = i
		}
	}
	return t
}

func stat(s seam.Stat) machine.Stat {
	if s == (seam.Stat{}) {
		return machine.Stat{} // not the milliseconds of the zero time.Time
	}
	return machine.Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: s.Ctime.UnixMilli(), Mtime: s.Mtime.UnixMilli(),
		Version: s.Version, Cversion: s.Cversion, Owner: s.EphemeralOwner, Children: s.NumChildren,
	}
}

func code(err error) machine.Code {
	switch {
	case err == nil:
		return machine.Done
	case errors.Is(err, session.ErrUnknownOutcome):
		return machine.Unknown
	case errors.Is(err, session.ErrNoNode):
		return machine.NoNode
	case errors.Is(err, session.ErrNodeExists):
		return machine.NodeExists
	case errors.Is(err, session.ErrBadVersion):
		return machine.BadVersion
	case errors.Is(err, session.ErrNotEmpty):
		return machine.NotEmpty
	default:
		return machine.Refused
	}
}
