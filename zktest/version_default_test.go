package zktest_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// said is what a server answers to "srvr", its version among it.
func said(t *testing.T, s *zktest.Server) string {
	t.Helper()
	conn, err := s.DialTimeout("tcp", s.Hosts()[0], time.Second)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("srvr"))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

// ZKTEST_VERSION is the version of servers that were not told theirs.
func TestTheEnvironmentSetsTheDefaultVersion(t *testing.T) {
	t.Setenv("ZKTEST_VERSION", "3.8.4")
	require.Contains(t, said(t, zktest.Start(t)), "version: 3.8.4")
	require.Contains(t, said(t, zktest.Start(t, zktest.WithVersion("3.8.0"))), "version: 3.8.0")
	t.Setenv("ZKTEST_VERSION", "3.7")
	_, err := zktest.New()
	require.ErrorContains(t, err, "ZKTEST_VERSION")
	require.ErrorContains(t, err, "3.8.0, 3.8.4")
	t.Setenv("ZKTEST_VERSION", "")
	require.Contains(t, said(t, zktest.Start(t)), "version: 3.9.6")
}
