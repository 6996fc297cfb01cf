package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Large requests push the oldest out before there are many of them: the journal's memory has a
// bound of its own.
func TestTheJournalIsBoundedByBytes(t *testing.T) {
	const kept, size = 1 << 20, 900_000
	world(t, zkserver.Config{Journal: 1000, JournalBytes: kept}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		data := make([]byte, size)
		for range 10 {
			c.must(set("/a", string(data)))
		}
		all := s.Journal()
		require.Len(t, all, 1)
		require.Len(t, all[0].Data, size)
		require.EqualValues(t, 12, all[0].K)
		for range 100 {
			c.must(set("/a", "small"))
		}
		total := 0
		for _, rq := range s.Journal() {
			total += len(rq.Data)
		}
		require.Len(t, s.Journal(), 101, "and small ones by their number")
		require.LessOrEqual(t, total, kept)
	})
	t.Run("one that alone is too large", func(t *testing.T) {
		world(t, zkserver.Config{Journal: 10, JournalBytes: 100}, func(t *testing.T, s *zkserver.Server) {
			c := join(t, s)
			c.create("/a", 0)
			require.Len(t, s.Journal(), 1)
			require.Equal(t, "/a", s.Journal()[0].Created)
		})
	})
}
