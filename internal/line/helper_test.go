package line_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const parent = "/locks/a"

// bubble runs a test on an embedded server in virtual time, on a session connected to it.
func bubble(t *testing.T, f func(t *testing.T, z *zktest.Server, s *session.Session), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		z := zktest.Start(t, opts...)
		f(t, z, connected(t, z))
	})
}

func connected(t *testing.T, z *zktest.Server) *session.Session {
	t.Helper()
	s, err := session.Open(patience(t), z.Hosts(), session.WithDialer(z.Dialer()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(patience(t)) })
	return s
}

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stand makes a contender by hand and returns its path.
func stand(t *testing.T, s *session.Session, data string) string {
	t.Helper()
	path, err := s.Create(patience(t), parent+"/lock-", []byte(data), session.Protected(), session.Ephemeral(), session.Sequential(), session.Parents())
	require.NoError(t, err)
	return path
}

func read(t *testing.T, s *session.Session) []line.Entry {
	t.Helper()
	entries, err := line.Read(patience(t), s, parent)
	require.NoError(t, err)
	return entries
}

func paths(entries []line.Entry) []string {
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}

func get[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v, open := <-c:
		require.True(t, open, "the channel has closed")
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return *new(T)
}
