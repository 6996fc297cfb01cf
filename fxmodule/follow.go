package fxmodule

import (
	"context"
	"log/slog"
	"sync"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/twopc"
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
