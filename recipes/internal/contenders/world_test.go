package contenders_test

// A line whose contenders stand by hand.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

const parent = "/locks/a"

// stand makes a contender by hand and returns its path.
func stand(t testing.TB, s *session.Session, data string) string {
	t.Helper()
	path, err := s.Create(bubble.Minute(t), parent+"/lock-", []byte(data), session.Protected(), session.Ephemeral(), session.Sequential(), session.Parents())
	require.NoError(t, err)
	return path
}

func read(t testing.TB, s *session.Session) []contenders.Entry {
	t.Helper()
	entries, err := contenders.Read(bubble.Minute(t), s, parent)
	require.NoError(t, err)
	return entries
}

func paths(entries []contenders.Entry) []string {
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}
