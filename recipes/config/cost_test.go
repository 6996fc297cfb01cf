package config_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What docs/recipes/config.md says about costs.
func TestCosts(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		writer, reader := w.Host("writer").Session, w.Host("reader").Session
		put(w, writer, `{"Rate":1}`)
		c := open(w, writer, config.JSON[limits]())
		for range 3 { // however many cells, one watch
			open(w, reader, config.JSON[limits]())
		}
		count := func(s *session.Session) (requests, fired int) {
			synctest.Wait()
			for _, q := range w.Server.Journal() {
				fired += q.Fired
				if q.SessionID == s.Status().SessionID && q.Op != zktest.OpPing {
					requests++
				}
			}
			return requests, fired
		}
		w.Server.ClearJournal()
		_, err := c.Update(w.Context(), increment)
		require.NoError(w, err)
		requests, fired := count(writer)
		require.Equal(w, 5, requests, "sync, read, write, delete the marker; and the writer follows too")
		require.Equal(w, 2, fired, "one for each session")
		requests, _ = count(reader)
		require.Equal(w, 1, requests)
		w.Server.ClearJournal()
		require.Equal(w, 2, c.Load().Value.Rate)
		requests, _ = count(writer)
		require.Zero(w, requests)
	})
}
