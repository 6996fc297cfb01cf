package recipe

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session"
)

// Site is where in the application something was asked for; 0: not known.
type Site uintptr

// Caller is the call of the function that calls Caller. It costs one frame; what that is called is
// looked up when it is printed.
func Caller() Site {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return Site(pc[0])
}

// frame is what that is called.
func (s Site) frame() runtime.Frame {
	frame, _ := runtime.CallersFrames([]uintptr{uintptr(s)}).Next()
	return frame
}

// String is the file and the line.
func (s Site) String() string {
	if frame := s.frame(); frame.File != "" {
		return frame.File + ":" + strconv.Itoa(frame.Line)
	}
	return "an unknown place"
}

// ByModule tells whether it is package fxmodule's call, on behalf of a function of the
// application's: what is asked for ends with a call of that.
func (s Site) ByModule() bool { return strings.Contains(s.frame().Function, "/troupe/fxmodule.") }

type siteKey struct{}

// AskedAt is a context in which package fxmodule asks on behalf of the application, which has named
// the function at that place.
func AskedAt(ctx context.Context, at Site) context.Context {
	return context.WithValue(ctx, siteKey{}, at)
}

// For is the place in the application: that of [AskedAt], if it is package fxmodule's call.
func (s Site) For(ctx context.Context) Site {
	if at, given := ctx.Value(siteKey{}).(Site); given && s.ByModule() {
		return at
	}
	return s
}

// Asked is who wants a possession.
type Asked struct {
	At Site

	// Lasts: to have it for long is nothing to warn of, since it ends with a function, or is meant
	// to last.
	Lasts bool
}

// Alarm warns of what stands for long and blocks others meanwhile: on offer and never received, or
// held and perhaps forgotten.
type Alarm struct {
	Log   *slog.Logger
	Kind  string // of recipe
	Path  string // of that, not of its znode; absolute
	After time.Duration
	Asked Asked

	Unreceived, Held string                             // the messages
	Waiting          func(context.Context) (int, error) // how many others wait: if none does, there is nothing to warn of. nil: others always do

	Offered  bool // to whoever receives
	Received func() bool
	Over     func() bool // it does not stand any more
}

// again is when it is looked at once more: after ten seconds, a minute, and then every ten minutes.
func (a Alarm) again(at time.Duration) time.Duration {
	const first, second, then = 10 * time.Second, time.Minute, 10 * time.Minute
	switch {
	case at < first:
		return first
	case at < second:
		return second
	}
	return at.Truncate(then) + then
}

// Set sets it; nil if there is nothing to warn of.
func (a Alarm) Set() *time.Timer {
	if a.After <= 0 || !a.Offered && a.Asked.Lasts {
		return nil
	}
	type look struct {
		t  *time.Timer
		at time.Duration
	}
	next := make(chan look, 1)
	t := time.AfterFunc(a.After, func() { // ends when it is over; bounded by patience
		l := <-next
		a.ring(l.at)
		if a.Over() {
			return
		}
		at := a.again(l.at)
		next <- look{l.t, at}
		l.t.Reset(at - l.at)
	})
	next <- look{t, a.After}
	return t
}

// patience bounds a look at who waits.
const patience = 10 * time.Second

func (a Alarm) ring(at time.Duration) {
	message := a.Held
	switch {
	case a.Over():
		return
	case a.Offered && !a.Received():
		message = a.Unreceived
	case a.Asked.Lasts:
		return
	}
	log := a.Log.With("recipe", a.Kind, "path", a.Path, "asked", a.Asked.At.String(), "for", at)
	if a.Waiting == nil {
		log.Warn(message)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // nobody waits for this
	defer cancel()
	if n, err := a.Waiting(ctx); n > 0 && err == nil && !a.Over() {
		log.Warn(message, "waiting", n)
	}
}

// holders are the possessions that stand in this process, by the absolute path of their line. It
// tells those who wait in vain that they wait for themselves.
var holders = struct {
	mu     sync.Mutex
	byLine map[string][]*Possession
}{byLine: make(map[string][]*Possession)}

// keep notes a possession until it ends, and warns when it blocks others for long: on offer and
// never received, or held and forgotten.
func (g *grants) keep(p *Possession) {
	holders.mu.Lock()
	holders.byLine[p.line] = append(holders.byLine[p.line], p)
	holders.mu.Unlock()
	p.warning.Store(Alarm{
		Log: Logger(g.claims.cfg.Session), Kind: g.claims.cfg.Kind, Path: g.claims.cfg.Session.Path(g.claims.cfg.Path), After: g.claims.cfg.WarnAfter, Asked: p.asked, Waiting: g.claims.cfg.Waiting,
		Unreceived: "what was won is not received, and others wait for it", Held: "something is held for long, and others wait for it",
		Offered: p.offered, Received: p.received.Load, Over: func() bool { return p.Err() != nil },
	}.Set())
	if p.Err() != nil { // it ended meanwhile
		p.drop()
	}
}

// drop is called when the possession has ended.
func (p *Possession) drop() {
	if t := p.warning.Load(); t != nil {
		t.Stop()
	}
	holders.mu.Lock()
	defer holders.mu.Unlock()
	left := slices.DeleteFunc(holders.byLine[p.line], func(q *Possession) bool { return q == p })
	if holders.byLine[p.line] = left; len(left) == 0 {
		delete(holders.byLine, p.line)
	}
}

// heldError is why somebody waited in vain.
type heldError struct {
	error
	by string
}

func (e *heldError) Error() string { return e.error.Error() + ": " + e.by }

func (e *heldError) Unwrap() error { return e.error }

// withHolder adds to the end of a wait who in this process has what was waited for, or else whoever
// had it when that was looked up.
func withHolder(cause error, s *session.Session, path string, other Holder) error {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	for _, p := range holders.byLine[s.Path(path)] {
		if seam.Beside.(func(a, b *session.Session) bool)(p.Session(), s) {
			had := "held"
			if p.offered && !p.received.Load() {
				had = "won, and not received,"
			}
			return &heldError{cause, fmt.Sprintf("%s in this process for %v, asked for at %v", had, time.Since(p.since).Round(time.Millisecond), p.asked.At)}
		}
	}
	if by := other.String(); by != "" {
		return &heldError{cause, by}
	}
	return cause
}
