// Writes and deletions that servers forget.

package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/memory"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// Two contenders with one GUID below a parent are reported, once, if they exist for a while.
func TestAGUIDThatIsThereTwiceIsFoundOut(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	const a, b = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-", "_c_11234567-89ab-cdef-0123-456789abcdef-lock-"
	for _, name := range []string{a + "0000000001", b + "0000000002", "plain", "_c_short"} {
		require.NoError(t, srv.Znodes(t).Create("/line/"+name, nil))
	}
	m := memory.Start(srv.Servers(), "/line")
	defer m.Close()
	require.Empty(t, m.Lost(t.Context()))
	require.Empty(t, m.Twice())
	require.NoError(t, srv.Znodes(t).Create("/line/"+a+"0000000003", nil))
	var twice []history.Event
	require.Eventually(t, func() bool { twice = append(twice, m.Twice()...); return len(twice) > 0 }, 30*time.Second, time.Millisecond)
	require.Equal(t, "/line", twice[0].Thing)
	require.Equal(t, a[len("_c_"):len("_c_")+36], twice[0].Value)
}

// A confirmed write that is gone is noticed, at any server that has confirmed it.
func TestWhatServersForgetIsFoundOut(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithServers(2))
	m := memory.Start(srv.Servers())
	defer m.Close()
	require.Empty(t, m.Lost(t.Context()))
	require.Empty(t, m.Lost(t.Context()))
	require.NoError(t, srv.Znodes(t).Delete("/memory-1"))
	require.Eventually(t, func() bool { return m.Lost(t.Context()) != "" }, 10*time.Second, time.Millisecond)
	require.Regexp(t, `^server 1 had confirmed version [1-9]\d* of /memory-1, and has version -1$`, m.Lost(t.Context()))
}

// So is a forgotten deletion: of a contender that was gone, and exists again at a server that has
// carried out a write meanwhile. A contender that leaves, and another that comes, are no finding.
func TestADeletionThatServersForgetIsFoundOut(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithServers(2))
	var lists, writes [2]atomic.Int64 // by server
	srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case r.Op == zktest.OpGetChildren2 && r.Path == "/line":
			lists[r.Front].Add(1)
		case r.Op == zktest.OpSetData:
			writes[r.Front].Add(1)
		}
		return zktest.Pass
	})
	m := memory.Start(srv.Servers(), "/other", "/line")
	defer m.Close()
	for _, name := range []string{"/line/_c_1-0000000001", "/line/_c_2-0000000002", "/line/plain"} {
		require.NoError(t, srv.Znodes(t).Create(name, nil))
	}
	await := func() { // each server has answered a write, and then a listing
		for _, counts := range []*[2]atomic.Int64{&writes, &lists} {
			first, second := counts[0].Load(), counts[1].Load()
			require.Eventually(t, func() bool {
				return counts[0].Load() >= first+3 && counts[1].Load() >= second+3
			}, 30*time.Second, time.Millisecond)
		}
		require.Empty(t, m.Lost(t.Context()))
	}
	await()
	require.NoError(t, srv.Znodes(t).Delete("/line/_c_1-0000000001"))
	require.NoError(t, srv.Znodes(t).Delete("/line/plain"))
	await()
	require.NoError(t, srv.Znodes(t).Create("/line/_c_3-0000000003", nil))
	require.NoError(t, srv.Znodes(t).Create("/line/plain", nil))
	await()
	require.NoError(t, srv.Znodes(t).Create("/line/_c_1-0000000001", nil))
	require.Eventually(t, func() bool { return m.Lost(t.Context()) != "" }, 30*time.Second, time.Millisecond)
	require.Regexp(t, `^server [01] has /line/_c_1-0000000001 again, which had been deleted$`, m.Lost(t.Context()))
}
