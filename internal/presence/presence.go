// Package presence tells recipes whether a znode stands, also one that the session may not read.
package presence

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/session"
)

// Of tells whether a znode stands. Since 3.8.4 a server tells nothing else of one that the session
// may not read, and refuses with NoAuth (ZOOKEEPER-2590): of one that does not stand it says
// NoNode, so that the refusal is an answer.
func Of(ctx context.Context, s *session.Session, path string) (bool, error) {
	_, exists, err := s.Exists(ctx, path)
	if errors.Is(err, session.ErrNoAuth) {
		return true, nil
	}
	return exists, err
}
