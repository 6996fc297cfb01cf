package contenders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Break waits for a contender to go, and deletes its znode if it still exists after the grace
// period. It is no error if the contender is gone.
//
// ZooKeeper has no deletion by token. So Break reads the znode, and deletes the version that it has
// read: only another znode that takes the name in between, with that version, would be deleted too.
func Break(ctx context.Context, s *session.Session, path string, token int64, grace time.Duration) error {
	switch {
	case grace < 0:
		return errors.New("grace: negative")
	case token == 0:
		return fmt.Errorf("%w: Token: 0: its znode can't be told from another", session.ErrNoAuth)
	}
	_, own, err := ReadOwn(ctx, s, path, token)
	if err == nil {
		err = await(ctx, s, path, own, grace)
	}
	for again := err == nil; again; { // the znode was written since the read, or a reply was lost
		if _, own, err = ReadOwn(ctx, s, path, token); err == nil {
			err = s.Delete(ctx, path, own.Version)
		}
		again = (errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrUnknownOutcome)) && ctx.Err() == nil
	}
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	return err
}

// await waits for the end of the grace period. If the contender goes before, the error is
// session.ErrNoNode.
func await(ctx context.Context, s *session.Session, path string, own session.Stat, grace time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	for states := s.WatchData(ctx, path); ; {
		select {
		case state, open := <-states:
			switch {
			case !open:
				states = nil // no further states
			case !state.Stale && (!state.Exists || state.Stat.Czxid != own.Czxid):
				return session.ErrNoNode
			}
		case <-patience.C:
			return nil
		case <-s.Done():
			return s.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ReadOwn reads the data of the contender with a token, or with any if it is 0. If the server does
// not have the znode, it syncs with a quorum and reads again, since the server may lag behind. If
// the contender is gone, or a znode with another token has its name now, the error is
// session.ErrNoNode.
func ReadOwn(ctx context.Context, s *session.Session, path string, token int64) ([]byte, session.Stat, error) {
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		if err = s.SyncQuorum(ctx, path); err == nil {
			data, stat, err = s.Get(ctx, path)
		}
	}
	_, name := znode.Split(path)
	c, _ := znode.ParseContender(name)
	if err == nil && token != 0 && (Entry{Contender: c}).read(data, stat.Czxid).Token != token {
		err = fmt.Errorf("%w: another has its name now", session.ErrNoNode)
	}
	return data, stat, err
}
