package election

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Leadership describes the leader as ZooKeeper sees it: the first candidate in the queue.
type Leadership struct {
	Present bool   // there is a leader; otherwise the rest is empty
	Name    string // of the candidate
	Data    []byte // of [WithData], or of a later Proclaim
	Token   int64  // of its term
	Self    bool   // it is this candidate. Only a [Term] entitles it to lead
	Ready   bool   // it has finished taking over: see [Term.Ready]
	Stale   bool   // the connection is down: this is the last known state

	// Unread: there is a leader, but this session may not read its znode. Then there are no Name,
	// Data, Token and Ready, and Self is false.
	Unread bool
}

// Current asks ZooKeeper for the leader. It syncs first (session.Session.Sync), so it sees
// everything that was decided before the call, or up to some milliseconds before it if the session
// is connected to the leader among ZooKeeper's servers. Errors: [ErrNoLeader] if there is no
// candidate; session.ErrNoAuth if the ACL forbids to list the candidates; session.ErrClosed; ctx's
// cause.
func (e *Election) Current(ctx context.Context) (Leadership, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
	}
	for {
		head, err := contenders.Head(ctx, e.session, e.path)
		if err != nil {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
		}
		if head == "" {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, ErrNoLeader)
		}
		raw, stat, err := e.session.Get(ctx, head)
		if errors.Is(err, session.ErrNoNode) {
			continue // it has left since the listing
		}
		if errors.Is(err, session.ErrNoAuth) {
			return Leadership{Present: true, Unread: true}, nil
		}
		if err != nil {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
		}
		return e.leadership(raw, stat), nil
	}
}

func (e *Election) leadership(raw []byte, stat session.Stat) Leadership {
	content := interpret(raw)
	return Leadership{
		Present: true, Name: content.ID, Data: content.Data, Token: stat.Czxid, Ready: content.Ready,
		Self: e.self(content.ID, stat.EphemeralOwner),
	}
}

func (l Leadership) equal(o Leadership) bool {
	return bytes.Equal(l.Data, o.Data) && l.Present == o.Present && l.Name == o.Name && l.Token == o.Token && l.Self == o.Self && l.Ready == o.Ready && l.Stale == o.Stale && l.Unread == o.Unread
}

// Candidate is one participant in the election, of this process or of any other. For candidates of
// other libraries, the data of the znode are the name.
type Candidate struct {
	Path      string           // of the znode
	Name      string           // see [WithName]; see Unread
	Data      []byte           // of [WithData], or of a later Proclaim
	Owner     session.Identity // whose it is, as it says itself; zero if it does not; see Unread
	Token     int64            // of its term, once it leads; see Unread
	SessionID int64            // the ZooKeeper session that owns it; see Unread
	Since     time.Time        // when it queued, by the server's clock; see Unread
	Leading   bool             // first in the queue
	Ready     bool             // it has called [Term.Ready]
	Self      bool             // it is this candidate

	// Unread: this session may not read the znode. Then there are no Name, Data and Owner, and
	// servers since 3.8.4 do not report Token, SessionID and Since either: these are 0. Leadership
	// can't be transferred to it: see [Term.TransferTo].
	Unread bool
}

// Candidates lists the leader and the waiting candidates, in order. It syncs first, as
// [Election.Current] does. A path that does not exist has no candidates. Errors: session.ErrNoAuth
// if the ACL forbids to list them; session.ErrClosed; ctx's cause.
func (e *Election) Candidates(ctx context.Context) ([]Candidate, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return nil, recipe.Failed(e.session, "candidates", e.path, err)
	}
	entries, err := contenders.Read(ctx, e.session, e.path)
	if err != nil {
		return nil, recipe.Failed(e.session, "candidates", e.path, err)
	}
	candidates := make([]Candidate, len(entries))
	for i, entry := range entries {
		content := interpret(entry.Data)
		candidates[i] = Candidate{
			Path: entry.Path, Name: content.ID, Data: content.Data, Owner: content.owner(), Token: entry.Token, SessionID: entry.SessionID, Since: entry.Since,
			Unread: entry.Unread, Leading: i == 0, Ready: content.Ready, Self: e.self(content.ID, entry.SessionID),
		}
	}
	return candidates, nil
}

