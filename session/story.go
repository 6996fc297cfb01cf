package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// story writes the log of losses, and of their ends: a warning for each loss, and a line at Info
// for its end. It is guarded.
type story struct {
	lines []func() // to be logged when the mutex is released: the application's handler may call the session
	// What warnings tell as causes.
	ran   lease.Instant // when this process was last seen to run
	stood time.Duration // the longest time that it did not run, since the last proof
	heard lease.Instant // when the request was sent that was answered last; zero: none was in this epoch
	given time.Duration // the timeout of the last ZooKeeper session; 0: there was none
	// Losses whose end is to be logged.
	cut       bool      // the loss of the connection was a warning
	down      time.Time // since when there is no connection, or no ZooKeeper session; zero: there is one
	untrusted time.Time // since when trust is lacking; zero: nothing was logged about that
	// Losses that are not logged yet: see holdLost.
	deleted   []*Hold
	deletedAt lease.Instant // when the last of them was deleted
}

const ends = slog.LevelWarn - 1 // of a line that ends a warning: Info, wherever that was written

// say logs something when the mutex is released.
func (g *guarded) say(level slog.Level, message string, args ...any) {
	log := g.session.log
	if level == ends {
		log, level = logs.Ends(log), slog.LevelInfo
	}
	g.story.lines = append(g.story.lines, func() { log.Log(context.Background(), level, message, args...) })
}

// about says which ZooKeeper session a line of the log is about.
func (e *epoch) about(args ...any) []any {
	return append([]any{"session", hexID(e.sessionID), "epoch", e.number}, args...)
}

// possessed says what was held, if anything was: how many, and the paths of the first five.
func (e *epoch) possessed(lost []string) []any {
	if len(lost) == 0 {
		return e.about()
	}
	return e.about("possessions", len(lost), "paths", strings.Join(lost[:min(len(lost), 5)], ", "))
}

