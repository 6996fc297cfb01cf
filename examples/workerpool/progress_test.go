package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, " 50%  5/10 files  1.5 MB  w2.1 leads  6 epochs  2 takeovers",
		view{Files: 5, Of: 10, Bytes: 1_500_000, Leader: "w2.1", Epochs: 6, Takeovers: 2}.String())
	require.Equal(t, "100%  0/0 files  0.0 MB  nobody leads  0 epochs  0 takeovers", view{}.String())
	require.LessOrEqual(t, len(view{Files: 999_999, Of: 999_999, Bytes: 99_999_000_000, Leader: "w64.10", Epochs: 99, Takeovers: 99}.String()), 79)
}

func TestScreenOfATerminalRedrawsInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, terminal: true}
	s.show(view{Of: 1})
	s.say("event %d", 1)
	s.show(view{Files: 1, Of: 1})
	s.close()
	const first, last, erased = "  0%  0/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers", "100%  1/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers", "\r\x1b[K"
	require.Equal(t, first+erased+"event 1\n"+first+erased+last+erased, out.String())
}

func TestScreenOfAFileHasPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out}
	s.show(view{Of: 1})
	s.say("event %d", 1)
	s.show(view{Of: 1})
	s.show(view{Files: 1, Of: 1})
	s.close()
	require.Equal(t, "  0%  0/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers\nevent 1\n100%  1/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers\n", out.String(),
		"what is not new is not told again")
}
