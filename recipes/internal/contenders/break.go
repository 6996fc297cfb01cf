package contenders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Break asks the contender at a path to go, waits for that, and deletes its znode if it still
// exists after the grace period. It is no error if the contender is gone. If it is a writer that
// has become a reader, that is asked too, and has a grace period of its own.
//
// ZooKeeper has no deletion by token. So Break reads the znode, and deletes the version that it has
// read: only another znode that takes the name in between, with that version, would be deleted too.
func Break(ctx context.Context, s *session.Session, path string, token int64, grace time.Duration, ask func(path string) error) error {
	switch {
	case grace < 0:
		return errors.New("grace: negative")
	case token == 0:
		return fmt.Errorf("%w: c.Token: 0: its znode can't be told from another", session.ErrNoAuth)
	}
	err := ask(path)
	if err == nil {
		err = await(ctx, s, path, token, grace)
	}
	for again := err == nil; again; { // the znode was written since the read, or a reply was lost
		var stat session.Stat
		if _, stat, err = ReadOwn(ctx, s, path, token); err == nil {
			err = s.Delete(ctx, path, stat.Version)
		}
		again = (errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrUnknownOutcome)) && ctx.Err() == nil
	}
	if !errors.Is(err, session.ErrNoNode) {
		return err
	}
	parent, name := znode.Split(path)
	if c, _ := znode.ParseContender(name); c.Kind != znode.Write {
		return nil
	}
	all, err := Read(ctx, s, parent)
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Token == token && e.Path != path }); i >= 0 {
		return Break(ctx, s, all[i].Path, token, grace, ask)
	}
	return err
}

// await waits for the end of the grace period. If the contender goes before, the error is
// session.ErrNoNode.
func await(ctx context.Context, s *session.Session, path string, token int64, grace time.Duration) error {
	_, read, err := ReadOwn(ctx, s, path, token)
	if err != nil {
		return err
	}
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
			case !state.Stale && (!state.Exists || state.Stat.Czxid != read.Czxid):
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
// not have the znode, or has one with another token, it syncs with a quorum and reads again, since
// the server may lag behind. If that is no other, the contender is gone: session.ErrNoNode.
func ReadOwn(ctx context.Context, s *session.Session, path string, token int64) ([]byte, session.Stat, error) {
	_, name := znode.Split(path)
	c, _ := znode.ParseContender(name)
	read := func() ([]byte, session.Stat, error) {
		data, stat, err := s.Get(ctx, path)
		if err == nil && token != 0 && (Entry{Contender: c}).read(data, stat.Czxid).Token != token {
			err = fmt.Errorf("%w: another has its name now", session.ErrNoNode)
		}
		return data, stat, err
	}
	data, stat, err := read()
	if errors.Is(err, session.ErrNoNode) {
		if err = s.SyncQuorum(ctx, path); err == nil {
			data, stat, err = read()
		}
	}
	return data, stat, err
}
