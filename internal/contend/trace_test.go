package contend_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into testdata")

// TestTraces plays the stories in testdata. A story is a file of blocks: events, a line of dashes, and what the machine does. Lines that begin
// with "#" are prose.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, file := range traceFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			told, err := os.ReadFile(file)
			require.NoError(t, err)
			played := play(t, string(told), func(from, on, to string) {
				require.True(t, declared[step{from, on, to}], "undeclared: {%s, %q, %s}", from, on, to)
			})
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(played), 0o644))
				return
			}
			require.Equal(t, string(told), played)
		})
	}
}

func traceFiles(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// play feeds a story's events to a machine and returns the story with what the machine does in it.
func play(t *testing.T, story string, seen func(from, ev, to string)) string {
	var out strings.Builder
	var block []string
	told := newTeller(t, seen)
	skipping := false // what the machine did when the story was written
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			require.True(t, skipping || len(block) == 0, "a block without dashes before a blank line")
			skipping = false
			out.WriteString("\n")
		case skipping:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			out.WriteString("----\n")
			for _, event := range block {
				if len(block) > 1 {
					out.WriteString("> " + event + "\n")
				}
				out.WriteString(told.tell(event))
			}
			block, skipping = nil, true
		default:
			out.WriteString(line + "\n")
			block = append(block, line)
		}
	}
	return out.String()
}
