package fence_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/fence"
)

func holder(token int64) fence.Sequencer {
	return fence.Sequencer{Path: "/locks/a/_c_x-lock-0000000001", Mode: fence.Exclusive, Token: token, SessionID: token}
}

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

func TestGateRefuses(t *testing.T) {
	t.Parallel()
	shared, elsewhere, twin := holder(9), holder(9), holder(8)
	shared.Mode = fence.Shared
	elsewhere.Path = "/locks/b/_c_x-lock-0000000001"
	twin.Path += "2"
	for _, test := range []struct {
		name      string
		sequencer fence.Sequencer
		err       error
	}{
		{"shared modes", shared, fence.ErrMode},
		{"another line", elsewhere, fence.ErrFenced},
		{"another holder with the same token", twin, fence.ErrFenced},
		{"the zero sequencer", fence.Sequencer{}, fence.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var g fence.Gate
			require.NoError(t, g.Admit(holder(8)))
			require.ErrorIs(t, g.Admit(test.sequencer), test.err)
			h, _ := g.Highest()
			require.Equal(t, holder(8), h, "a refusal changes nothing")
		})
	}
}

func TestGateRefusesBeforeItIsBound(t *testing.T) {
	t.Parallel()
	var g fence.Gate
	shared := holder(9)
	shared.Mode = fence.Shared
	require.ErrorIs(t, g.Admit(shared), fence.ErrMode)
	require.NoError(t, g.Admit(holder(1)))
}

// A gate that outlives its process goes on where it was.
func TestGateStartsAgainFromItsMark(t *testing.T) {
	t.Parallel()
	var before, after fence.Gate
	require.NoError(t, before.Admit(holder(5)))
	mark, _ := before.Highest()
	require.NoError(t, after.Admit(mark))
	require.ErrorIs(t, after.Admit(holder(4)), fence.ErrFenced)
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
