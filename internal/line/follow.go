package line

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session"
)

// Follow is a subscription to a contender's data until it is gone: the present state first, then
// each newer one, replacing one that was not received, and at last one that does not exist, after
// which it closes. It goes on in the next epoch of the session that looks, and closes when ctx or
// that session ends.
//
// One that this session may not read is Unread for as long as that is so: it is asked again after
// pauses of up to some seconds, by which its end is noticed.
//
// In that it differs from session.WatchData, which waits for the znode to come back. A contender
// never does, and asking ZooKeeper to watch for that, and then not to, would be two requests for
// each one that ever led.
func Follow(ctx context.Context, s *session.Session, path string) <-chan Sight {
	out := notify.NewLatest[Sight]()
	ctx, cancel := context.WithCancel(ctx)
	var log atomic.Pointer[slog.Logger]
	ref, err := actors.Spawn(s.Scope(), actors.Spec[sighted]{
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

// Sight is a contender as it was seen.
type Sight struct {
	session.Data
	Unread bool // it exists, and this session may not read it: Bytes and Stat are zero
}

// sighted is what a follower receives. The set is closed.
type sighted interface{ sighted() }

type (
	noticed struct{ notice session.Event }
	seen    struct {
		by   *follower
		seen session.Seen
	}
	again struct{ by *follower } // after a pause
)

func (noticed) sighted() {}
func (seen) sighted()    {}
func (again) sighted()   {}

// follower is one incarnation of the actor that reads a contender and watches it. One read is under
// way at a time.
type follower struct {
	path   string
	out    *notify.Latest[Sight]
	self   actors.Self[sighted]
	client *session.Client // nil if the session is closed, which stops this actor too

	epoch uint64 // 0: none
	up    bool
	busy  bool // a read is under way
	dirty bool // something happened since it was asked for
	tries int  // reads failed in a row
	pause *time.Timer

	last  Sight
	known bool // last was published
}

func newFollower(s *session.Session, path string, out *notify.Latest[Sight], self actors.Self[sighted]) *follower {
	f := &follower{path: path, out: out, self: self}
	ref := self.Ref()
	s.Start()
	f.client, _ = s.Client("contender:"+path, func(n session.Event) { ref.Tell(noticed{n}) })
	return f
}

// Receive implements [actors.Receiver].
func (f *follower) Receive(m sighted) {
	switch m := m.(type) {
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

// Stopping gives up the incarnation's client.
func (f *follower) Stopping(error) {
	if f.client != nil {
		f.client.Leave()
	}
	if f.pause != nil {
		f.pause.Stop()
	}
}

func (f *follower) onNotice(n session.Event) {
	switch n := n.(type) {
	case session.EpochBegan:
		f.epoch, f.up, f.busy, f.dirty = n.Epoch, true, false, false
		f.read()
	case session.Disconnected:
		f.up = false
		f.publish(f.last)
	case session.Reconnected:
		f.up = true
		f.read() // what was seen is confirmed, or not, before it is called fresh
	case session.EpochEnded:
		f.epoch, f.up = 0, false
		f.publish(f.last)
	case session.Fired:
		if n.Type == session.NodeDeleted {
			f.gone()
			return
		}
		f.read()
	}
}

// gone says that the contender is, which is the last that there is to say.
func (f *follower) gone() {
	f.out.Publish(Sight{})
	f.self.Ref().Stop()
}

func (f *follower) read() {
	switch {
	case f.epoch == 0:
	case f.busy:
		f.dirty = true
	default:
		f.busy, f.dirty = true, false
		ref := f.self.Ref()
		f.client.Read(f.epoch, f.path, true, func(a session.Seen) { ref.Tell(seen{f, a}) })
	}
}

func (f *follower) onSeen(a session.Seen) {
	f.busy = false
	switch {
	case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
		return // word of that is on its way
	case a.Err != nil: // somebody may grant the right, say
		if errors.Is(a.Err, session.ErrNoAuth) && !(f.last.Unread && !f.last.Stale) {
			f.known = true
			f.publish(Sight{Data: session.Data{Exists: true}, Unread: true})
		}
		f.tries++
		ref := f.self.Ref()
		f.pause = time.AfterFunc(backoff(f.tries), func() { ref.Tell(again{f}) })
		return
	case !a.Exists:
		f.gone()
		return
	}
	f.tries, f.known = 0, true
	f.publish(Sight{Data: session.Data{Exists: true, Bytes: a.Data, Stat: a.Stat}})
	if f.dirty {
		f.read()
	}
}

// publish says what was seen last, and whether that was lately.
func (f *follower) publish(d Sight) {
	if !f.known {
		return
	}
	d.Stale = !f.up
	f.last = d
	f.out.Publish(d)
}
