package recipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	Kind    string // of recipe, shown in the live tree and in errors
	Path    string
	Recipe  string        // as events and snapshots name it: that of its package; "": Kind
	Name    string        // of the process or member, as events and snapshots have it
	State   string        // the first one, if the face tells the next by [Host.SetState]; "": it is idle, and then the machine's Phase
	ACL     []session.ACL // of the znodes that are made for it, parents included; nil: the session's

	// UntilExpiry lets the holds outlive trust: see barrier.WithUntilExpiry.
	UntilExpiry bool

	// Machine makes a fresh one for each incarnation of the actor.
	Machine func() machine.Machine

	// Standing are the intents that a machine is told after a restart; nil for none. The face
	// records an intent before it tells the host, so that none is lost with a crash. A machine may
	// be told an intent twice: it knows them by number.
	Standing func() []machine.Event

	// Perform carries out the recipe's own effects, in the order of the step. It is called by the
	// actor, one at a time, and must not block.
	Perform func(e machine.Effect)

	// Ended, if not nil, is called once when the instance has ended, before Done closes.
	Ended func(err error)
}

// Host is one instance of a recipe. The recipe's face is built on it.
type Host struct {
	cfg    Config
	kind   string // as events have it
	at     string // its absolute path
	core   *core  // of Claims; nil: the machine does not grant
	end    notify.End
	ref    actors.Ref[message]
	client client
	shared sync.Once // see warnShared

	mu      sync.Mutex // guards all that follows, which outlives an incarnation
	view    view
	heard   uint64                    // how many notices of the session the view is made of
	holds   map[*Tenure]*session.Hold // that have not ended
	waits   []*Wait                   // that are not over
	cause   error                     // why the instance ends, if not by Close
	closing bool                      // Close was called
	stopped bool                      // by the machine, without an error
	state   string                    // see SetState
	since   time.Time                 // when it came about
}

// view is the state of the session by its last notice.
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
	return &Host{cfg: cfg, kind: cmp.Or(cfg.Recipe, cfg.Kind), state: cmp.Or(cfg.State, "idle"), holds: make(map[*Tenure]*session.Hold)}
}

func (h *Host) start() error {
	switch {
	case h.cfg.Session == nil:
		return errors.New("recipe.New: Session: nil")
	case h.cfg.Machine == nil:
		return errors.New("recipe.New: Machine: nil")
	}
	h.at, h.since = h.cfg.Session.Path(h.cfg.Path), time.Now()
	h.mu.Lock() // the actor needs the client, and waits for the mutex first
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
	// A notice is in the view before the actor gets it. So if the actor panics over it, the next
	// incarnation knows of it.
	made, err := seam.NewClient(h.cfg.Session, name, func(n seam.Event) { h.ref.Tell(h.saw(n)) }, h.cfg.ACL)
	if err != nil {
		ref.Stop()
		return err
	}
	h.client = made.(client)
	h.client.Describe(h.describe)
	if h.cfg.UntilExpiry {
		h.client.UntilExpiry()
	}
	return nil
}

// saw records a notice of the session in the view.
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

// now is the view.
func (h *Host) now() view {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.view
}

// Tell tells the machine an intent, which the face has recorded before. The session begins to
// connect, if it has not. False: the instance has ended.
func (h *Host) Tell(ev machine.Event) bool {
	Start(h.cfg.Session)
	return h.ref.Tell(intended{ev})
}

// Hold makes a possession of what the machine has won; it ends when the znode at path does. token
// is its fencing token. Perform calls it. ended is called once, when the hold has ended, with its
// Err, from any goroutine; it must not block. Errors: session.ErrUntrusted (wait for TrustGained),
// session.ErrSuspended (wait for Resumed), session.ErrExpired, session.ErrClosed.
func (h *Host) Hold(epoch uint64, path string, token int64, ended func(cause error)) (*session.Hold, error) {
	t := &Tenure{host: h, of: session.Event{Epoch: epoch, Token: token}}
	t.told.Do(func() {}) // nothing is
	return h.HoldAs(t, path, ended)
}

