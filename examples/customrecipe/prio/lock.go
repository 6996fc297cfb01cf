// Package prio is a user-defined recipe, written with Troupe's public packages: an exclusive lock
// with priorities. It is an example of how a recipe is built (docs/writing-a-recipe.md), and a
// working lock. The contender with the better (smaller) priority goes first; among equals, the one
// that came first. A holder keeps the lock, even if a better priority comes.
//
// # Znodes
//
//	/path                                    its data: the name of the holder. One that no longer exists has released
//	/path/_c_<guid>-005-<id>-0000000017      a contender: its priority, an id, its number. Ephemeral
//
// With priorities, the order of arrival does not decide alone: a contender that finds itself first
// may be overtaken by one with a better priority before it holds. So the grant is a compare-and-set
// on the version of /path. That also provides the token: the zxid of the transaction, which grows
// from grant to grant. A contender watches the one right ahead of it, or the holder if there is
// none. If a holder's znode is deleted by hand, Commit fails.
//
// # States
//
//	      want             created            first, and the lock is free         carried out
//	idle ──────▶ entering ─────────▶ reading ─────────────────────────▶ taking ───────────────▶ holding
//	                                 ▲     │ another is ahead, or holds   │ others were faster
//	                  a watch fires  │     ▼                              ▼
//	                                 waiting                           reading
//
// From each of them a withdrawal leads to leaving, and then the instance is over. The end of an
// epoch leads to idle.
package prio

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Grant is a possession of the lock. It embeds the session's Hold: Done, Err, Context, Token,
// Commit.
type Grant struct {
	*session.Hold

	host    *recipe.Host
	granted chan struct{} // closed when Hold is set
}

// Acquire waits until the lock at a path is held. The priority is between 0, the best, and 999. If
// ctx ends first, no znode remains.
func Acquire(ctx context.Context, s *session.Session, path string, priority int) (*Grant, error) {
	if err := recipe.CheckNew("prio.Acquire", s, "path", path); err != nil {
		return nil, err
	}
	if priority < 0 || priority > 999 {
		return nil, fmt.Errorf("prio.Acquire: priority %d: not between 0 and 999", priority)
	}
	id := strings.ToLower(rand.Text())
	return acquire(ctx, s, path, func() machine.Machine { return newMachine(path, priority, id) })
}

func acquire(ctx context.Context, s *session.Session, path string, newMachine func() machine.Machine) (*Grant, error) {
	g := &Grant{granted: make(chan struct{})}
	var err error
	g.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "priority lock", Path: path,
		Machine: newMachine, Standing: g.standing, Perform: g.perform,
	})
	if err != nil {
		return nil, err
	}
	g.host.Tell(want{})
	select {
	case <-g.granted:
		return g, nil
	case <-g.host.Done():
		return nil, g.host.Err()
	case <-ctx.Done():
		_ = g.host.Close(ctx) // the rest goes on in the background
		return nil, context.Cause(ctx)
	}
}

// Release releases the lock, and returns when ZooKeeper has confirmed it. If ctx ends first, the
// release continues in the background.
func (g *Grant) Release(ctx context.Context) error {
	g.host.End(g.Hold, session.ErrReleased)
	return g.host.Close(ctx)
}

// standing returns the intents for a machine that was restarted. A possession is not taken again.
func (g *Grant) standing() []machine.Event {
	if g.Hold != nil {
		return nil
	}
	return []machine.Event{want{}}
}

// perform carries out the machine's effects for the application: here, one. The actor calls it, as
// it calls standing.
func (g *Grant) perform(effect machine.Effect) {
	e, is := effect.(granted)
	if !is || g.Hold != nil {
		return
	}
	hold, err := g.host.Hold(e.Epoch, e.Path, e.Token, func(error) { g.host.Tell(lapsed{}) })
	if err == nil { // otherwise the machine grants it again when trust is back
		g.Hold = hold
		close(g.granted)
	}
}
