package recipe

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Site is where in the application something was asked for; 0: not known.
type Site uintptr

// Caller is the site of the call of the function that calls Caller. It costs one stack frame: the
// function's name and line are found when they are printed.
func Caller() Site {
	var pc [1]uintptr
	runtime.Callers(3, pc[:]) // behind Callers, Caller and the function that calls it
	return Site(pc[0])
}

// frame finds the function, the file and the line.
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

// ByModule tells whether package fxmodule calls, on behalf of a function of the application: the
// possession ends when that function returns.
func (s Site) ByModule() bool { return strings.Contains(s.frame().Function, "/troupe/fxmodule.") }

type siteKey struct{}

// AskedAt is a context in which package fxmodule asks on behalf of a function of the application:
// at is where the application names that function.
func AskedAt(ctx context.Context, at Site) context.Context {
	return context.WithValue(ctx, siteKey{}, at)
}

// For is the site in the application: that of [AskedAt] if package fxmodule calls, else this one.
func (s Site) For(ctx context.Context) Site {
	if at, given := ctx.Value(siteKey{}).(Site); given && s.ByModule() {
		return at
	}
	return s
}

// Asked says which call asked for a possession.
type Asked struct {
	At Site

	// Lasts suppresses the warning of a long possession: it ends with a function, or is meant to
	// last.
	Lasts bool
}

// Alarm warns of a possession that blocks others for long: it was offered and never received, or it
// is held and perhaps forgotten.
type Alarm struct {
	// What the warning says.
	Log              *slog.Logger
	Kind             string // of recipe
	Path             string // of the recipe, not of the possession's znode; absolute
	Asked            Asked
	Unreceived, Held string // the messages: it was offered and not received; it is held

	// When there is one.
	After    time.Duration                      // the age of the possession at the first warning; 0: there is none
	Waiting  func(context.Context) (int, error) // how many others wait; without any there is no warning. nil: others always wait
	Offered  bool                               // on a channel of the application
	Received func() bool                        // from that channel
	over     func() bool                        // whether the possession has ended
}

// again is the age at which the alarm checks the possession again: ten seconds, a minute, and then
// every ten minutes.
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

// Warn sets the alarm of the possession, until it ends. Call it when [Host.HoldAs] has returned.
func (t *Tenure) Warn(a Alarm) {
	a.over = func() bool { return t.hold.Err() != nil }
	t.alarm.Store(a.set())
	if a.over() { // before there was an alarm to stop
		t.quiet()
	}
}

// quiet stops the alarm.
func (t *Tenure) quiet() {
	if timer := t.alarm.Load(); timer != nil {
		timer.Stop()
	}
}

// set starts the alarm, and returns its timer; nil if there will be nothing to warn of.
func (a Alarm) set() *time.Timer {
	if a.After <= 0 || !a.Offered && a.Asked.Lasts {
		return nil
	}
	var t *time.Timer
	at := a.After
	ready := make(chan struct{})
	t = time.AfterFunc(at, func() { // ends with the possession; a warning is bounded by patience
		<-ready // t is set
		a.ring(at)
		if a.over() {
			return
		}
		next := a.again(at)
		pause := next - at
		at = next
		t.Reset(pause)
	})
	close(ready)
	return t
}

// patience bounds the read of how many others wait.
const patience = 10 * time.Second

// ring warns, unless the possession has ended, or blocks no others, or is meant to last.
func (a Alarm) ring(at time.Duration) {
	message := a.Held
	switch {
	case a.over():
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
	ctx, cancel := context.WithTimeout(context.Background(), patience) // no caller waits for this
	defer cancel()
	if n, err := a.Waiting(ctx); n > 0 && err == nil && !a.over() {
		log.Warn(message, "waiting", n)
	}
}
