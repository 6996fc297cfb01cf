package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Check asks ZooKeeper whether a possession is valid: its znode exists, belongs to its session, and
// has its token. It returns nil if that was so at an instant between call and return, and
// [ErrFenced] if the possession has ended, for good. All other errors leave that open: ctx's, the
// session's, [ErrInvalid], session.ErrInvalidPath for a path outside the namespace of s.
//
// When a holder releases its possession, Check returns nil until the znode is deleted; Release
// waits for that. By then another contender of the same session may hold the lock already. A [Gate]
// refuses the former holder once it has admitted the new one.
//
// If the ACL does not let s read the znode, a server since 3.8.4 tells only that it exists. Check
// then returns nil if the name contains a GUID, as in Troupe's own layout, and session.ErrNoAuth in
// a layout that reuses names.
func Check(ctx context.Context, s *session.Session, q Sequencer) error {
	path, err := locate("check", s, q)
	if err != nil {
		return err
	}
	// The server that s is connected to may lag behind, even if it is the leader. Without this
	// sync, Check could confirm a possession that has ended, or deny one that has just begun.
	if err := s.SyncQuorum(ctx, path); err != nil {
		return err
	}
	stat, exists, err := s.Exists(ctx, path)
	switch {
	case errors.Is(err, session.ErrNoAuth) && unique(path):
		return nil
	case err != nil:
		return err
	}
	if !exists || !moved(q, stat) {
		return compare("check", q, exists, stat, nil)
	}
	data, stat, err := s.Get(ctx, path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return err
	}
	return compare("check", q, err == nil, stat, data)
}

// unique tells whether no other znode ever has this name.
func unique(path string) bool {
	_, name := znode.Split(path)
	c, ok := znode.ParseContender(name)
	return ok && c.GUID != ""
}

// locate translates the sequencer's path into one of the session's.
func locate(op string, s *session.Session, q Sequencer) (string, error) {
	if s == nil {
		return "", errors.New(op + ": s: nil session")
	}
	if err := q.validate(op); err != nil {
		return "", err
	}
	path, ok := s.Relative(q.Path)
	if !ok {
		return "", fmt.Errorf("%s %s: %w: q.Path: it is outside the session's namespace", op, q.Path, session.ErrInvalidPath)
	}
	return path, nil
}

// moved tells whether a shared possession's znode is newer than its token. The holder may be a
// downgraded writer, whose znode has the token in its data; or the znode is another possession's,
// with the same name.
func moved(q Sequencer, stat session.Stat) bool { return q.Mode == Shared && stat.Czxid > q.Token }

// compare tells whether the znode is the possession's. Names can be reused, in some layouts within
// one session; the zxid of the creation cannot.
func compare(op string, q Sequencer, exists bool, stat session.Stat, data []byte) error {
	switch {
	case !exists:
		return fenced(op, q, "its znode is gone")
	case stat.EphemeralOwner != q.SessionID:
		return fenced(op, q, "its znode is another session's")
	case stat.Czxid == q.Token:
		return nil
	case moved(q, stat):
		if notes, _ := znode.ParseNotes(data); notes.Placed == q.Token {
			return nil
		}
	}
	return fenced(op, q, "its znode is another possession's")
}
