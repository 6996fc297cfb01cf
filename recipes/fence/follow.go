package fence

import (
	"context"

	"github.com/troupe-go/troupe/session"
)

// Follow checks the sequencer as [Check] does and returns a context that is cancelled, with an error that is [ErrFenced] as its cause, when the
// possession ends. It descends from ctx: end ctx to stop following. While s is disconnected it learns nothing and the context stays open; what happened
// meanwhile is learnt with the reconnection. If s is closed, the cause is the session's error.
//
// The context is word of the end, and comes after it. What must not happen behind the end belongs into a [Gate] or a Check of its own.
func Follow(ctx context.Context, s *session.Session, q Sequencer) (context.Context, error) {
	if err := Check(ctx, s, q); err != nil {
		return nil, err
	}
	path, err := locate(s, q)
	if err != nil {
		return nil, err
	}
	followed, cancel := context.WithCancelCause(ctx)
	states := s.WatchData(followed, path)
	go func() { // owned by ctx: ends with it, with the possession, or with the session
		cancel(watch(followed, s, q, states))
	}()
	return followed, nil
}

// watch returns why there is nothing to follow any more.
func watch(ctx context.Context, s *session.Session, q Sequencer, states <-chan session.Data) error {
	for state := range states {
		if state.Stale {
			continue
		}
		if err := compare(q, state.Exists, state.Stat); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.Err()
}