// Break waits for a candidate (see [Election.Candidates]) to leave, and deletes its znode if it
// still exists after the grace period. If it leads, its term ends within a few milliseconds and a
// round trip, with session.ErrDeleted, and it may still be leading when the next one does: tokens
// cover that case. [Term.TransferTo] has no such overlap. A candidate that campaigns queues again
// at the end. Of the candidate only Path and Token are used.
//
// Break returns early when the candidate has left, and with ctx's cause, without deleting, when ctx
// ends first. It is no error if the candidate is gone. The znode of another candidate that was
// created later under its name has another token, and stays. Other errors: session.ErrNoAuth if the
// ACL forbids this session to read the znode, or to delete it; session.ErrInvalidPath if the
// candidate is not one of this election; session.ErrClosed.
func (e *Election) Break(ctx context.Context, c Candidate, grace time.Duration) error {
	err := e.check(c)
	if err == nil {
		ask := func(string) error { return nil } // a candidate can't be asked to go
		err = contenders.Break(ctx, e.session, c.Path, c.Token, grace, ask)
	}
	return recipe.Failed(e.session, "break", c.Path, err)
}

// check refuses what is no candidate of this election, so that no other znode is deleted.
func (e *Election) check(c Candidate) error {
	parent, name := znode.Split(c.Path)
	if _, ok := znode.ParseContender(name); parent != e.path || !ok {
		return fmt.Errorf("%w: Candidate.Path: not that of a candidate in this election", session.ErrInvalidPath)
	}
	return nil
}

// self tells whether a znode is this candidate's: it has this name and belongs to the current
// session. A znode that an earlier epoch left does not count.
func (e *Election) self(name string, owner int64) bool {
	return name == e.name && owner == e.session.Status().SessionID
}

// waiting is how many candidates do not lead.
func (e *Election) waiting(ctx context.Context) (int, error) {
	return contenders.Waiting(ctx, e.session, e.path)
}

// Observe subscribes to the leader: whole states, including "no leader", never one older than the
// one before; the newest replaces one that was not received. The first comes once ZooKeeper has
// answered; without a connection it is Stale and empty. It costs ZooKeeper one watch. The package
// closes the channel when ctx ends or the election is done. A leader that this session may not read
// is Unread: Observe reads again after pauses of up to some seconds, and so may report its
// successor that much later.
func (e *Election) Observe(ctx context.Context) <-chan Leadership {
	out := notify.NewLatest[Leadership]()
	p := &published{out: out}
	observe.Run(ctx, observe.Spec{
		Session: e.session, Kind: "election view", Path: e.path, Ended: func(error) { out.Close() },
		Begin: func(t *observe.Turn) { (&observer{published: p, election: e, turn: t}).begin() },
	})
	return out.C()
}

// published is the part of an observation that outlasts the incarnations of its actor.
type published struct {
	out  *notify.Latest[Leadership]
	last Leadership
	told bool // last was delivered
}

// observer follows the first candidate: it lists the candidates and watches the znode of the first,
// or waits for one to come. It never sees an older state after a newer one, since no read of its
// session does: within an epoch the servers ensure that, and an epoch begins with a sync.
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
	observe.Each(o.turn.Context(), o.turn, o.election.session.ObserveStatus(o.turn.Context()), func(s session.Status, open bool) {
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
		observe.Each(ctx, o.turn, o.election.session.WatchChildren(ctx, o.election.path), o.onCandidates)
	default:
		ctx := o.stage()
		observe.Each(ctx, o.turn, contenders.Follow(ctx, o.election.session, h.path), o.onLeader)
	}
}

// failed lists the candidates again after a pause.
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
	o.unsure = state.Stale
	switch {
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

// onCandidates waits for a candidate.
func (o *observer) onCandidates(state session.Children, open bool) {
	if !open {
		o.failed()
		return
	}
	o.unsure = state.Stale
	switch {
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