// hexID is a session's id as ZooKeeper prints it.
func hexID(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// sawClock records for how long this process has not run, each time that the clocks are read. While
// anything is held they are read often; a gap of less than a second may be anything.
func (k *keeper) sawClock(now lease.Instant) {
	s := &k.in.story
	if d := now.Since(s.ran); s.ran != (lease.Instant{}) && len(k.in.holds) > 0 && d >= time.Second {
		s.stood = max(s.stood, d)
		k.in.emit(Event{Kind: EventStalled, Took: d})
	}
	s.ran = now
}

// hears records an answer to a request that was sent at that moment.
func (g *guarded) hears(sent lease.Instant) {
	g.story.heard = sent
	if sent.Mono >= g.story.deletedAt.Mono {
		g.tellDeleted()
	}
}

func (s *story) silent(now lease.Instant) time.Duration {
	if s.heard == (lease.Instant{}) {
		return 0
	}
	return now.Since(s.heard)
}

// lose ends all holds, since there is no trust any more, and logs that.
func (k *keeper) lose(e *epoch, now lease.Instant) {
	lost, s := k.in.endHolds(ErrUntrusted), &k.in.story
	if len(lost) == 0 {
		return
	}
	s.untrusted = time.Now()
	args := append(e.possessed(lost), "silent", round(s.silent(now)), "stood_still", round(s.stood))
	if e.server != "" {
		args = append(args, "server", e.server)
	}
	k.in.say(slog.LevelWarn, "trust in the ZooKeeper session has ended, and with it what was held", args...)
}

func (k *keeper) trustIsBack(e *epoch) {
	if s := &k.in.story; !s.untrusted.IsZero() {
		k.in.say(ends, "the ZooKeeper session is trusted again", e.about("after", round(time.Since(s.untrusted)))...)
		s.untrusted = time.Time{}
	}
}

func (g *guarded) connectionLost(e *epoch, lost []string) {
	if e.begun {
		g.story.down = cmp.Or(g.story.down, time.Now())
	}
	if g.story.cut = len(lost) > 0; g.story.cut {
		g.say(slog.LevelWarn, "the connection is lost, and with it what was held", e.possessed(lost)...)
	}
}

func (g *guarded) connectionBack(e *epoch) {
	if g.story.cut {
		g.say(ends, "the connection is back", e.about("server", e.server, "after", round(time.Since(g.story.down)))...)
	}
	g.story.cut = false
	if e.begun {
		g.story.down = time.Time{}
	}
}

// epochOver tells that a ZooKeeper session has ended, and what was lost with it.
func (g *guarded) epochOver(e *epoch, lost []string, cause error) {
	s, silent := &g.story, g.story.silent(g.session.clock.now())
	for _, h := range s.deleted { // the end of the session was the reason
		lost = append(lost, g.session.Path(h.path))
	}
	s.heard, s.stood, s.cut, s.untrusted, s.deleted = lease.Instant{}, 0, false, time.Time{}, nil
	if e.begun {
		g.emit(Event{Kind: EventEpochEnded, Epoch: e.number, SessionID: e.sessionID, Took: silent, Err: cause})
	}
	if e.begun && !g.closing {
		g.story.down = cmp.Or(g.story.down, time.Now())
		g.say(slog.LevelWarn, "the ZooKeeper session has ended", append(e.possessed(lost), "cause", cause, "silent", round(silent))...)
	}
}

// epochBegun logs that a ZooKeeper session has begun. The line ends the warning that the one before
// has ended.
func (g *guarded) epochBegun(e *epoch) {
	level, after := slog.LevelInfo, time.Duration(0)
	if !g.story.down.IsZero() {
		level, after = ends, time.Since(g.story.down)
	}
	g.story.down = time.Time{}
	if asked := g.session.cfg.timeout; e.timeout != asked && e.timeout != g.story.given {
		g.say(slog.LevelWarn, "the servers have given another session timeout than was asked for", e.about("asked", asked, "given", e.timeout)...)
	}
	g.story.given = e.timeout
	g.emit(Event{Kind: EventEpochBegan, Epoch: e.number, SessionID: e.sessionID, Took: after})
	g.say(level, "a ZooKeeper session has begun", e.about("timeout", e.timeout, "server", e.server, "after", round(after))...)
}

// holdLost tells that one possession was lost, and the session stands. A deletion may come of the
// session's end, which is not known yet: it is logged when a request that was sent since is
// answered, or after a sixth of the timeout.
func (g *guarded) holdLost(h *Hold, cause error) {
	switch now := g.session.clock.now(); {
	case errors.Is(cause, ErrReleased), errors.Is(cause, ErrClosed):
	case errors.Is(cause, ErrDeleted):
		g.story.deleted, g.story.deletedAt = append(g.story.deleted, h), now
		g.keeper.set(&g.keeper.lossTimer, now, now.Add(g.keeper.lease.SyncEvery()))
	default:
		g.sayLost(h, cause)
	}
}

func (g *guarded) sayLost(h *Hold, cause error) {
	recipe, _, _ := strings.Cut(h.client.name, ":") // behind that is the path
	g.say(slog.LevelWarn, "a possession is lost", h.epoch.about("recipe", recipe, "path", g.session.Path(h.path), "token", h.token, "cause", cause)...)
}

// tellDeleted logs the deletions that were held back: the end of the session was not their reason.
func (g *guarded) tellDeleted() {
	for _, h := range g.story.deleted {
		g.sayLost(h, ErrDeleted)
	}
	g.story.deleted = nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// outage adds to an error, which may be nil, why the epoch has no connection; if it has one, that
// is the error. Also of an epoch that is being closed.
func (e *epoch) outage(err error) error {
	if e == nil || e.conn == nil || errors.Is(err, zkconn.ErrDown) {
		return err
	}
	switch down := e.conn.Outage(); {
	case down == nil:
		return err
	case err == nil:
		return down
	default:
		return fmt.Errorf("%w: %w", down, err)
	}
}

// outage is that of the present epoch, while a connection is looked for.
func (g *guarded) outage(err error) error {
	if g.cur == nil || g.cur.ended || g.closing {
		return err
	}
	return g.cur.outage(err)
}

// because adds to the end of a wait why there is no connection, if there is none.
func (s *state) because(err error) error {
	g := s.lock()
	defer g.unlock()
	return g.outage(err)
}

// failed is seam.Failed: what a recipe waited for may have ended with its context.
func (s *Session) failed(op, path string, err error) error {
	if s == nil {
		return new(namespace).failed(op, path, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = s.state.because(err)
	}
	return s.space.failed(op, path, err)
}
