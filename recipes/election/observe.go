package election

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Observe subscribes to the leader: whole states, including "no leader", never one older than the
// one before; the newest replaces one that was not received. The first comes once ZooKeeper has
// answered; without a connection it is Stale and empty. It costs ZooKeeper one watch. The channel
// closes when ctx ends or the election is done. A leader that this session may not read is Unread:
// Observe reads again after pauses of up to some seconds, and so may report its successor that much
// later.
func (e *Election) Observe(ctx context.Context) <-chan Leadership {
	out := notify.NewLatest[Leadership]()
	p := &published{out: out}
	observe.Run(ctx, observe.Spec{
		Session: e.session, Kind: "election view", Path: e.path, Ended: func(error) { out.Close() },
		Begin: func(t *observe.Turn) { (&observer{published: p, election: e, turn: t}).begin() },
	})
	return out.C()
}

// published is what a subscription has delivered, over all incarnations of its actor.
type published struct {
	out  *notify.Latest[Leadership]
	last Leadership
	told bool
}

// observer follows the first candidate: it lists the candidates and watches the znode of the first,
// or waits for one to come. What it sees never goes back, since the reads of its session don't:
// within an epoch the servers ensure that, and an epoch begins with a sync.
type observer struct {
	*published
	election *Election
	turn     *observe.Turn

	leave    context.CancelFunc // ends the current stage
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
	o.readLeader(nil)
}

// stage ends the current watch and returns the context of the next one.
func (o *observer) stage() context.Context {
	if o.leave != nil {
		o.leave()
	}
	var ctx context.Context
	ctx, o.leave = context.WithCancel(o.turn.Context())
	return ctx
}

// head is the first candidate in the queue: the path of its znode, "" if there is none.
type head struct {
	path string
	err  error
}

// readLeader finds the first candidate. If names is a listing that is known to be new and not
// empty, it is not read again.
func (o *observer) readLeader(names []string) {
	ctx := o.stage()
	observe.Ask(ctx, o.turn, func(ctx context.Context) head {
		path, err := contenders.HeadOf(ctx, o.election.session, o.election.path, names)
		if path == "" && err == nil {
			path, err = contenders.Head(ctx, o.election.session, o.election.path)
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
		observe.Each(ctx, o.turn, contenders.Follow(ctx, o.election.session, h.path), o.onLeader)
	}
}

// failed looks again after a pause.
func (o *observer) failed() {
	o.failures++
	observe.After(o.stage(), o.turn, observe.Backoff(o.failures), func() { o.readLeader(nil) })
}

// onLeader handles the states of the leader's znode, until it is gone.
func (o *observer) onLeader(state contenders.Observation, open bool) {
	if !open {
		o.failed()
		return
	}
	switch o.unsure = state.Stale; {
	case state.Stale:
		o.publish(o.last)
	case !state.Exists:
		o.failures = 0
		o.readLeader(nil)
	case state.Unread:
		o.publish(Leadership{Present: true, Unread: true})
	default:
		o.publish(o.election.leadership(state.Bytes, state.Stat))
	}
}

// onLine waits for a candidate.
func (o *observer) onLine(state session.Children, open bool) {
	if !open {
		o.failed()
		return
	}
	switch o.unsure = state.Stale; {
	case state.Stale:
		o.publish(o.last)
	case len(znode.NewContenders(state.Names).Contenders) > 0:
		o.failures = 0
		o.readLeader(state.Names)
	default:
		o.publish(Leadership{})
	}
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
