package docs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// connected is a session with a server of its own.
func connected(t *testing.T) (*zktest.Server, *session.Session) {
	t.Helper()
	srv := zktest.Start(t)
	return srv, another(t, srv)
}

// another is one more session with a server.
func another(t *testing.T, srv *zktest.Server, opts ...session.Option) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), srv.Servers(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// The multi-lock's page.
func transfer(ctx context.Context, alice, bob, ledger *lock.Lock, data []byte) error {
	m, err := lock.NewMulti(alice, bob, ledger) // any locks, in any order
	if err != nil {
		return err
	}
	return m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error {
		// ctx ends when any of the three does. The write happens only while all three stand.
		_, err := g.Commit(ctx, session.SetOp("/transfer", data, -1))
		return err
	})
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	_, s := connected(t)
	_, err := s.Create(t.Context(), "/transfer", nil)
	require.NoError(t, err)
	var locks []*lock.Lock
	for _, path := range []string{"/alice", "/bob", "/ledger"} {
		l, err := lock.New(s, path)
		require.NoError(t, err)
		locks = append(locks, l)
	}
	require.NoError(t, transfer(t.Context(), locks[0], locks[1], locks[2], []byte("5")))
	data, _, err := s.Get(t.Context(), "/transfer")
	require.NoError(t, err)
	require.Equal(t, "5", string(data))
}

// The lock's page: access.
func private(ctx context.Context, servers []string) (*lock.Lock, error) {
	sess, err := session.Open(ctx, servers, session.WithAuth("digest", []byte("billing:secret")))
	if err != nil {
		return nil, err
	}
	return lock.New(sess, "/locks/orders", lock.WithACL(session.AuthACL(session.PermAll)...))
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	srv, other := connected(t)
	l, err := private(t.Context(), srv.Servers())
	require.NoError(t, err)
	g, err := l.Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, other.Delete(t.Context(), g.Path(), -1), session.ErrNoAuth)
	require.NoError(t, g.Session().Close(t.Context()))
}

// The simple lock's page.
func TestController(t *testing.T) {
	t.Parallel()
	_, sess := connected(t)
	data := []byte(`{"brokerid":1}`)
	controller, err := lock.New(sess, "/controller", lock.WithLayout(lock.Simple), lock.WithData(data))
	require.NoError(t, err)
	g, err := controller.Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/controller", g.Path())
}
