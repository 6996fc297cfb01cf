package bubble

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/troupe-go/troupe/session"
)

// Log is a session's log, which may be read while it is written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Option makes a session write this log.
func (l *Log) Option() session.Option {
	return session.WithLogger(slog.New(slog.NewTextHandler(l, nil)))
}

// Debug is Option with the level Debug.
func (l *Log) Debug() session.Option {
	return session.WithLogger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Warnings returns the log's warnings about a path or one below. The path must not need quotes in
// the log. It is called in a bubble.
func (l *Log) Warnings(path string) (all []string) {
	synctest.Wait() // a session hands its lines to another goroutine, which writes them
	l.mu.Lock()
	defer l.mu.Unlock()
	about := func(field string) bool {
		return field == "path="+path || strings.HasPrefix(field, "path="+strings.TrimSuffix(path, "/")+"/")
	}
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level=WARN") && slices.ContainsFunc(strings.Fields(line), about) {
			all = append(all, line)
		}
	}
	return all
}

// Count returns how often the log contains a text. It is called in a bubble.
func (l *Log) Count(text string) int {
	synctest.Wait() // as in Warnings
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// After returns the source line that is so many lines below its caller, as "forgotten_test.go:12":
// what Troupe logs as the place of a call there.
func After(lines int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+lines)
}
