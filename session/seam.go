package session

import (
	"context"
	"log/slog"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seam"
)

// What recipes have of a session, and applications do not see.
func init() {
	seam.NewClient = func(s any, name string, on func(seam.Event), acl any) (seam.Client, error) {
		given, _ := acl.([]ACL)
		t, err := s.(*Session).newClient(name, on, given...)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
	seam.AfterStart = (*Session).afterStart
	seam.Beside = (*Session).beside
	seam.EnsureAbove = func(ctx context.Context, s *Session, path string, times int) error {
		s.znodes.again(ctx, times, "what was created is gone at once, again and again; pausing between attempts", "path", s.Path(path))
		return s.EnsurePath(ctx, parentOf(path))
	}
	seam.Failed = (*Session).failed
	seam.HoldOf = holdOf
	seam.Identity = func(s any) Identity { return s.(*Session).cfg.identity }
	seam.JoinHolds = joinHolds
	seam.Logger = func(s *Session) *slog.Logger { return s.log }
	seam.Reaches = (*Session).reaches
	seam.Scope = func(s *Session) actors.Scope { return s.scope }
	seam.CheckACL = func(acl []ACL) error { return validateACL(convert[jute.ACL](acl)) }
}
