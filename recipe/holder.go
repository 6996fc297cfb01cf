package recipe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Holder is the client that has what others wait for, as it was read once.
type Holder struct {
	By      string    // as [session.Identity] prints it; "": not known
	Since   time.Time // when it entered the queue, by the server's clock
	Waiting int       // how many contenders wait besides the one that reads this; 0 also if that is not known
	Until   time.Time // the holder has died, and its delay ends then; zero: it holds
	seen    time.Time // when the read began
}

// String is "held by orders-7 on host a (pid 812), queued 41 s ago; 12 wait", or "delayed until …,
// after orders-7 …". If the read is long ago, its age is added. It is "" if nothing is known.
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

// rough is "41 s", and longer times as package time prints them. The server's clock may be ahead.
func rough(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(max(d, 0).Seconds()))
	}
	return d.Round(time.Second).String()
}

// readAfter is how long a wait lasts before it reads the holder. A quicker hand-over costs no
// request.
const readAfter = time.Second

// waits are the waits of this process by what they are for. All waits for one thing share the reads
// of its holder: a thousand callers cost no more reads than one.
var waits = struct {
	mu    sync.Mutex
	reads map[waitedFor]*holderReads
}{reads: make(map[waitedFor]*holderReads)}

type waitedFor struct {
	session *session.Session
	path    string
}

// holderReads are the reads of one holder.
type holderReads struct {
	waits  int
	ctx    context.Context // of the reads: it ends with the last of the waits
	cancel context.CancelFunc
	asked  time.Time // when the last read began
	found  Holder    // by the last read that was answered
}

// beginWait begins a wait for a possession. After a second it reads the holder, unless the wait or
// ctx has ended by then, or another wait has read it since this one began. A try does not wait, and
// reads nothing. end ends the wait, and returns the holder as it was read since the wait began.
func beginWait(ctx context.Context, cfg *ClaimsConfig, try bool) (end func() Holder) {
	if cfg.Holder == nil || try {
		return func() Holder { return Holder{} }
	}
	waits.mu.Lock()
	defer waits.mu.Unlock()
	of, began := waitedFor{cfg.Session, cfg.Path}, time.Now()
	reads := waits.reads[of]
	if reads == nil {
		reads = &holderReads{cancel: func() {}}
		waits.reads[of] = reads
	}
	reads.waits++
	timer := time.AfterFunc(readAfter, func() { reads.read(ctx, cfg, began) }) // ends with the last of the waits
	return func() (h Holder) {
		timer.Stop()
		waits.mu.Lock()
		defer waits.mu.Unlock()
		if reads.waits--; reads.waits == 0 {
			reads.cancel()
			delete(waits.reads, of)
		}
		if !reads.found.seen.Before(began) {
			h = reads.found
		}
		return h
	}
}

// read reads the holder for a wait that began then.
func (r *holderReads) read(ctx context.Context, cfg *ClaimsConfig, began time.Time) {
	asked := time.Now()
	waits.mu.Lock()
	due := ctx.Err() == nil && r.waits > 0 && r.asked.Before(began)
	if due {
		r.asked = asked
		if r.ctx == nil {
			r.ctx, r.cancel = context.WithCancel(context.Background()) // of all the waits
		}
	}
	waits.mu.Unlock()
	if !due {
		return
	}
	h, err := cfg.Holder(r.ctx)
	if err != nil || h.By == "" {
		return // there is nothing to say
	}
	h.seen = asked
	Logger(cfg.Session).Debug("what is wanted is held", "recipe", cfg.Kind, "path", cfg.Session.Path(cfg.Path), "holder", h.String())
	waits.mu.Lock()
	defer waits.mu.Unlock()
	if h.seen.After(r.found.seen) {
		r.found = h
	}
}

// lookedFor is the holder of what is waited for, by the last look.
func lookedFor(s *session.Session, path string) (h Holder) {
	waits.mu.Lock()
	defer waits.mu.Unlock()
	if reads := waits.reads[waitedFor{s, path}]; reads != nil {
		h = reads.found
	}
	return h
}

// readHolder reads the holder for the standing intent while the instance waits. It has no caller
// that an error could tell, but snapshots and the log.
func (c *core) readHolder(p machine.Phase) {
	c.ledger.mu.Lock()
	waiting := c.ledger.standing != nil && (p == machine.Determining || p == machine.Waiting)
	c.ledger.mu.Unlock()
	switch {
	case !waiting && c.endWait != nil:
		c.endWait()
		c.endWait = nil
	case waiting && c.endWait == nil:
		c.endWait = beginWait(context.Background(), &c.cfg, false)
	}
}

// holders are the possessions in this process that have not ended, by the absolute path of their
// recipe. They tell a caller that waits in vain that its own process holds.
var holders = struct {
	mu     sync.Mutex
	byPath map[string][]*Possession
}{byPath: make(map[string][]*Possession)}

// keep enters a possession among the holders until it ends, and sets the alarm for it.
func (g *grants) keep(p *Possession) {
	holders.mu.Lock()
	holders.byPath[p.tenure.host.at] = append(holders.byPath[p.tenure.host.at], p)
	holders.mu.Unlock()
	p.tenure.Warn(Alarm{
		Log: Logger(g.core.cfg.Session), Kind: g.core.cfg.Kind, Path: g.core.cfg.Session.Path(g.core.cfg.Path), After: g.core.cfg.WarnAfter, Asked: p.asked, Waiting: g.core.cfg.Waiting,
		Unreceived: "what was won is not received, and others wait for it", Held: "something is held for long, and others wait for it",
		Offered: p.offered, Received: p.received.Load,
	})
	if p.Err() != nil { // it ended before it was among the holders
		p.drop()
	}
}

// drop takes a possession that has ended from the holders.
func (p *Possession) drop() {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	left := slices.DeleteFunc(holders.byPath[p.tenure.host.at], func(q *Possession) bool { return q == p })
	if holders.byPath[p.tenure.host.at] = left; len(left) == 0 {
		delete(holders.byPath, p.tenure.host.at)
	}
}

// heldError is why a caller waited in vain.
type heldError struct {
	error
	by string
}

func (e *heldError) Error() string { return e.error.Error() + ": " + e.by }

func (e *heldError) Unwrap() error { return e.error }

// withHolder adds to the error of a wait the possession of this process that it waited for, or else
// the holder that was read.
func withHolder(cause error, s *session.Session, path string, other Holder) error {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	for _, p := range holders.byPath[s.Path(path)] {
		if seam.Beside.(func(a, b *session.Session) bool)(p.Session(), s) {
			had := "held"
			if p.offered && !p.received.Load() {
				had = "won, and not received,"
			}
			return &heldError{cause, fmt.Sprintf("%s in this process for %v, asked for at %v", had, time.Since(p.tenure.of.Time).Round(time.Millisecond), p.asked.At)}
		}
	}
	if by := other.String(); by != "" {
		return &heldError{cause, by}
	}
	return cause
}
