// Package seam is the part of a session that recipes use and applications do not see: its client,
// and the client's events and answers. Package session sets the functions when it is linked. Those
// with types above this package are given their types by package recipe.
package seam

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
)

// NewClient makes a client of a session, which is a *session.Session. It does not connect. on is
// called from goroutines of the session, with one event at a time, in order; it must not block and
// must not call [Client.Leave]. The present state comes first: EpochBegan if there is an epoch, and
// Suspended if the connection is down. acl, a []session.ACL, is that of the znodes that the client
// creates, parents included; nil: the session's. Error: session.ErrClosed.
var NewClient func(session any, name string, on func(Event), acl any) (Client, error)

// RequestBounds are the bounds by which a session counts its requests, in seconds: see
// session.RequestsEnded.
var RequestBounds []float64

// Identity is the identity that contenders of a session, which is a *session.Session, write into
// their data.
var Identity func(session any) znode.Identity

// Package recipe describes the ones that it shows, package session the rest.
var (
	AfterStart  any // func(*session.Session, func())
	Beside      any // func(a, b *session.Session) bool
	ConnectedAt any // func(*session.Session) time.Time
	DeferStart  any // session.Option
	Emit        any // func(*session.Session, session.Event)
	EnsureAbove any // func(context.Context, *session.Session, string, int) error
	Failed      any // func(s *session.Session, op, path string, err error) error
	Headers     any // func(context.Context, *session.Session) []string
	HoldOf      any // func(session.Possession) *session.Hold
	HoldsFrom   any // func(context.Context) []*session.Hold
	JoinHolds   any // func([]*session.Hold, func(error)) (*session.Hold, func(error) bool)
	Logger      any // func(*session.Session) *slog.Logger
	Hooks       any // func(begin func() (func(*session.Session, session.Event), func(context.Context) []string, error)) session.Option
	Reaches     any // func(a, b *session.Session) bool
	Scope       any // func(*session.Session) actors.Scope
	Start       any // func(*session.Session)
	Turn        any // func(*session.Session, time.Duration) time.Duration
	Under       any // func(session.Op, session.Possession) session.Op
	Within      any // func(context.Context, session.Possession) (context.Context, context.CancelFunc)
	CheckACL    any // func([]session.ACL) error
)

// Apply is recipe.Apply, for package session too.
func Apply[O any, F ~func(*O) error](o *O, opts []F) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(o); err != nil {
			return err
		}
	}
	return nil
}
