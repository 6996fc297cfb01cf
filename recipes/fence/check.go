package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/session"
)

// Check asks ZooKeeper whether the possession stands: its znode exists, belongs to its session, and is not older than its token. nil: it did, at an
// instant between call and return. [ErrFenced]: it is over, for good. Every other error says nothing about it: ctx's, the session's, [ErrInvalid],
// session.ErrInvalidPath for a path outside the namespace of s.
func Check(ctx context.Context, s *session.Session, q Sequencer) error {
	path, err := locate(s, q)
	if err != nil {
		return err
	}
	// The server that s is connected to may lag behind: without this, a possession could be confirmed that ended long ago, or one denied that has just
	// begun.
	if err := s.Sync(ctx, path); err != nil {
		return err
	}
	stat, exists, err := s.Exists(ctx, path)
	if err != nil {
		return err
	}
	return compare(q, exists, stat)
}

// locate translates the sequencer's path into one of the session's.
func locate(s *session.Session, q Sequencer) (string, error) {
	if s == nil {
		return "", errors.New("fence: s: nil session")
	}
	if err := q.validate(); err != nil {
		return "", err
	}
	path, ok := s.Relative(q.Path)
	if !ok {
		return "", fmt.Errorf("fence: %w: %s is outside the session's namespace", session.ErrInvalidPath, q.Path)
	}
	return path, nil
}

// compare says whether what stands in ZooKeeper is the possession. A znode may be newer than its token: one that was made anew for the same possession
// keeps the token of the first.
func compare(q Sequencer, exists bool, stat session.Stat) error {
	switch {
	case !exists:
		return fenced(q, "its znode is gone")
	case stat.EphemeralOwner != q.SessionID:
		return fenced(q, "its znode is another session's")
	case stat.Czxid < q.Token:
		return fenced(q, "its znode is older than its token")
	}
	return nil
}
