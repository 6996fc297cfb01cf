package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// Revoke asks the contender at a path (see [Lock.Contenders]) to release: it writes "unlock", a
// newline and the old data into its znode, and the holder's [Grant.Revoked] closes. If the
// contender is waiting, Revoked closes when it is granted. A contender is asked only once. Errors:
// session.ErrNoNode if it is gone, session.ErrNoAuth; session.ErrInvalidPath and
// session.ErrUnsupported if the path is not that of a contender in a queue.
//
// The format is that of the revocable locks in ZooKeeper's recipes, so any client can ask.
func Revoke(ctx context.Context, s *session.Session, contenderPath string) error {
	if err := checkContender(s, contenderPath, "revoke"); err != nil {
		return err
	}
	for {
		data, stat, err := upToDate(ctx, s, contenderPath)
		if err != nil || znode.Revoked(data) {
			return err
		}
		_, err = s.Set(ctx, contenderPath, znode.WithUnlock(data), stat.Version)
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil {
			return err
		}
	}
}

// upToDate reads a contender's data. If the server does not have the znode, it syncs with a quorum
// and reads again, since the server may lag behind.
func upToDate(ctx context.Context, s *session.Session, path string) ([]byte, session.Stat, error) {
	data, stat, err := s.Get(ctx, path)
	if !errors.Is(err, session.ErrNoNode) {
		return data, stat, err
	}
	if err := s.SyncQuorum(ctx, path); err != nil {
		return nil, session.Stat{}, err
	}
	return s.Get(ctx, path)
}

// Break calls [Revoke], waits for the grace period, and deletes the contender's znode if it still
// exists: the holder's Done closes within a few milliseconds and a round trip, with
// session.ErrDeleted. The holder may still be writing when the next one is granted; tokens cover
// that case. Break returns early when the contender releases, and with ctx's error, without
// deleting, when ctx ends first. It is no error if the contender is gone.
func Break(ctx context.Context, s *session.Session, contenderPath string, grace time.Duration) error {
	if grace < 0 {
		return failed(s, "break", contenderPath, errors.New("grace: negative"))
	}
	if err := Revoke(ctx, s, contenderPath); err != nil {
		return gone(err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	states := s.WatchData(watching, contenderPath)
	for {
		select {
		case state, open := <-states:
			switch {
			case !open:
				states = nil // no further states: wait for the grace period
			case !state.Exists && !state.Stale:
				return nil
			}
		case <-patience.C:
			return remove(ctx, s, contenderPath)
		case <-s.Done():
			return failed(s, "break", contenderPath, s.Err())
		case <-ctx.Done():
			return failed(s, "break", contenderPath, context.Cause(ctx))
		}
	}
}

// remove deletes a znode reliably: its name is unique, so a deletion whose reply was lost can be
// repeated.
func remove(ctx context.Context, s *session.Session, path string) error {
	for {
		err := s.Delete(ctx, path, -1)
		if !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil {
			return gone(err)
		}
		if stands, err := presence.Of(ctx, s, path); err != nil || !stands {
			return err
		}
	}
}

func gone(err error) error {
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	return err
}

// checkContender refuses a path that is not that of a contender, so that a mistyped path cannot
// overwrite or delete anything else.
func checkContender(s *session.Session, path, op string) error {
	if s == nil {
		return errors.New("lock: " + op + ": s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return failed(s, op, path, fmt.Errorf("%w: contenderPath: %w", session.ErrInvalidPath, err))
	}
	if _, name := znode.Split(path); !isContender(name) {
		return failed(s, op, path, fmt.Errorf("%w: %w", session.ErrInvalidPath, errNotInLine))
	}
	return nil
}

func isContender(name string) bool {
	_, ok := znode.ParseContender(name)
	return ok
}
