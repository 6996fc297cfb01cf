package session

import (
	"context"
	"errors"
	"log/slog"
)

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
