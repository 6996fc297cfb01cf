// Package presence tells whether a znode exists, even one that the session may not read.
package presence

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/session"
)

// Of reports whether a znode exists. If the session may not read the znode, servers since 3.8.4
// answer NoAuth, and NoNode if it does not exist (ZOOKEEPER-2590). So NoAuth means that it exists.
func Of(ctx context.Context, s *session.Session, path string) (bool, error) {
	_, exists, err := s.Exists(ctx, path)
	if errors.Is(err, session.ErrNoAuth) {
		return true, nil
	}
	return exists, err
}
