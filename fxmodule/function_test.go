package fxmodule_test

// Functions of the application: what fx provides them with, and which are refused.
// Helpers: app_test.go.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

type printer struct{ lines chan string }

// tray is asked for by a function: a struct with fx.In.
type tray struct {
	fx.In
	Paper string `name:"paper"`
	Ink   *int   `optional:"true"`
}

// fx provides a function's parameters after the first two, once.
func TestFunctionsAreProvidedFor(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	made := 0
	var s *session.Session
	p := &printer{make(chan string, 10)}
	a := app(t, cfg, fx.Populate(&s), fx.Provide(func() *printer { made++; return p }), fx.Supply(fx.Annotate("A4", fx.ResultTags(`name:"paper"`))),
		fxmodule.Election("reports", "/e"), fxmodule.Queue("jobs", "/q"),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term, p *printer, tray tray, s *session.Session) error {
			p.lines <- tray.Paper + " " + s.Status().State.String()
			<-ctx.Done()
			return nil
		}),
		fx.Module("jobs", fxmodule.Consume("jobs", 2, func(_ context.Context, i *queue.Item, p *printer) error {
			p.lines <- string(i.Data())
			return nil
		})))
	require.Equal(t, "A4 connected", bubble.Within(t, time.Minute, p.lines))
	put(t, s, "/q", "a", "b")
	require.ElementsMatch(t, []string{"a", "b"}, []string{bubble.Within(t, time.Minute, p.lines), bubble.Within(t, time.Minute, p.lines)})
	require.Equal(t, 1, made)
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// The hooks of functions are in the order of the options, not of their dependencies.
func TestFunctionsStartInTheOrderOfTheOptions(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	led := make(chan bool, 10)
	migrated := false
	a := app(t, cfg, fxmodule.Election("e", "/e"),
		fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.StartHook(func() { migrated = true })) }),
		fxmodule.RunLeader("e", func(ctx context.Context, _ *election.Term) error { led <- migrated; <-ctx.Done(); return nil }))
	require.True(t, bubble.Within(t, time.Minute, led))
	require.NoError(t, a.Stop(bubble.Minute(t)))
}
