package main

// The log is written before the program exits.

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// pipe is a standard error that needs some time for each line.
type pipe struct {
	takes time.Duration
	lines chan string
}

func (p pipe) Write(line []byte) (int, error) {
	time.Sleep(p.takes)
	p.lines <- string(line)
	return len(line), nil
}

func TestWhatWasLoggedLastIsWritten(t *testing.T) {
	t.Parallel()
	for takes, written := range map[time.Duration]int{50 * time.Millisecond: 1, time.Minute: 0} {
		synctest.Test(t, func(t *testing.T) {
			log := pipe{takes, make(chan string, 1)}
			a := &app{out: &printer{Writer: io.Discard}, log: log}
			cmd := &cobra.Command{Run: func(*cobra.Command, []string) { a.to.log.Warn("the last line") }}
			cmd.SetArgs([]string{})
			began := time.Now()
			require.Zero(t, a.execute(t.Context(), cmd))
			require.Len(t, log.lines, written)
			require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
			time.Sleep(time.Minute)
		})
	}
}
