package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// view is what the progress line shows.
type view struct {
	Files, Of int
	Bytes     int64
	Leader    string
	Epochs    int // ZooKeeper sessions that workers have had
	Takeovers int // coordinators after the first
}

// String is the progress line.
func (v view) String() string {
	percent := 100
	if v.Of > 0 {
		percent = 100 * v.Files / v.Of
	}
	leader := v.Leader
	if leader == "" {
		leader = "nobody"
	}
	return fmt.Sprintf("%3d%%  %d/%d files  %s  %s leads  %d epochs  %d takeovers", percent, v.Files, v.Of, megabytes(v.Bytes), leader, v.Epochs, v.Takeovers)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// screen shows the run: events, and below them a progress line that is redrawn in place. If the
// output is not a terminal, it prints plain lines.
type screen struct {
	terminal bool

	mu   sync.Mutex
	out  io.Writer
	line string // the progress line on the terminal
	last view   // the last view shown
}

func newScreen(out *os.File) *screen {
	info, err := out.Stat()
	return &screen{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// follow shows the progress line until ctx ends.
func (s *screen) follow(ctx context.Context, look func() view) {
	tick := time.NewTicker(s.pace())
	defer tick.Stop()
	for {
		s.show(look())
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.show(look())
			return
		}
	}
}

// pace is the interval at which the progress line is shown.
func (s *screen) pace() time.Duration {
	if s.terminal {
		return 100 * time.Millisecond
	}
	return time.Second
}

// show draws the progress line. If the output is not a terminal, it prints the line only if it has
// changed.
func (s *screen) show(v view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if !s.terminal {
		if v != s.last {
			fmt.Fprintln(s.out, v)
		}
		s.last = v
		return
	}
	s.line = v.String()
	fmt.Fprint(s.out, s.line)
}

// say prints a permanent line above the progress line.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.line
	s.erase()
	fmt.Fprintf(s.out, format+"\n", args...)
	s.line = line
	fmt.Fprint(s.out, line)
}

// close erases the progress line.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// erase removes the progress line. The caller holds the mutex.
func (s *screen) erase() {
	if s.line != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.line = ""
	}
}
