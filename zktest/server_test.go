package zktest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// recorder is a test that notes what becomes of it.
type recorder struct {
	failed   string
	cleanups []func()
}

func (*recorder) Helper()                             {}
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (r *recorder) run(f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.failed = fmt.Sprint(v)
		}
		for _, cleanup := range r.cleanups {
			cleanup()
		}
	}()
	f()
}

func TestStartFailsTheTestAndCleansUp(t *testing.T) {
	t.Parallel()
	var r recorder
	r.run(func() { zktest.Start(&r, zktest.WithServers(-1)) })
	require.Contains(t, r.failed, "-1 servers")

	r = recorder{}
	var s *zktest.Server
	r.run(func() {
		s = zktest.Start(&r)
		s.Kill(3)
	})
	require.Contains(t, r.failed, "no server 3 among 1")
	_, err := s.Dialer()(t.Context(), "tcp", s.Hosts()[0])
	require.Error(t, err, "it is closed")
	require.Error(t, s.Restart(0))
}

func TestAddressesStayAndAreOfTheLoopback(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithServers(2))
	addresses := s.Servers()
	require.Len(t, addresses, 2)
	require.NotEqual(t, addresses[0], addresses[1])
	for _, address := range addresses {
		require.Regexp(t, `^127\.0\.0\.1:\d+$`, address)
	}
	require.Equal(t, addresses, s.Servers())
	s.Kill(1)
	require.NoError(t, s.Restart(1))
	require.Equal(t, addresses, s.Servers())
	conn := dialTCP(t, addresses[1])
	require.NoError(t, conn.Close())
	require.Len(t, s.Hosts(), 2)
	_, err := s.Dialer()(t.Context(), "tcp", "elsewhere:2181")
	require.ErrorContains(t, err, "no such server", "with several servers an address must be one of theirs")
	require.Contains(t, s.Dump(), "/zookeeper/quota")
}
