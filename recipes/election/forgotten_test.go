package election_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A term that nobody receives is logged, with the place where Campaign was called; one that lasts
// is not.
func TestATermThatNobodyReceivesIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		var log bytes.Buffer
		s := connected(t, z, session.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		e := candidate(t, s, "a", election.WithWarnAfter(time.Minute))
		term, err := e.Lead(patience(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, term.Resign(patience(t)))
		synctest.Wait()
		require.Empty(t, log.String())
		e.Campaign()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Contains(t, log.String(), "waits to be received")
		require.Contains(t, log.String(), "recipes/election/forgotten_test.go:")
		get(t, e.Leader(), "the term")
		_, err = election.New(s, "/e", election.WithWarnAfter(-1))
		require.ErrorContains(t, err, "WithWarnAfter")
	})
}
