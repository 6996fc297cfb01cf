package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Follow checks the sequencer like [Check] and returns a context that is cancelled when the
// possession ends, with the cause [ErrFenced]. The context descends from ctx: end ctx to stop
// following. While s is disconnected the context stays open; Follow learns what happened after the
// reconnection, in the next epoch of s if necessary. The cause is session.ErrClosed if s is closed,
// session.ErrNoAuth if the ACL does not let s read the znode, and session.ErrRestarted if the
// follower's actor panicked too often, which is logged.
//
// The context ends after the possession has. For what must not happen after the end, use a [Gate],
// or call Check right before it.
func Follow(ctx context.Context, s *session.Session, q Sequencer) (context.Context, error) {
	if err := Check(ctx, s, q); err != nil {
		return nil, err
	}
	path, err := locate("follow", s, q)
	if err != nil {
		return nil, err
	}
	seam.Start.(func(*session.Session))(s)
	followed, cancel := context.WithCancelCause(ctx)
	f := &follower{session: s, path: path, of: q, cancel: cancel}
	observe.Run(followed, observe.Spec{Session: s, Kind: "fence", Path: path, Ended: f.ended, Begin: f.begin})
	return followed, nil
}

// follower reads the znode, with a watch, whenever there is an event. It does not use a
// subscription of the session, which would wait for the znode to be created again.
type follower struct {
	session *session.Session
	path    string
	of      Sequencer
	cancel  context.CancelCauseFunc
}

func (f *follower) begin(t *observe.Turn) {
	var client seam.Client
	client, err := seam.NewClient(f.session, "fence:"+f.path, func(n seam.Event) {
		t.Do(func() { f.saw(t, client, n) })
	}, nil)
	if err != nil {
		f.cancel(err)
		return
	}
	context.AfterFunc(t.Context(), client.Leave)
}

// saw handles an event of the session. A watch survives every disconnection of its epoch.
func (f *follower) saw(t *observe.Turn, client seam.Client, n seam.Event) {
	switch n := n.(type) {
	case machine.EpochBegan:
		f.read(t, client, n.Epoch)
	case machine.Fired:
		f.read(t, client, n.Epoch)
	case seam.SessionEnded:
		f.cancel(n.Cause)
	}
}

// read reads the znode. A reply of an earlier epoch means nothing.
func (f *follower) read(t *observe.Turn, client seam.Client, epoch uint64) {
	client.Read(epoch, f.path, true, func(a seam.Seen) {
		t.Do(func() {
			if err := decide(f.of, a); err != nil {
				f.cancel(err)
			}
		})
	})
}

// ended ends the context. Without another cause, the session has ended, or this follower exceeded
// its restarts.
func (f *follower) ended(givenUp error) {
	err := f.session.Err()
	switch {
	case givenUp != nil:
		err = fmt.Errorf("%w: %w", session.ErrRestarted, givenUp)
	case err == nil:
		err = session.ErrClosed
	}
	f.cancel(err)
}

// decide tells whether a reply ends the following. The end of the epoch does not: the next epoch
// brings events.
func decide(q Sequencer, a seam.Seen) error {
	switch {
	case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
		return nil // an event will say so
	case a.Err != nil:
		return a.Err
	}
	return compare("follow", q, a.Exists, session.Stat(a.Stat), a.Data)
}
