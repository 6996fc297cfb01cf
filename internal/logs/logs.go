// Package logs makes the logger of a session and of its parts, out of a handler of the
// application's or of the program's log.
package logs

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// New makes a logger out of the application's handler; nil: there is none, and the program's log
// gets the warnings. One that New has made is left as it is.
func New(to slog.Handler) *slog.Logger {
	if _, ours := to.(sparing); ours {
		return slog.New(to)
	}
	handler := later{outlet: &outlet{to: to, refused: make(map[slog.Level]time.Time)}}
	return slog.New(sparing{Handler: handler, seen: &seen{lines: make(map[string]*repeated), kinds: make(map[string]int)}})
}

// Warnings is New for a handler that gets the lines that the program's log would: warnings and
// their ends.
func Warnings(to slog.Handler) *slog.Logger {
	log := New(to)
	log.Handler().(sparing).Handler.(later).outlet.warnings = true
	return log
}

// sparing passes on one warning a second of each kind. The last of a second tells how many there
// were. Errors are passed on as they are.
type sparing struct {
	slog.Handler
	about string // the subject, by the attributes
	seen  *seen
	ends  bool // see Ends
}

// Ends is a logger for lines that end a warning, at Info: a program's log that gets warnings alone
// gets those too, and they are limited in number as warnings are.
func Ends(log *slog.Logger) *slog.Logger {
	h, ours := log.Handler().(sparing)
	if !ours {
		return log
	}
	h.ends = true
	return slog.New(h)
}

// Enabled implements [slog.Handler].
func (h sparing) Enabled(ctx context.Context, level slog.Level) bool {
	return h.ends || h.Handler.Enabled(ctx, level)
}

// seen are the warnings that were passed on less than a second ago: by message and what they are
// about, up to mostKinds for a message, and then by message alone.
type seen struct {
	mu    sync.Mutex
	lines map[string]*repeated
	kinds map[string]int // how many of lines have this message
}

// mostKinds is how many things are told apart that one message is about.
const mostKinds = 20

// repeated is a kind of warning that was passed on less than a second ago.
type repeated struct {
	more int         // came since
	last slog.Record // of these
	to   slog.Handler
}

// about is the part of an attribute that tells one thing from another.
func about(a slog.Attr) string {
	switch a.Key {
	case "path", "item", "actor", "queue", "election", "file":
		return "\x00" + a.Value.String()
	}
	return ""
}

// Handle implements [slog.Handler].
func (h sparing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != slog.LevelWarn && !h.ends {
		return h.Handler.Handle(ctx, r)
	}
	key := r.Message + h.about
	r.Attrs(func(a slog.Attr) bool {
		key += about(a)
		return true
	})
	if h.seen.keepBack(key, r, h.Handler) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// keepBack tells whether such a warning was passed on in the last second, and keeps it then.
func (s *seen) keepBack(key string, r slog.Record, to slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines[key] == nil && s.kinds[r.Message] >= mostKinds {
		key = r.Message
	}
	if line := s.lines[key]; line != nil {
		line.more, line.last, line.to = line.more+1, r.Clone(), to
		return true
	}
	s.lines[key] = new(repeated)
	s.kinds[r.Message]++
	time.AfterFunc(time.Second, func() { s.flush(key, r.Message) }) // does not block, and ends by itself
	return false
}

// flush passes on the last of those that were kept back for a second.
func (s *seen) flush(key, message string) {
	s.mu.Lock()
	line := s.lines[key]
	if line.more == 0 {
		delete(s.lines, key)
		if s.kinds[message]--; s.kinds[message] == 0 {
			delete(s.kinds, message)
		}
		s.mu.Unlock()
		return
	}
	r, to := line.last, line.to
	if line.more > 1 {
		r.AddAttrs(slog.Int("repeated", line.more))
	}
	*line = repeated{}
	s.mu.Unlock()
	time.AfterFunc(time.Second, func() { s.flush(key, message) }) // likewise
	_ = to.Handle(context.Background(), r)
}

// WithAttrs implements [slog.Handler].
func (h sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	var of strings.Builder
	of.WriteString(h.about)
	for _, a := range attrs {
		of.WriteString(about(a))
	}
	return sparing{h.Handler.WithAttrs(attrs), of.String(), h.seen, h.ends}
}

// WithGroup implements [slog.Handler].
func (h sparing) WithGroup(name string) slog.Handler {
	return sparing{h.Handler.WithGroup(name), h.about, h.seen, h.ends}
}
