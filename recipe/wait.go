package recipe

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Holder is who has what others wait for, as it was read once.
type Holder struct {
	By      string    // as [session.Identity] prints it; "": not known
	Since   time.Time // when it queued, by the server's clock
	Waiting int       // how many wait besides who asks; 0 also if that is not known
	Until   time.Time // it has died, and until then a delay is waited for; zero: it holds
	seen    time.Time
}

// String is "held by orders-7 on host a (pid 812), queued 41 s ago; 12 wait", or "delayed until …,
// after orders-7 …", with when that was seen if it was long ago. It is "" if nothing is known.
func (h Holder) String() string {
	if h.By == "" {
		return ""
	}
	text := fmt.Sprintf("held by %s, queued %s ago", h.By, rough(time.Since(h.Since)))
	if !h.Until.IsZero() {
		text = fmt.Sprintf("delayed until %s, after %s", h.Until.Format(time.RFC3339), h.By)
	}
	if h.Waiting > 0 {
		text += fmt.Sprintf("; %d wait", h.Waiting)
	}
	if age := time.Since(h.seen); age >= patience {
		text += fmt.Sprintf(" (seen %s ago)", rough(age))
	}
	return text
}

// rough is "41 s", and longer times as they are printed. The server's clock may be ahead.
func rough(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(max(d, 0).Seconds()))
	}
	return d.Round(time.Second).String()
}

// lookAfter is how long something is waited for before it is looked up who has it. So a hand-over
// that is quicker costs no request.
const lookAfter = time.Second

// place is what those wait for who share what was read.
type place struct {
	session *session.Session
	path    string
}

// looks are the lines in which somebody waits, with what was seen of them.
var looks = struct {
	mu     sync.Mutex
	byLine map[place]*reading
}{byLine: make(map[place]*reading)}

type reading struct {
	waits  int
	ctx    context.Context // of the reads: ends with the last of the waits
	cancel context.CancelFunc
	asked  time.Time // when the last read began
	found  Holder    // by the last that was answered
}

// wait is one wait for a possession. nil reads nothing.
type wait struct {
	*reading
	line  place
	began time.Time
	timer *time.Timer
}

// newWait begins a wait, of a try none. After a second it has the holder read, unless it has ended
// by then, or ctx has, or a read has begun since for another one.
func newWait(ctx context.Context, cfg *ClaimsConfig, try bool) *wait {
	if cfg.Holder == nil || try {
		return nil
	}
	looks.mu.Lock()
	defer looks.mu.Unlock()
	w := &wait{line: place{cfg.Session, cfg.Path}, began: time.Now()}
	if w.reading = looks.byLine[w.line]; w.reading == nil {
		w.reading = &reading{cancel: func() {}}
		looks.byLine[w.line] = w.reading
	}
	w.waits++
	w.timer = time.AfterFunc(lookAfter, func() { // ends with the last of the waits
		asked := time.Now()
		looks.mu.Lock()
		due := ctx.Err() == nil && w.waits > 0 && w.asked.Before(w.began)
		if due {
			w.asked = asked
			if w.ctx == nil {
				w.ctx, w.cancel = context.WithCancel(context.Background()) // of all the waits
			}
		}
		looks.mu.Unlock()
		if !due {
			return
		}
		h, err := cfg.Holder(w.ctx)
		if err != nil || h.By == "" {
			return // there is nothing to say
		}
		h.seen = asked
		Logger(cfg.Session).Debug("what is wanted is held", "recipe", cfg.Kind, "path", cfg.Session.Path(cfg.Path), "holder", h.String())
		looks.mu.Lock()
		defer looks.mu.Unlock()
		if h.seen.After(w.found.seen) {
			w.found = h
		}
	})
	return w
}

// end ends the wait, and its reads if it is the last one. It returns what has been seen since it
// began.
func (w *wait) end() (h Holder) {
	if w == nil {
		return h
	}
	w.timer.Stop()
	looks.mu.Lock()
	defer looks.mu.Unlock()
	if w.waits--; w.waits == 0 {
		w.cancel()
		delete(looks.byLine, w.line)
	}
	if !w.found.seen.Before(w.began) {
		h = w.found
	}
	return h
}

// readHolder has the holder read while the instance waits, if the log is to tell of that: nobody
// else hears what a standing intent waits for.
func (i *claims) readHolder(p machine.Phase) {
	switch {
	case p != machine.Determining && p != machine.Waiting:
		i.wait.end()
		i.wait = nil
	case i.wait == nil && Logger(i.cfg.Session).Enabled(context.Background(), slog.LevelDebug):
		i.wait = newWait(context.Background(), &i.cfg, false)
	}
}
