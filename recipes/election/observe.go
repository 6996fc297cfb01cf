package election

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Observe is a subscription to who leads: whole states, the newest replacing one that was not
// received, "nobody" among them, and never one older than the one before. The first comes once
// ZooKeeper could be asked; without a connection it is Stale and empty. It costs ZooKeeper one
// watch. It closes when ctx ends or the election is done. A leader that this session may not read
// is Unread: it is asked for again after pauses of up to some seconds, and so its successor may be
// seen that much later.
func (e *Election) Observe(ctx context.Context) <-chan Leadership {
	out := notify.NewLatest[Leadership]()
	p := &published{out: out}
	observe.Run(ctx, observe.Spec{
		Session: e.session, Kind: "election view", Path: e.path, Ended: func(error) { out.Close() },
		Begin: func(t *observe.Turn) { (&observer{published: p, election: e, turn: t}).begin() },
	})
	return out.C()
}

// published is what a subscription was told, over all incarnations of its actor.
type published struct {
	out  *notify.Latest[Leadership]
	last Leadership
	told bool
}

// observer follows the first in line: it looks who that is, follows that one's znode, or waits for
// anybody to come. What it sees never goes back, since what its session reads doesn't: within an
// epoch servers see to that, and an epoch begins with a sync.
type observer struct {
	*published
	election *Election
	turn     *observe.Turn

	leave    context.CancelFunc // what is looked at now
	failures int                // in a row
	offline  bool               // the connection is down
	unsure   bool               // the watched state is not confirmed since the connection was down
}

func (o *observer) begin() {
	observe.Each(o.turn.Context(), o.turn, o.election.session.Observe(o.turn.Context()), func(s session.Status, open bool) {
		if !open {
			o.turn.End()
			return
		}
		o.onStatus(s)
	})
	observe.Each(o.turn.Context(), o.turn, o.election.Done(), func(struct{}, bool) { o.turn.End() })
	o.look(nil)
}

// stage leaves what was looked at for something else.
func (o *observer) stage() context.Context {
	if o.leave != nil {
		o.leave()
	}
	var ctx context.Context
	ctx, o.leave = context.WithCancel(o.turn.Context())
	return ctx
}

// head is who is first in line: the path of its znode, "" for nobody.
type head struct {
	path string
	err  error
}

// look asks who is first in line. A listing that is known to be new, and in which somebody stands,
// need not be asked for.
func (o *observer) look(names []string) {
	ctx := o.stage()
	observe.Ask(ctx, o.turn, func(ctx context.Context) head {
		path, err := line.HeadOf(ctx, o.election.session, o.election.path, names)
		if path == "" && err == nil {
			path, err = line.Head(ctx, o.election.session, o.election.path)
		}
		return head{path, err}
	}, o.onHead)
}

func (o *observer) onHead(h head) {
	switch {
	case h.err != nil:
		o.failed()
	case h.path == "":
		ctx := o.stage()
		observe.Each(ctx, o.turn, o.election.session.WatchChildren(ctx, o.election.path), o.onLine)
	default:
		ctx := o.stage()
		observe.Each(ctx, o.turn, line.Follow(ctx, o.election.session, h.path), o.onLeader)
	}
}

// failed looks again after a pause.
func (o *observer) failed() {
	o.failures++
	observe.After(o.stage(), o.turn, backoff(o.failures), func() { o.look(nil) })
}

// onLeader takes what the leader shows, until it is gone.
func (o *observer) onLeader(state line.Sight, open bool) {
	switch {
	case !open:
		o.failed()
	case state.Stale:
		o.unsure = true
		o.publish(o.last)
	case !state.Exists:
		o.unsure, o.failures = false, 0
		o.look(nil)
	case state.Unread:
		o.unsure = false
		o.publish(Leadership{Present: true, Unread: true})
	default:
		o.unsure = false
		o.publish(o.election.leadership(state.Bytes, state.Stat))
	}
}

// onLine waits for a candidate.
func (o *observer) onLine(state session.Children, open bool) {
	switch {
	case !open:
		o.failed()
	case state.Stale:
		o.unsure = true
		o.publish(o.last)
	case anybody(state.Names):
		o.unsure, o.failures = false, 0
		o.look(state.Names)
	default:
		o.unsure = false
		o.publish(Leadership{})
	}
}

func anybody(names []string) bool {
	for _, name := range names {
		if _, ok := znode.ParseContender(name); ok {
			return true
		}
	}
	return false
}

func (o *observer) onStatus(s session.Status) {
	o.offline = s.State != session.Connected
	if o.offline || o.told {
		o.publish(o.last)
	}
}

func (o *observer) publish(l Leadership) {
	l.Stale = o.offline || o.unsure
	if o.told && l.equal(o.last) {
		return
	}
	o.last, o.told = l, true
	o.out.Publish(l)
}

// backoff is a jittered pause that grows with the number of failures in a row.
func backoff(failures int) time.Duration {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	pause := min(first<<min(failures, 10), most)
	return pause/2 + rand.N(pause/2)
}
