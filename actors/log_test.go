package actors_test

// What the logger hears of, and that nobody else does.

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
)

func TestTheLoggerHearsOfPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		sys := actors.New(actors.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ref := spawn(t, sys.Scope(), polly(nil))
		ref.Tell(func(p *parrot) { p.self.Log().Info("hello") })
		ref.Tell(func(*parrot) { panic("squawk") })
		require.Equal(t, 2, ask(t, ref, incarnation))
		closeSystem(t, sys)
		synctest.Wait()
		require.Contains(t, log.String(), `level=INFO msg=hello actor=polly kind=parrot`)
		require.Contains(t, log.String(), `level=ERROR msg="an actor panicked" actor=polly kind=parrot while="handling a message" panic=squawk`)
		require.Contains(t, log.String(), `log_test.go`, "where it happened")
	})
}

// hoarse is a logger's handler that panics.
type hoarse struct{ slog.Handler }

func (hoarse) Handle(context.Context, slog.Record) error { panic("the logger") }

func TestALoggerThatPanicsDoesNoHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actors.New(fewRestarts, actors.WithLogger(slog.New(hoarse{slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})}))) //nolint:sloglint // the discarding handler is never asked to handle anything
		ref := spawn(t, sys.Scope(), polly(func(error) { panic("in Stopping") }))
		ref.Tell(func(*parrot) { panic("squawk") })
		require.Equal(t, 2, ask(t, ref, incarnation))
		closeSystem(t, sys)
	})
}

// TestNothingIsWritten is not parallel: it takes the process's standard channels.
func TestNothingIsWritten(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()

	sys := actors.New(actors.WithLogger(nil), actors.WithRestarts(actors.Restarts{Min: 1, Max: 1, Limit: 2}))
	ref := spawn(t, sys.Scope(), polly(nil))
	for range 10 {
		ref.Tell(func(*parrot) { panic("squawk") })
	}
	<-ref.Done()
	closeSystem(t, sys)
	require.NoError(t, w.Close())
	written, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, string(written))
}
