package fence

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/session"
)

// Follow checks the sequencer as [Check] does and returns a context that is cancelled, with an error that is [ErrFenced] as its cause, when the
// possession ends. It descends from ctx: end ctx to stop following. While s is disconnected it learns nothing and the context stays open; what happened
// meanwhile is learnt with the reconnection, in the next epoch of s if need be. If there is nothing to be learnt any more, since s is closed or may not
// read the znode, the cause is that error.
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
	news := newNews()
	s.Start()
	seat, err := s.Seat("fence:"+path, news.notice)
	if err != nil {
		return nil, err
	}
	followed, cancel := context.WithCancelCause(ctx)
	go func() { // owned by ctx: ends with it, with the possession, or with the session
		defer seat.Leave()
		cancel(watch(followed, seat, news, path, q))
	}()
	return followed, nil
}

// watch reads the znode, with a watch, whenever there is news, and returns why there is nothing to follow any more. It is no subscription of the
// session's: that would wait for the znode to come back, and leave ZooKeeper with a watch for each possession that was ever followed.
func watch(ctx context.Context, seat *session.Seat, news *news, path string, q Sequencer) error {
	answers := make(chan session.Seen, 1) // one read is under way at a time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news.any:
		}
		epoch, over := news.state()
		if over != nil {
			return over
		}
		if epoch == 0 {
			continue
		}
		seat.Read(epoch, path, true, func(a session.Seen) { answers <- a })
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case a := <-answers:
			if err := judge(q, a); err != nil {
				return err
			}
		}
	}
}

// judge says whether what was read ends the following. The end of the epoch it was read in does not: the next one brings news.
func judge(q Sequencer, a session.Seen) error {
	switch {
	case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
		return nil // word of that is on its way
	case a.Err != nil:
		return a.Err
	}
	return compare(q, a.Exists, a.Stat)
}
