package recipe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Config describes an instance of a recipe.
type Config struct {
	Session *session.Session
	Kind    string // of recipe: shown in the live tree and in errors
	Path    string
	ACL     []session.ACL // of the znodes that are made for it, parents included; nil: the session's

	// UntilExpiry has the holds outlive trust: see barrier.UntilExpiry.
	UntilExpiry bool

	// Machine makes a fresh one for each incarnation of the actor.
	Machine func() machine.Machine

	// Standing are the wishes that stand, for a machine that was made anew; nil for none. The face
	// has a record of them, which it writes before it tells the host, so that no wish is lost with
	// a crash. A wish may be told twice: machines know them by number.
	Standing func() []machine.Event

	// Perform carries out the recipe's own effects, in the order of the step. It is called by the
	// actor, one at a time, and must not block.
	Perform func(e machine.Effect)

	// Ended, if not nil, is called once when the instance is over, before Done closes.
	Ended func(err error)
}

// Host is one instance of a recipe: what a face is built on.
type Host struct {
	cfg    Config
	claims *claims // nil: the machine does not grant
	end    notify.End
	ref    actors.Ref[message]
	client client
	shared sync.Once // see notice

	mu      sync.Mutex // guards what outlives an incarnation
	view    view
	heard   uint64 // how many notices that is of
	holds   map[*session.Hold]struct{}
	cause   error // why it ends, if not by Close
	closing bool
	decided bool // that it ends: by the machine
}

// view is what the session last said.
type view struct {
	epoch     uint64 // 0: none
	session   int64
	trusted   bool
	suspended bool
}

// New starts an instance. It does no I/O. Errors: no Session, no Machine; session.ErrClosed.
func New(cfg Config) (*Host, error) {
	h := newHost(cfg)
	if err := h.start(); err != nil {
		return nil, err
	}
	return h, nil
}

func newHost(cfg Config) *Host {
	return &Host{cfg: cfg, holds: make(map[*session.Hold]struct{})}
}

func (h *Host) start() error {
	switch {
	case h.cfg.Session == nil:
		return errors.New("recipe: Session: nil")
	case h.cfg.Machine == nil:
		return errors.New("recipe: Machine: nil")
	}
	h.mu.Lock() // until the client is known, so that the actor cannot look for it before
	defer h.mu.Unlock()
	name := h.cfg.Kind + ":" + h.cfg.Path
	ref, err := actors.Spawn(Scope(h.cfg.Session), actors.Spec[message]{
		Name: name, Kind: h.cfg.Kind,
		New:   func(self actors.Self[message]) actors.Receiver[message] { return newActor(h, self) },
		Ended: h.ended,
	})
	if err != nil {
		return errors.Join(session.ErrClosed, err)
	}
	h.ref = ref
	// What the session says is in the view before the next incarnation looks there, should this one
	// panic over the message.
	made, err := seam.NewClient(h.cfg.Session, name, func(n seam.Event) { h.ref.Tell(h.saw(n)) }, h.cfg.ACL)
	if err != nil {
		ref.Stop()
		return err
	}
	h.client = made.(client)
	if h.cfg.UntilExpiry {
		h.client.UntilExpiry()
	}
	return nil
}

// saw keeps the session's state.
func (h *Host) saw(n seam.Event) noticed {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := &h.view
	switch n := n.(type) {
	case machine.EpochBegan:
		*v = view{epoch: n.Epoch, session: n.SessionID, trusted: n.Trusted}
	case seam.EpochEnded:
		if n.Gone {
			*v = view{}
		}
	case machine.Suspended:
		v.suspended = true
	case machine.Resumed:
		v.suspended = false
	case machine.TrustEnded:
		v.trusted = false
	case machine.TrustGained:
		v.trusted = true
	}
	h.heard++
	return noticed{h.heard, n}
}

// now is what the session last said.
func (h *Host) now() view {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.view
}

// Tell tells the machine a wish, after it was entered in the face's record. The session begins to
// connect, if it has not. False: the instance is over.
func (h *Host) Tell(ev machine.Event) bool {
	h.cfg.Session.Start()
	return h.ref.Tell(wished{ev})
}

