package fence_test

// Sequencers as text.

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/fence"
)

func TestSequencerIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		sequencer  fence.Sequencer
	}{
		{
			"lock", "exclusive:4294967338:0x1000a3b5c2d0001:/locks/orders/_c_3e6c-lock-0000000007",
			fence.Sequencer{Path: "/locks/orders/_c_3e6c-lock-0000000007", Mode: fence.Exclusive, Token: 4294967338, SessionID: 0x1000a3b5c2d0001},
		},
		{
			"shared, under the root", "shared:1:0x1:/read-0000000000",
			fence.Sequencer{Path: "/read-0000000000", Mode: fence.Shared, Token: 1, SessionID: 1},
		},
		{
			"colons and blanks in the path", "exclusive:2:0x3:/a:b/c d:/e",
			fence.Sequencer{Path: "/a:b/c d:/e", Mode: fence.Exclusive, Token: 2, SessionID: 3},
		},
		{
			"a session of a server with a high number", "exclusive:9223372036854775807:0xffffffffffffffff:/ü/n_-000000001",
			fence.Sequencer{Path: "/ü/n_-000000001", Mode: fence.Exclusive, Token: math.MaxInt64, SessionID: -1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.text, test.sequencer.String())
			q, err := fence.Parse(test.text)
			require.NoError(t, err)
			require.Equal(t, test.sequencer, q)
		})
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
