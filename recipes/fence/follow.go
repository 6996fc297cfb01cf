package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Follow checks the sequencer as [Check] does and returns a context that is cancelled, with an
// error that is [ErrFenced] as its cause, when the possession ends. It descends from ctx: end ctx
// to stop following. While s is disconnected it learns nothing and the context stays open; what
// happened meanwhile is learnt with the reconnection, in the next epoch of s if need be. If there
// is nothing to be learnt any more, since s is closed or may not read the znode, the cause is that
// error; session.ErrRestarted if it failed too often, which the log says.
//
// The context is word of the end, and comes after it. What must not happen behind the end belongs
// into a [Gate] or a Check of its own.
func Follow(ctx context.Context, s *session.Session, q Sequencer) (context.Context, error) {
	if err := Check(ctx, s, q); err != nil {
		return nil, err
	}
	path, err := locate(s, q)
	if err != nil {
		return nil, err
	}
	s.Start()
	followed, cancel := context.WithCancelCause(ctx)
	f := &follower{session: s, path: path, of: q, cancel: cancel}
	observe.Run(followed, observe.Spec{Session: s, Kind: "fence", Path: path, Ended: f.ended, Begin: f.begin})
	return followed, nil
}

// follower reads the znode, with a watch, whenever there is news. It is no subscription of the
// session's: that would wait for the znode to come back.
type follower struct {
	session *session.Session
	path    string
	of      Sequencer
	cancel  context.CancelCauseFunc
}

func (f *follower) begin(t *observe.Turn) {
	var seat *session.Seat
	seat, err := f.session.Seat("fence:"+f.path, func(n session.Notice) {
		t.Do(func() { f.note(t, seat, n) })
	})
	if err != nil {
		f.cancel(err)
		return
	}
	context.AfterFunc(t.Context(), seat.Leave)
}

// note takes what the session says. A watch stands, and fires, through every disconnection of its
// epoch.
func (f *follower) note(t *observe.Turn, seat *session.Seat, n session.Notice) {
	switch n := n.(type) {
	case session.EpochBegan:
		f.read(t, seat, n.Epoch)
	case session.Fired:
		f.read(t, seat, n.Epoch)
	case session.SessionEnded:
		f.cancel(n.Cause)
	}
}

// read reads the znode. What comes of an epoch that is over says nothing.
func (f *follower) read(t *observe.Turn, seat *session.Seat, epoch uint64) {
	seat.Read(epoch, f.path, true, func(a session.Seen) {
		t.Do(func() {
			if err := judge(f.of, a); err != nil {
				f.cancel(err)
			}
		})
	})
}

// ended: nothing is followed any more. Where nobody has said why, it is the session that is over,
// or this follower that was given up.
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

// judge says whether what was read ends the following. The end of the epoch it was read in does
// not: the next one brings news.
func judge(q Sequencer, a session.Seen) error {
	switch {
	case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
		return nil // word of that is on its way
	case a.Err != nil:
		return a.Err
	}
	return compare(q, a.Exists, a.Stat, a.Data)
}