// Hold makes a possession, guarded by the znode at path, of what the machine has won; token is its
// fencing token. For Perform. over is called once, when the hold has ended, with its Err, from any
// goroutine; it must not block. Errors: session.ErrUntrusted (wait for TrustGained),
// session.ErrSuspended (for Resumed), session.ErrExpired, session.ErrClosed.
func (h *Host) Hold(epoch uint64, path string, token int64, over func(cause error)) (*session.Hold, error) {
	var made *session.Hold // nil until it is entered
	ended := false
	hold, err := h.client.Hold(epoch, path, token, func(cause error) {
		h.mu.Lock()
		ended = true
		delete(h.holds, made)
		h.mu.Unlock()
		over(cause)
	})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !ended {
		made = hold
		h.holds[hold] = struct{}{}
	}
	return hold, nil
}

// StandBy tells that [Host.Hold] may be called at any moment, so that the session keeps its trust,
// which costs a sync every sixth of its timeout. Without it a Hold may be refused with
// session.ErrUntrusted, and TrustGained follows within a round trip. It is for one epoch.
func (h *Host) StandBy(epoch uint64, on bool) { h.client.StandBy(epoch, on) }

// End ends a possession: with session.ErrReleased, or the cause of its loss. False: it was over
// already.
func (h *Host) End(hold *session.Hold, cause error) bool { return h.client.End(hold, cause) }

// Done closes when the instance is over; Err then says why.
func (h *Host) Done() <-chan struct{} { return h.end.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause, in a session.OpError.
func (h *Host) Err() error { return h.end.Err() }

// Close has the machine wind up and returns when it has. If ctx ends first, the instance is ended
// all the same, the session deletes what is left in the background, and ctx's cause is returned. If
// it ends otherwise meanwhile, with the session say, its Err is. It is idempotent; of an instance
// that is over already there is nothing to report.
func (h *Host) Close(ctx context.Context) error {
	select {
	case <-h.Done():
		<-h.ref.Done()
		return nil
	default:
		return h.finish(ctx)
	}
}

// finish is Close for an instance that was not over when Close was called.
func (h *Host) finish(ctx context.Context) error {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.ref.Tell(closing{})
	if err := notify.Wait(ctx, h.ref.Done()); err != nil {
		h.ref.Stop()
		select {
		case <-h.ref.Done():
		case <-time.After(time.Second): // a function of the application's does not return
		}
		return err
	}
	return h.unlessDecided()
}

// unlessDecided is how the instance ended, unless the machine had it end without an error: then all
// is done.
func (h *Host) unlessDecided() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decided {
		return nil
	}
	return h.Err()
}

// endHolds ends every possession.
func (h *Host) endHolds(cause error) {
	h.mu.Lock()
	holds := make([]*session.Hold, 0, len(h.holds))
	for hold := range h.holds {
		holds = append(holds, hold)
	}
	h.mu.Unlock()
	for _, hold := range holds {
		h.client.End(hold, cause)
	}
	if h.claims != nil {
		h.claims.endHolds(cause)
	}
}

// closed is what an instance ends with that is closed, or its session; if that has failed, it says
// so too, whichever of the two ended first.
func closed(s *session.Session) error {
	if err := s.Err(); err != nil && !errors.Is(err, session.ErrClosed) {
		return fmt.Errorf("%w: %w", session.ErrClosed, err)
	}
	return session.ErrClosed
}

// ended is the end of the instance: by Close, with the session, at the machine's wish, or because
// the actor was given up.
func (h *Host) ended(cause error) {
	h.mu.Lock()
	err, client := h.cause, h.client
	h.mu.Unlock()
	ofHolds := session.ErrClosed
	switch {
	case errors.Is(cause, actors.ErrGivenUp):
		err, ofHolds = cause, session.ErrRestarted
	case err == nil:
		err = closed(h.cfg.Session)
	}
	if client == nil {
		return // New failed: nobody has seen the instance
	}
	err = h.failed(err)
	h.endHolds(ofHolds)
	client.Leave()
	defer func() { // also if the recipe's own function panics
		h.end.Set(err)
		if h.claims != nil {
			h.claims.ended(err)
		}
	}()
	if h.cfg.Ended != nil {
		h.cfg.Ended(err)
	}
}

// failed wraps the end of the instance with what it was.
func (h *Host) failed(err error) error {
	return Failed(h.cfg.Session, h.cfg.Kind, h.cfg.Path, err)
}
