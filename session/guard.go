package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// guard is deferred by what runs on the session's behalf and is no actor: a panic in it goes no
// further. Nobody knows what it left undone, so what rests on it ends, as with a panic of the
// session's own actor: the epoch, and every hold in it, with [ErrRestarted].
func (s *Session) guard() {
	if reason := recover(); reason != nil {
		s.crash(reason)
	}
}

// crash is called by whoever has recovered a panic.
func (s *Session) crash(reason any) {
	s.log.Error("session panicked", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
	s.ref.Tell(crashed{reason})
}

// unlock lets go of the session's mutex, and finishes the holds that are over since it was taken.
// Whatever ends holds, or may, defers it: a panic must neither keep the mutex, without which
// nothing ends what rests on the session, nor the end of a possession from whoever uses it.
func (s *Session) unlock() {
	ended := s.dropped
	s.dropped = nil
	s.mu.Unlock()
	finish(ended)
}

// guarded calls what others have passed in.
func (s *Session) guarded(f func()) {
	defer s.guard()
	f()
}

// carefully is a log handler of the application's whose panics end nothing. What they kept from
// being logged is lost.
type carefully struct{ slog.Handler }

var errLogPanic = errors.New("the log handler panicked")

// Enabled implements [slog.Handler].
func (h carefully) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h carefully) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if recover() != nil {
			err = errLogPanic
		}
	}()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h carefully) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derived(func() slog.Handler { return h.Handler.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h carefully) WithGroup(name string) slog.Handler {
	return h.derived(func() slog.Handler { return h.Handler.WithGroup(name) })
}

func (h carefully) derived(from func() slog.Handler) (derived slog.Handler) {
	defer func() {
		if recover() != nil {
			derived = h
		}
	}()
	return carefully{from()}
}
