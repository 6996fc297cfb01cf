package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A write that was confirmed and is gone is found out, whichever server it was confirmed by.
func TestWhatServersForgetIsFoundOut(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithServers(2))
	m := newMemory(srv.Servers())
	defer m.close()
	require.Empty(t, m.lost(t.Context()))
	require.Empty(t, m.lost(t.Context()))
	require.NoError(t, srv.Delete("/memory-1"))
	require.Eventually(t, func() bool { return m.lost(t.Context()) != "" }, 10*time.Second, time.Millisecond)
	require.Regexp(t, `^server 1 had confirmed version [1-9]\d* of /memory-1, and has version -1$`, m.lost(t.Context()))
}
