package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/troupe-go/troupe/session/internal/lease"
)

// story is what the log is told of losses, and of their ends: a line of the level of a warning for
// each loss, and one for its end. It is guarded.
type story struct {
	lines     []func()      // to be logged when the mutex is released: the application's handler may call the session
	ran       lease.Instant // when this process was last seen to run
	stood     time.Duration // the longest that it was not, since the last proof
	heard     lease.Instant // when what was answered last was sent; zero: nothing was in this epoch
	cut       bool          // the loss of the connection was a warning
	down      time.Time     // since when there is no connection, or no ZooKeeper session; zero: there is one
	untrusted time.Time     // since when the lack of trust is; zero: nothing was logged of one
	alarmed   bool          // that was a warning
	given     time.Duration // the timeout of the last ZooKeeper session; 0: there was none
}

// say logs something when the mutex is released.
func (g *guarded) say(level slog.Level, message string, args ...any) {
	log := g.session.log
	g.story.lines = append(g.story.lines, func() { log.Log(context.Background(), level, message, args...) })
}

// about says which ZooKeeper session a line of the log is about.
func (e *epoch) about(args ...any) []any {
	return append([]any{"session", hexID(e.sessionID), "epoch", e.number}, args...)
}

// possessed says what was held: how many, and the paths of the first five.
func (e *epoch) possessed(lost []string) []any {
	args := e.about("possessions", len(lost))
	if len(lost) > 0 {
		args = append(args, "paths", strings.Join(lost[:min(len(lost), 5)], ", "))
	}
	return args
}

// hexID is a session's id as ZooKeeper prints it.
func hexID(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// levelOf is that of a loss and of its end: a warning if something was lost.
func levelOf(lost bool) slog.Level {
	if lost {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// looks notes for how long this process has not run, when it looks at the clocks. It looks often
// while anything is held; less than a second may be anything.
func (k *keeper) looks(now lease.Instant) {
	s := &k.in.story
	if d := now.Since(s.ran); s.ran != (lease.Instant{}) && len(k.in.holds.all) > 0 && d >= time.Second {
		s.stood = max(s.stood, d)
	}
	s.ran = now
}

// hears notes an answer, to what was sent at that moment.
func (s *story) hears(sent lease.Instant) { s.heard = sent }

// silent is for how long there was no answer.
func (s *story) silent(now lease.Instant) time.Duration {
	if s.heard == (lease.Instant{}) {
		return 0
	}
	return now.Since(s.heard)
}

// lose ends what is held since there is no trust any more.
func (k *keeper) lose(e *epoch, now lease.Instant) {
	lost, s := k.in.holds.endAll(ErrUntrusted), &k.in.story
	if len(lost) == 0 && len(k.standby) == 0 {
		return
	}
	s.untrusted, s.alarmed = time.Now(), len(lost) > 0
	args := append(e.possessed(lost), "silent", round(s.silent(now)), "stood_still", round(s.stood))
	if e.server != "" {
		args = append(args, "server", e.server)
	}
	k.in.say(levelOf(s.alarmed), "trust in the ZooKeeper session has ended, and with it what was held", args...)
}

// trustIsBack tells the end of that.
func (k *keeper) trustIsBack(e *epoch) {
	if s := &k.in.story; !s.untrusted.IsZero() {
		k.in.say(levelOf(s.alarmed), "the ZooKeeper session is trusted again", e.about("after", round(time.Since(s.untrusted)))...)
		s.untrusted = time.Time{}
	}
}

// connectionLost tells what was lost with a connection, under WithStrict.
func (g *guarded) connectionLost(e *epoch, lost []string) {
	if e.begun {
		g.isDown()
	}
	if g.story.cut = len(lost) > 0; g.story.cut {
		g.say(slog.LevelWarn, "the connection is lost, and with it what was held", e.possessed(lost)...)
	}
}

// connectionBack tells the end of that.
func (g *guarded) connectionBack(e *epoch) {
	if g.story.cut {
		g.say(slog.LevelWarn, "the connection is back", e.about("server", e.server, "after", round(time.Since(g.story.down)))...)
	}
	g.story.cut = false
	if e.begun {
		g.story.down = time.Time{}
	}
}

func (g *guarded) isDown() {
	if g.story.down.IsZero() {
		g.story.down = time.Now()
	}
}

// epochOver tells that a ZooKeeper session has ended, and what was lost with it.
func (g *guarded) epochOver(e *epoch, lost []string, cause error) {
	s, silent := &g.story, g.story.silent(g.session.clock.now())
	s.heard, s.stood, s.cut, s.untrusted = lease.Instant{}, 0, false, time.Time{}
	if e.begun && !g.closing {
		g.isDown()
		g.say(slog.LevelWarn, "the ZooKeeper session has ended", append(e.possessed(lost), "cause", cause, "silent", round(silent))...)
	}
}

// epochBegun tells that a ZooKeeper session has begun. After the first one that ends the warning of
// the end of the one before.
func (g *guarded) epochBegun(e *epoch) {
	level, after := slog.LevelInfo, time.Duration(0)
	if !g.story.down.IsZero() {
		level, after = slog.LevelWarn, time.Since(g.story.down)
	}
	g.story.down = time.Time{}
	if asked := g.session.cfg.timeout; e.timeout != asked && e.timeout != g.story.given {
		g.say(slog.LevelWarn, "the servers have given another session timeout than was asked for", e.about("asked", asked, "given", e.timeout)...)
	}
	g.story.given = e.timeout
	g.say(level, "a ZooKeeper session has begun", e.about("timeout", e.timeout, "server", e.server, "after", round(after))...)
}

// holdLost tells that one possession was lost, and the session stands.
func (g *guarded) holdLost(h *Hold, cause error) {
	if !errors.Is(cause, ErrReleased) && !errors.Is(cause, ErrClosed) {
		g.say(slog.LevelWarn, "a possession is lost", h.epoch.about("recipe", h.client.name, "path", g.session.Path(h.path), "token", h.token, "cause", cause)...)
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
