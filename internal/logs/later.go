package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// most is how many lines wait for the application's handler. Those that come then are dropped.
const most = 1000

// later hands records over to a handler of the application's, in the order and with the time of
// their logging, in a goroutine of its own: if the handler panics, calls runtime.Goexit or never
// returns, only the lines that it was to handle are lost, and no other goroutine waits.
type later struct {
	*outlet
	with []func(slog.Handler) slog.Handler // attributes and groups, in their order
}

// outlet has the lines that wait, and the goroutine that hands them over while there are any.
type outlet struct {
	to       slog.Handler // nil: that of [slog.Default], asked at each line
	warnings bool         // nothing below those, as without a handler

	mu      sync.Mutex
	lines   []line
	dropped int
	empty   chan struct{}            // closes when no line waits or is being handled; nil: none does now
	refused map[slog.Level]time.Time // when the handler said last that it takes none of this level
}

type line struct {
	later
	ctx    context.Context
	record slog.Record
}

// Wait waits until the lines of a logger of [New] are handed over, for at most 100 ms.
func Wait(log *slog.Logger) {
	if h, ours := log.Handler().(sparing); ours {
		o := h.Handler.(later).outlet
		o.mu.Lock()
		empty := o.empty
		o.mu.Unlock()
		if empty != nil {
			select {
			case <-empty:
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// Enabled implements [slog.Handler]. The application's handler is asked only when lines are handed
// over. If it says then that it takes none of a level below warnings, that counts for a second.
func (h later) Enabled(_ context.Context, level slog.Level) bool {
	if h.to == nil || h.warnings || level >= slog.LevelWarn {
		return level >= slog.LevelWarn
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at, refused := h.refused[level]
	return !refused || time.Since(at) >= time.Second
}

// Handle implements [slog.Handler].
func (h later) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.lines) >= most {
		h.dropped++
		return nil
	}
	h.tellDropped()
	h.lines = append(h.lines, line{h, ctx, r.Clone()})
	if h.empty == nil {
		h.empty = make(chan struct{})
		go h.handOver() // owned by the outlet; ends when no line waits, or never if the handler never returns
	}
	return nil
}

// tellDropped adds a line that says how many were dropped, in their place. Under mu.
func (o *outlet) tellDropped() {
	if o.dropped > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log were dropped: its handler is slow, or has blocked", 0)
		r.AddAttrs(slog.Int("dropped", o.dropped))
		o.lines, o.dropped = append(o.lines, line{later{outlet: o}, context.Background(), r}), 0
	}
}

// handOver hands over the lines that wait.
func (o *outlet) handOver() {
	done := false
	defer func() {
		if !done {
			go o.handOver() // runtime.Goexit has ended this goroutine; another one goes on, as in Handle
		}
	}()
	for l, waits := o.next(); waits; l, waits = o.next() {
		l.handOver()
	}
	done = true
}

// next takes the line that has waited longest.
func (o *outlet) next() (l line, waits bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tellDropped()
	if len(o.lines) == 0 {
		close(o.empty)
		o.lines, o.empty = nil, nil
		return l, false
	}
	l, o.lines = o.lines[0], o.lines[1:]
	return l, true
}

func (l line) handOver() {
	defer func() { _ = recover() }()
	to := l.to
	if to == nil {
		to = slog.Default().Handler() //nolint:forbidigo // there is no other, and it is asked late
		if _, ours := to.(sparing); ours {
			return // the program's log was made out of this one
		}
	}
	for _, with := range l.with {
		to = with(to)
	}
	if to.Enabled(l.ctx, l.record.Level) {
		_ = to.Handle(l.ctx, l.record)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[l.record.Level] = time.Now()
}

// WithAttrs implements [slog.Handler].
func (h later) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derived(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h later) WithGroup(name string) slog.Handler {
	return h.derived(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h later) derived(with func(slog.Handler) slog.Handler) slog.Handler {
	return later{h.outlet, append(h.with[:len(h.with):len(h.with)], with)}
}
