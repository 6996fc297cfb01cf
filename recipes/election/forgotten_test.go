package election_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// A term that nobody receives is logged, with the place where Campaign was called; one that lasts
// is not.
func TestATermThatNobodyReceivesIsLogged(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var log bytes.Buffer
		s := t.Session(session.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		e := candidate(t, s, "a", election.WithWarnAfter(time.Minute))
		term, err := e.Lead(bubble.Minute(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, term.Resign(bubble.Minute(t)))
		synctest.Wait()
		require.Empty(t, log.String())
		e.Campaign()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Contains(t, log.String(), "waits to be received")
		require.Contains(t, log.String(), "recipes/election/forgotten_test.go:")
		bubble.Get(t, e.Leader(), "the term")
		_, err = election.New(s, "/e", election.WithWarnAfter(-1))
		require.ErrorContains(t, err, "WithWarnAfter")
	})
}
