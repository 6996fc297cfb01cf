package fxmodule

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// Follow calls fn with the states of the named [Cell] while the application runs: the present one
// first, then each time the newest. fn is a func(context.Context, config.Snapshot[T]) error, or has
// further parameters, which fx provides, as for [RunLeader]; its context ends when the application
// stops. Check Good before you use Value: after a deletion, or if the data can't be decoded, Value
// is the last valid one. An error or a panic is logged, and fn is called with the next state.
func Follow[T any](name string, fn any) fx.Option {
	return running("Follow", name, fn, func(c *config.Cell[T], call func(context.Context, config.Snapshot[T]) error, in worker) error {
		in.work(nil, func(ctx context.Context) error {
			for state := range c.Observe(ctx) {
				if err := recovered(func() error { return call(ctx, state) }); err != nil {
					logger(in.Log).Warn("a state of a cell was not taken", "cell", name, "version", state.Version, "error", err)
				}
			}
			return in.ended(ctx, c.Err())
		})
		return nil
	})
}

// FollowTree calls fn with everything at and below a path while the application runs: the present
// state first, whole, then each time the newest: see session.Session.WatchTree. It needs no
// instance: the name is for errors and the log, and no two FollowTree have the same. fn is a
// func(context.Context, *session.Tree) error, or has further parameters, which fx provides, as for
// [RunLeader]; its context ends when the application stops. The start does not wait for the first
// call. Check Stale: such a tree is the last one before the connection was lost.
//
// An error or a panic is logged, and fn is called with the next tree, whose Changed leaves out what
// the call before was told: begin with its All then. If the tree ends, as with session.ErrTooMany,
// the application is shut down with exit code 1; fn is not called with Tree.Err.
func FollowTree(name, path string, fn any, opts ...session.TreeOption) fx.Option {
	if err := treeArguments(path, opts); err != nil {
		return fx.Error(fmt.Errorf("fxmodule.FollowTree(%q): %w", name, err))
	}
	run := running("FollowTree", name, fn, func(_ followedTree, call func(context.Context, *session.Tree) error, in worker) error {
		in.work(nil, func(ctx context.Context) error {
			var last error
			for t := range in.Session.WatchTree(ctx, path, opts...) {
				if last = t.Err; last != nil {
					break // it is the last one
				}
				if err := recovered(func() error { return call(ctx, t) }); err != nil {
					logger(in.Log).Warn("a state of a tree was not taken", "tree", name, "zxid", t.Zxid, "error", err)
				}
			}
			return in.ended(ctx, last)
		})
		return nil
	})
	return fx.Options(run, fx.Provide(fx.Annotated{Name: name, Target: func() followedTree { return followedTree{} }}))
}

// followedTree is provided under the name of each FollowTree, so that a second one is refused.
type followedTree struct{}

// treeArguments checks the arguments of WatchTree without a session. O is not exported.
func treeArguments[O any, F ~func(*O) error](path string, opts []F) error {
	if err := znode.Validate(path); err != nil {
		return fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err)
	}
	return recipe.Apply(new(O), opts)
}

// Join makes the process a member of the named [Group] while the application runs. The start does
// not wait until it has joined; the stop waits until it has left. If the membership ends otherwise,
// such as with group.ErrDuplicate, the application is shut down with exit code 1.
func Join(name string, member group.Member) fx.Option {
	none := func(context.Context, struct{}) error { return nil } // Join calls no function of the application
	return running("Join", name, none, func(g *group.Group, _ func(context.Context, struct{}) error, in worker) error {
		var m *group.Membership
		join := func() (err error) {
			m, err = g.Join(member)
			return err
		}
		in.work(join, func(stopping context.Context) error {
			select {
			case <-m.Done():
				return in.ended(stopping, m.Err())
			case <-stopping.Done():
			}
			ctx, cancel := in.Budget.within(context.Background(), workDone)
			defer cancel()
			return releaseIfConnected(ctx, in.Session, m.Leave)
		})
		return nil
	})
}

// RunSite calls fn with each proposal of the named [Site] while the application runs, each in a
// goroutine of its own: at most 256 at once. fn is a func(context.Context, *twopc.Proposal) error,
// or has further parameters, which fx provides, as for [RunLeader]. fn votes, waits for the
// decision, acts on it, and acknowledges. It checks Voted first, since a proposal is delivered
// again to a process that was restarted. Its context ends when the application stops. An error or a
// panic is logged, and aborts the transaction if fn has not voted. If the site ends while the
// application runs, the application is shut down with exit code 1.
func RunSite(name string, fn any) fx.Option {
	return running("RunSite", name, fn, func(s *twopc.Site, call func(context.Context, *twopc.Proposal) error, in worker) error {
		in.work(nil, func(ctx context.Context) error {
			var all sync.WaitGroup
			defer all.Wait()
			for {
				select {
				case <-ctx.Done():
					return nil
				case p, open := <-s.Proposals():
					if !open {
						<-s.Done()
						return in.ended(ctx, s.Err())
					}
					all.Go(func() { decide(ctx, name, p, call, logger(in.Log)) }) // owned by this function, which waits for it
				}
			}
		})
		return nil
	})
}

func decide(ctx context.Context, name string, p *twopc.Proposal, call func(context.Context, *twopc.Proposal) error, log *slog.Logger) {
	err := recovered(func() error { return call(ctx, p) })
	if err == nil {
		return
	}
	log.Warn("a proposal was not carried through", "site", name, "id", p.ID(), "voted", p.Voted(), "error", err)
	if ctx.Err() == nil && p.Voted() == twopc.Undecided {
		_ = p.VoteAbort(ctx, "the site has failed") // otherwise the coordinator aborts it when its time is over
	}
}
