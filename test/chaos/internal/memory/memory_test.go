// What servers forget.

package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/test/chaos/internal/memory"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
}

// A write that was confirmed and is gone is found out, whichever server it was confirmed by.
func TestWhatServersForgetIsFoundOut(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithServers(2))
	m := memory.Start(srv.Servers())
	defer m.Close()
	require.Empty(t, m.Lost(t.Context()))
	require.Empty(t, m.Lost(t.Context()))
	require.NoError(t, srv.Delete("/memory-1"))
	require.Eventually(t, func() bool { return m.Lost(t.Context()) != "" }, 10*time.Second, time.Millisecond)
	require.Regexp(t, `^server 1 had confirmed version [1-9]\d* of /memory-1, and has version -1$`, m.Lost(t.Context()))
}