// HoldAs is [Host.Hold] for a possession that events tell of, and that snapshots show.
func (h *Host) HoldAs(t *Tenure, path string, ended func(cause error)) (*session.Hold, error) {
	hold, err := h.client.Hold(t.of.Epoch, path, t.of.Token, func(cause error) {
		h.mu.Lock()
		delete(h.holds, t)
		h.mu.Unlock()
		t.quiet()
		ended(cause)
	})
	if err != nil {
		return nil, err
	}
	t.hold = hold
	t.begin()
	h.mu.Lock()
	defer h.mu.Unlock()
	if hold.Err() == nil { // else its end may have been told
		h.holds[t] = hold
	}
	return hold, nil
}

// StandBy announces that [Host.Hold] may be called at any moment, so that the session stays
// trusted, which costs a sync every sixth of its timeout. Without it a Hold may be refused with
// session.ErrUntrusted, and TrustGained follows within a round trip. It is for one epoch.
func (h *Host) StandBy(epoch uint64, on bool) { h.client.StandBy(epoch, on) }

// End ends a possession: with session.ErrReleased, or the cause of its loss. False: it had ended
// before.
func (h *Host) End(hold *session.Hold, cause error) bool { return h.client.End(hold, cause) }

// Done closes when the instance has ended; Err then says why.
func (h *Host) Done() <-chan struct{} { return h.end.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause, in a session.OpError.
func (h *Host) Err() error { return h.end.Err() }

// Close lets the machine wind up, and returns when it has. If ctx ends first, the instance ends all
// the same, the session deletes what is left in the background, and ctx's cause is returned. If the
// instance ends otherwise meanwhile, for example with the session, its Err is returned. Close is
// idempotent; for an instance that has ended before it returns nil.
func (h *Host) Close(ctx context.Context) error {
	select {
	case <-h.Done():
		<-h.ref.Done()
		return nil
	default:
		return h.finish(ctx)
	}
}

// finish is Close for an instance that had not ended when Close was called.
func (h *Host) finish(ctx context.Context) error {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.ref.Tell(closing{})
	if err := notify.Wait(ctx, h.ref.Done()); err != nil {
		h.ref.Stop()
		select {
		case <-h.ref.Done():
		case <-time.After(time.Second): // a function of the application does not return
		}
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped { // the machine has wound up
		return nil
	}
	return h.Err()
}

// endHolds ends every possession.
func (h *Host) endHolds(cause error) {
	h.mu.Lock()
	holds := maps.Clone(h.holds)
	h.mu.Unlock()
	for _, hold := range holds {
		h.client.End(hold, cause)
	}
	if h.core != nil {
		h.core.endHolds(cause)
	}
}

// closed is the error of an instance that ended by its Close or with its session. If the session
// has failed, its error is included, even if the instance ended first.
func closed(s *session.Session) error {
	if err := s.Err(); err != nil && !errors.Is(err, session.ErrClosed) {
		return fmt.Errorf("%w: %w", session.ErrClosed, err)
	}
	return session.ErrClosed
}

// ended handles the end of the actor: by Close, with the session, by the machine's Stop, or because
// it was given up.
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
		return // New failed, and nothing uses the instance
	}
	err = h.failed(err)
	h.endHolds(ofHolds)
	client.Leave()
	if errors.Is(err, session.ErrClosed) {
		h.SetState(stopped)
	} else {
		h.SetState(failed)
	}
	defer func() { // also if the recipe's own function panics
		h.end.Set(err)
		if h.core != nil {
			h.core.ended(err)
		}
	}()
	if h.cfg.Ended != nil {
		h.cfg.Ended(err)
	}
}

// failed adds the instance's kind and path to an error.
func (h *Host) failed(err error) error {
	return Failed(h.cfg.Session, h.cfg.Kind, h.cfg.Path, err)
}
