package actors

import (
	"context"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// supervisor is the strategy of the actor library: what happens after a panic.
type supervisor struct{}

// HandleFailure implements [actor.SupervisorStrategy]. The library calls it on the goroutine of the
// actor that panicked.
func (*supervisor) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	if f, ok := reason.(failure); ok { // there are no others: whatever an actor does is within cell.Receive
		f.of.fail(f.reason, func() { by.RestartChildren(child) })
	}
}

// quiet passes the library's log messages on at level debug: what a user needs to know is logged by
// this package, once.
type quiet struct{ to slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.to.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	defer func() { _ = recover() }() // the library logs where a panic would end the process
	r.Level = slog.LevelDebug
	return q.to.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.to.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.to.WithGroup(name)} }
