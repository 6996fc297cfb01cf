package election

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Observe is a subscription to who leads: whole states, the newest replacing one that was not received, "nobody" among them, and never one older than
// the one before. The first comes once ZooKeeper could be asked; without a connection it is Stale and empty. It costs ZooKeeper one watch. It closes
// when ctx ends or the election is done.
func (e *Election) Observe(ctx context.Context) <-chan Leadership {
	o := &observer{election: e, out: notify.NewLatest[Leadership]()}
	go o.run(ctx) // owned by ctx and the election, ends with the first of them
	return o.out.C()
}

// observer follows the first in line. Its states are its methods: it looks who that is, follows that one's znode, or waits for anybody to come. What it sees
// never goes back, since what its session reads doesn't: within an epoch servers see to that, and an epoch begins with a sync.
type observer struct {
	election *Election
	statuses <-chan session.Status
	out      *notify.Latest[Leadership]

	last      Leadership // published last
	published bool
	over      bool // nobody observes any more, or there is nothing to observe
	offline   bool // the connection is down
	unsure    bool // the watched state is not confirmed since the connection was down
}

func (o *observer) run(ctx context.Context) {
	defer o.out.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.statuses = o.election.session.Observe(ctx)
	for failures := 0; !o.over; {
		if o.stage(ctx) {
			failures = 0
			continue
		}
		failures++
		next(o, time.After(backoff(failures)))
	}
}

// stage looks who is first and stays with that until it changes. false: it failed, or the observation is over.
func (o *observer) stage(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h, ok := o.look(ctx)
	switch {
	case !ok || h.err != nil:
		return false
	case h.path == "":
		return o.wait(o.election.session.WatchChildren(ctx, o.election.path))
	default:
		return o.follow(line.Follow(ctx, o.election.session, h.path))
	}
}

// head is who is first in line: the path of his znode, "" for nobody.
type head struct {
	path string
	err  error
}

// look asks who is first in line. false: the observation is over.
func (o *observer) look(ctx context.Context) (head, bool) {
	answer := notify.NewLatest[head]()
	go func() { // owned by stage: ends with its context
		path, err := line.Head(ctx, o.election.session, o.election.path)
		answer.Publish(head{path, err})
	}()
	return next(o, answer.C())
}

// follow publishes what the leader shows until he is gone. false: there is nothing to hear any more.
func (o *observer) follow(states <-chan session.Data) bool {
	for {
		state, ok := next(o, states)
		switch {
		case !ok:
			return false
		case state.Stale:
			o.unsure = true
			o.publish(o.last)
		case !state.Exists:
			o.unsure = false
			return true
		default:
			o.unsure = false
			o.publish(o.election.leadership(state.Bytes, state.Stat))
		}
	}
}

// wait publishes that there is no leader, until there is a candidate. false: there is nothing to hear any more.
func (o *observer) wait(states <-chan session.Children) bool {
	for {
		state, ok := next(o, states)
		switch {
		case !ok:
			return false
		case state.Stale:
			o.unsure = true
			o.publish(o.last)
		case anybody(state.Names):
			o.unsure = false
			return true
		default:
			o.unsure = false
			o.publish(Leadership{})
		}
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

// next receives, and meanwhile keeps what was published true: it says when the connection goes and comes. false: the channel closed, or the
// observation is over.
func next[T any](o *observer, in <-chan T) (v T, ok bool) {
	for !o.over {
		select {
		case v, ok = <-in:
			return v, ok
		case status, open := <-o.statuses:
			o.over = !open
			if open {
				o.onStatus(status)
			}
		case <-o.election.Done():
			o.over = true
		}
	}
	return v, false
}

func (o *observer) onStatus(s session.Status) {
	o.offline = s.State != session.Connected
	if o.offline || o.published {
		o.publish(o.last)
	}
}

func (o *observer) publish(l Leadership) {
	l.Stale = o.offline || o.unsure
	if o.published && l.equal(o.last) {
		return
	}
	o.last, o.published = l, true
	o.out.Publish(l)
}

// backoff is a jittered pause that grows with the number of failures in a row.
func backoff(failures int) time.Duration {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	pause := min(first<<min(failures, 10), most)
	return pause/2 + rand.N(pause/2)
}
