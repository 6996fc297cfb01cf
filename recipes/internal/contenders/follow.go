package contenders

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Follow delivers the state of a contender until it is deleted: the current state first, then each
// newer one; the newest replaces one that was not received. The last state is that it does not
// exist; then the channel closes. Follow continues in the session's next epoch. The channel also
// closes when ctx or the session ends.
//
// While the session may not read the contender, the state is Unread, and the read is repeated after
// pauses of up to five seconds. So the contender's end is noticed.
//
// session.WatchData would wait for the znode to be created again. A contender's znode never is, and
// setting and removing that watch would cost two requests for each contender that was ever the
// leader.
func Follow(ctx context.Context, s *session.Session, path string) <-chan Observation {
	out := notify.NewLatest[Observation]()
	ctx, cancel := context.WithCancel(ctx)
	var log atomic.Pointer[slog.Logger]
	ref, err := actors.Spawn(recipe.Scope(s), actors.Spec[sighted]{
		Name: "contender:" + path, Kind: "watch",
		New: func(self actors.Self[sighted]) actors.Receiver[sighted] {
			log.Store(self.Log())
			return newFollower(s, path, out, self)
		},
		Ended: func(cause error) {
			if errors.Is(cause, actors.ErrGivenUp) {
				log.Load().Error("a watch has ended", "cause", cause)
			}
			cancel()
			out.Close()
		},
	})
	if err != nil { // the session is closed
		cancel()
		out.Close()
		return out.C()
	}
	context.AfterFunc(ctx, ref.Stop)
	return out.C()
}

// Observation is the state of a contender.
type Observation struct {
	session.Data
	Unread bool // it exists, but the session may not read it: Bytes and Stat are zero
}

// sighted is a message to a follower. The set is closed.
type sighted interface{ sighted() }

type (
	noticed struct{ notice seam.Event }
	seen    struct {
		by   *follower
		seen seam.Seen
	}
	again struct{ by *follower } // after a pause
)

func (noticed) sighted() {}
func (seen) sighted()    {}
func (again) sighted()   {}

// follower is one incarnation of the actor that reads a contender and watches it. It has at most
// one read in flight.
type follower struct {
	// Set once.
	path   string
	out    *notify.Latest[Observation]
	self   actors.Self[sighted]
	client seam.Client // nil if the session is closed, which also stops this actor

	// The epoch and the read.
	epoch uint64      // 0: none
	up    bool        // the connection is there
	busy  bool        // a read is in flight
	dirty bool        // something has happened since that read was requested
	tries int         // number of failed reads in a row
	pause *time.Timer // after a failed read

	// The result.
	last  Observation
	known bool // last was published
}

func newFollower(s *session.Session, path string, out *notify.Latest[Observation], self actors.Self[sighted]) *follower {
	f := &follower{path: path, out: out, self: self}
	recipe.Start(s)
	f.client, _ = seam.NewClient(s, "contender:"+path, func(n seam.Event) { self.Ref().Tell(noticed{n}) }, nil)
	return f
}

// Receive implements [actors.Receiver].
func (f *follower) Receive(m sighted) {
	switch m := m.(type) { // one to an earlier incarnation is dropped
	case noticed:
		f.onNotice(m.notice)
	case seen:
		if m.by == f && m.seen.Epoch == f.epoch {
			f.onSeen(m.seen)
		}
	case again:
		if m.by == f {
			f.read()
		}
	}
}

// Stopping releases the incarnation's client.
func (f *follower) Stopping(error) {
	if f.client != nil {
		f.client.Leave()
	}
	if f.pause != nil {
		f.pause.Stop()
	}
}

func (f *follower) onNotice(n seam.Event) {
	switch n := n.(type) {
	case machine.EpochBegan:
		f.epoch, f.up, f.busy, f.dirty = n.Epoch, true, false, false
		f.read()
	case machine.Suspended:
		f.up = false
		f.publish(f.last)
	case machine.Resumed:
		f.up = true
		if f.known && !f.busy && f.tries == 0 {
			f.publish(f.last) // the contender is watched: the server tells what has changed meanwhile
		} else {
			f.read()
		}
	case seam.EpochEnded:
		f.epoch, f.up = 0, false
		f.publish(f.last)
	case machine.Fired:
		if n.Change == machine.Deleted {
			f.gone()
			return
		}
		f.read()
	}
}

// gone publishes the last state, that the contender does not exist, and stops the actor.
func (f *follower) gone() {
	f.out.Publish(Observation{})
	f.self.Ref().Stop()
}

func (f *follower) read() {
	switch {
	case f.epoch == 0:
	case f.busy:
		f.dirty = true
	default:
		f.busy, f.dirty = true, false
		f.client.Read(f.epoch, f.path, true, func(a seam.Seen) { f.self.Ref().Tell(seen{f, a}) })
	}
}

func (f *follower) onSeen(a seam.Seen) {
	f.busy = false
	switch {
	case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
		return // an event will report it
	case a.Err != nil: // retry: an administrator may grant the right to read it
		if errors.Is(a.Err, session.ErrNoAuth) && !(f.last.Unread && !f.last.Stale) {
			f.known = true
			f.publish(Observation{Data: session.Data{Exists: true}, Unread: true})
		}
		f.tries++
		f.pause = time.AfterFunc(observe.Backoff(f.tries), func() { f.self.Ref().Tell(again{f}) })
		return
	case !a.Exists:
		f.gone()
		return
	}
	f.tries, f.known = 0, true
	f.publish(Observation{Data: session.Data{Exists: true, Bytes: a.Data, Stat: session.Stat(a.Stat)}})
	if f.dirty {
		f.read()
	}
}

// publish publishes a state, stale if the connection is down, once one is known.
func (f *follower) publish(d Observation) {
	if !f.known {
		return
	}
	d.Stale = !f.up
	f.last = d
	f.out.Publish(d)
}
