package recipe

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

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

// String is the file and the line.
func (s Site) String() string {
	frame, _ := runtime.CallersFrames([]uintptr{uintptr(s)}).Next()
	if frame.File == "" {
		return "an unknown place"
	}
	return frame.File + ":" + strconv.Itoa(frame.Line)
}

// Asked is who wants a possession.
type Asked struct {
	At Site

	// Lasts: to have it for long is nothing to warn of, since it ends with a function, or is meant
	// to last.
	Lasts bool
}

// Alarm warns, once, of what stands for long and blocks others meanwhile: on offer and never
// received, or held and forgotten.
type Alarm struct {
	Log    *slog.Logger
	Kind   string // of recipe
	Path   string // of that, not of its znode
	After  time.Duration
	Asked  Asked
	Blocks string // what comes of it for others

	Offered  bool // to whoever receives
	Received func() bool
	Over     func() bool // it does not stand any more
}

// Set sets it; nil if there is nothing to warn of.
func (a Alarm) Set() *time.Timer {
	if a.After <= 0 || !a.Offered && a.Asked.Lasts {
		return nil
	}
	return time.AfterFunc(a.After, a.ring)
}

func (a Alarm) ring() {
	log := a.Log.With("kind", a.Kind, "path", a.Path, "asked", a.Asked.At.String(), "for", a.After)
	switch {
	case a.Over():
	case a.Offered && !a.Received():
		log.Warn("what was won waits to be received, and " + a.Blocks)
	case !a.Asked.Lasts:
		log.Warn("held for long, perhaps forgotten, and " + a.Blocks)
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
func (h *claimant[P]) keep(p *Possession) {
	holders.mu.Lock()
	holders.byLine[p.line] = append(holders.byLine[p.line], p)
	holders.mu.Unlock()
	p.warning.Store(Alarm{
		Log: h.cfg.Session.Logger(), Kind: h.cfg.Kind, Path: h.cfg.Path, After: h.cfg.WarnAfter, Asked: p.asked, Blocks: "nobody else gets it",
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

// heldError is why somebody waited in vain, if that is this process itself.
type heldError struct {
	error
	by string
}

func (e *heldError) Error() string { return e.error.Error() + ": " + e.by }

func (e *heldError) Unwrap() error { return e.error }

// withHolder adds to the end of a wait who in this process has what was waited for.
func withHolder(cause error, s *session.Session, path string) error {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	for _, p := range holders.byLine[s.Path(path)] {
		if p.Session().Beside(s) {
			had := "held"
			if p.offered && !p.received.Load() {
				had = "won, and not received,"
			}
			return &heldError{cause, fmt.Sprintf("%s in this process for %v, asked for at %v", had, time.Since(p.since).Round(time.Millisecond), p.asked.At)}
		}
	}
	return cause
}
