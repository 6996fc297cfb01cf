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

func TestParseNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, says string }{
		{"nothing", "", `has 1 of the 4 parts`},
		{"no path", "exclusive:1:0x1", `has 3 of the 4 parts`},
		{"mode", "mine:1:0x1:/a/b", `mode "mine"`},
		{"no mode", ":1:0x1:/a/b", `mode ""`},
		{"token", "exclusive:one:0x1:/a/b", `token "one"`},
		{"token too large", "exclusive:9223372036854775808:0x1:/a/b", `token "9223372036854775808"`},
		{"token zero", "exclusive:0:0x1:/a/b", `token 0`},
		{"token negative", "exclusive:-5:0x1:/a/b", `token -5`},
		{"token with zeros in front", "exclusive:007:0x1:/a/b", `not written as`},
		{"token with a sign", "exclusive:+7:0x1:/a/b", `not written as`},
		{"session", "exclusive:1:0xyz:/a/b", `session "0xyz"`},
		{"session without 0x", "exclusive:1:17:/a/b", `session "17"`},
		{"session zero", "exclusive:1:0x0:/a/b", `session 0`},
		{"session in capitals", "exclusive:1:0xAB:/a/b", `not written as`},
		{"path relative", "exclusive:1:0x1:a/b", `not absolute`},
		{"path empty", "exclusive:1:0x1:", `not absolute`},
		{"path is the root", "exclusive:1:0x1:/", `has a name ""`},
		{"path ends with a slash", "exclusive:1:0x1:/a/b/", `has a name ""`},
		{"path doubles a slash", "exclusive:1:0x1:/a//b", `has a name ""`},
		{"path has dots", "exclusive:1:0x1:/a/../b", `has a name ".."`},
		{"path has a line break", "exclusive:1:0x1:/a/b\n", `does not permit`},
		{"path is not UTF-8", "exclusive:1:0x1:/a/\xff", `does not permit`},
		{"path is beyond 16 bits", "exclusive:1:0x1:/a/\U0001F600", `does not permit`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := fence.Parse(test.text)
			require.ErrorIs(t, err, fence.ErrInvalid)
			require.ErrorContains(t, err, test.says)
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
