package bubble

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
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

// Warnings are the log's warnings with this path.
func (l *Log) Warnings(path string) (all []string) {
	synctest.Wait() // lines are handed over a little later
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "path="+path) {
			all = append(all, line)
		}
	}
	return all
}

// Count is how often the log contains a text.
func (l *Log) Count(text string) int {
	synctest.Wait() // likewise
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// After is the line so many below the caller's, as "forgotten_test.go:12".
func After(lines int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+lines)
}
