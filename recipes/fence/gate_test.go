package fence_test

// Sequencers as text, and gates: in which order sequencers are admitted where ZooKeeper is not
// asked. Helpers: check_test.go.

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/fence"
)

// of is an exclusive holder of a path.
func of(path string, token int64) fence.Sequencer {
	return fence.Sequencer{Path: path, Mode: fence.Exclusive, Token: token, SessionID: token}
}

func holder(token int64) fence.Sequencer { return of("/locks/a/_c_x-lock-0000000001", token) }

func TestGateAdmitsInOrderOfTokens(t *testing.T) {
	t.Parallel()
	var g fence.Gate
	_, admitted := g.Highest()
	require.False(t, admitted)
	require.NoError(t, g.Admit(holder(5)))
	require.NoError(t, g.Admit(holder(5)), "as often as it likes")
	require.NoError(t, g.Admit(holder(7)))
	require.ErrorIs(t, g.Admit(holder(5)), fence.ErrFenced)
	require.ErrorIs(t, g.Admit(holder(6)), fence.ErrFenced, "also one that was never admitted")
	require.NoError(t, g.Admit(holder(7)))
	h, admitted := g.Highest()
	require.True(t, admitted)
	require.Equal(t, holder(7), h)
}

func TestGateIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var g fence.Gate
	var writers sync.WaitGroup
	for token := int64(1); token <= 100; token++ {
		writers.Go(func() {
			if err := g.Admit(holder(token)); err != nil {
				require.ErrorIs(t, err, fence.ErrFenced)
			}
		})
	}
	writers.Wait()
	h, _ := g.Highest()
	require.Equal(t, holder(100), h)
}

func TestAGateForOneSimpleLockDoesNotAdmitItsSibling(t *testing.T) {
	t.Parallel()
	var gate fence.Gate
	require.NoError(t, gate.Admit(of("/locks/order-0000000007", 5)))
	require.ErrorIs(t, gate.Admit(of("/locks/order-0000000008", 6)), fence.ErrFenced)
	require.ErrorIs(t, gate.Admit(of("/locks/lock-0000000008", 6)), fence.ErrFenced, "a contender of the lock at their parent")
	require.NoError(t, gate.Admit(of("/locks/order-0000000007", 7)), "the next holder of the same")

	const one, other = "_c_3e6cd10f-9a4e-4c58-bb4a-1e0d2f6b7c01", "_c_3e6cd10f-9a4e-4c58-bb4a-1e0d2f6b7c02"
	for _, contenders := range [][2]string{
		{one + "-lock-0000000001", other + "-lock-0000000002"},
		{"lock-0000000001", "lock-0000000002"},
		{"x-7-0000000001", "x-8-0000000002"},
		{"n_0000000001", "n_0000000002"},
		{one + "-of-my-own-0000000001", other + "-of-my-own-0000000002"},
	} {
		var gate fence.Gate
		require.NoError(t, gate.Admit(of("/locks/"+contenders[0], 5)))
		require.NoError(t, gate.Admit(of("/locks/"+contenders[1], 6)), "%v", contenders)
	}
}

// When ZooKeeper has lost its data, tokens begin anew. The error says what to do.
func TestAGateThatIsResetAdmitsSmallerTokens(t *testing.T) {
	t.Parallel()
	var g fence.Gate
	before, after := of("/locks/a/lock-0000000005", 500), of("/locks/a/lock-0000000000", 5)
	require.NoError(t, g.Admit(before))
	err := g.Admit(after)
	require.ErrorIs(t, err, fence.ErrFenced)
	require.ErrorContains(t, err, "Gate.Reset")
	g.Reset()
	_, some := g.Highest()
	require.False(t, some)
	require.NoError(t, g.Admit(after))
	require.NoError(t, g.Admit(before), "it can't be told any more that this is an older one")
}

func TestSequencerIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fence.Sequencer{
		"exclusive:4294967338:0x1000a3b5c2d0001:/locks/orders/_c_3e6c-lock-0000000007": {Path: "/locks/orders/_c_3e6c-lock-0000000007", Mode: fence.Exclusive, Token: 4294967338, SessionID: 0x1000a3b5c2d0001},
		"shared:1:0x1:/read-0000000000":                                    {Path: "/read-0000000000", Mode: fence.Shared, Token: 1, SessionID: 1},
		"exclusive:2:0x3:/a:b/c d:/e":                                      {Path: "/a:b/c d:/e", Mode: fence.Exclusive, Token: 2, SessionID: 3},
		"exclusive:9223372036854775807:0xffffffffffffffff:/ü/n_-000000001": {Path: "/ü/n_-000000001", Mode: fence.Exclusive, Token: math.MaxInt64, SessionID: -1}, // of a server with a high number
	} {
		require.Equal(t, text, want.String())
		q := must(fence.Parse(text))
		require.Equal(t, want, q)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("exclusive:4294967338:0x1000a3b5c2d0001:/locks/orders/_c_3e6c-lock-0000000007")
	f.Add("shared:1:0xffffffffffffffff:/a:b/c")
	f.Add("exclusive:-1:0x:/")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := fence.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, fence.ErrInvalid)
			require.Zero(t, q)
			return
		}
		require.Equal(t, text, q.String())
		if q.Mode == fence.Exclusive {
			require.NoError(t, new(fence.Gate).Admit(q))
		}
	})
}
