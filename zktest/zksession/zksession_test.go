package zksession_test

// The same test inside a synctest bubble and outside of one, with sessions that are closed at its
// end.

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

func TestMain(m *testing.M) { tier.Main(m) }

// worlds runs a test in both.
func worlds(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { t.Parallel(); synctest.Test(t, test) })
	t.Run("real time", func(t *testing.T) { t.Parallel(); test(t) })
}

func TestASessionIsConnectedAndClosedAtTheEndOfTheTest(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithServers(3))
		t.Cleanup(func() { require.Empty(t, srv.Sessions(), "before the server is") })
		s := zksession.Open(t, srv, session.WithNamespace("/app"), session.WithTimeout(8*time.Second))
		require.Equal(t, 8*time.Second, s.Status().Timeout, "it is connected, and has its options")
		_, err := s.Create(t.Context(), "/here", nil)
		require.NoError(t, err)
		_, err = srv.Znodes(t).Get("/app/here")
		require.NoError(t, err)
	})
}

// A dialer of the test's own comes before the server's: that of a machine with faults of its own.
func TestASessionOfAMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		machine := srv.Host("orders-1")
		s := zksession.Open(t, srv, session.WithDialer(machine.Dialer()))
		machine.Partition()
		time.Sleep(time.Minute)
		require.Empty(t, srv.Sessions())
		require.NotEqual(t, session.Connected, s.Status().State)
	}) // its end waits for a session that is cut off, and not for long
}

// judged is a test that ends with a failure.
type judged struct {
	*testing.T
	message string
}

func (j *judged) Fatalf(format string, args ...any) {
	j.message = fmt.Sprintf(format, args...)
	panic(j)
}

// failed is a test that has failed, and its log. Its cleanups run when it says so.
type failed struct {
	*testing.T
	cleanups []func()
	log      string
}

func (f *failed) Cleanup(c func())                { f.cleanups = append(f.cleanups, c) }
func (*failed) Failed() bool                      { return true }
func (f *failed) Logf(format string, args ...any) { f.log += fmt.Sprintf(format, args...) }

func TestAFailedTestShowsTheSessionThatIsStillOpen(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T) {
		f := &failed{T: t}
		srv := zktest.Start(f)
		s := zksession.Open(f, srv)
		_, err := s.Create(t.Context(), "/mine", nil, session.Ephemeral())
		require.NoError(t, err)
		id := s.Status().SessionID
		for _, cleanup := range slices.Backward(f.cleanups) {
			cleanup()
		}
		require.Contains(t, f.log, fmt.Sprintf("/mine \"\" czxid=0x2 mzxid=0x2 pzxid=0x2 version=0 cversion=0 aversion=0 owner=0x%x\n", id))
		require.Contains(t, f.log, fmt.Sprintf("session 0x%x", id))
		require.Empty(t, srv.Sessions())
	})
}

func TestASessionThatCannotBeOpenedFailsTheTest(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T) {
		srv, j := zktest.Start(t), &judged{T: t}
		require.PanicsWithValue(t, j, func() { zksession.Open(j, srv, session.WithNamespace("app")) })
		require.Contains(t, j.message, "zksession: ")
		require.Contains(t, j.message, "WithNamespace")
	})
}

// A server that the session cannot talk to fails the test, in time, and the failure says why.
func TestASessionThatDoesNotConnectFailsTheTest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		breaks func(*zktest.Server)
		opts   []session.Option
		says   string
	}{
		"no credential":    {func(s *zktest.Server) { s.RequireAuth("digest", "orders:secret") }, nil, session.ErrAuthRequired.Error()},
		"wrong credential": {func(s *zktest.Server) { s.RequireAuth("digest", "orders:secret") }, []session.Option{session.WithAuth("digest", []byte("orders:guess"))}, session.ErrAuthRequired.Error()},
		"TLS":              {func(s *zktest.Server) { s.StartTLS() }, nil, "EOF"},
		"no server":        {func(s *zktest.Server) { s.Kill(0) }, nil, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, j, began := zktest.Start(t), &judged{T: t}, time.Now()
				row.breaks(srv)
				require.PanicsWithValue(t, j, func() { zksession.Open(j, srv, row.opts...) })
				require.Contains(t, j.message, row.says)
				require.Equal(t, 30*time.Second, time.Since(began))
			})
		})
	}
}
