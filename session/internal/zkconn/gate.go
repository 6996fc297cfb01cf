package zkconn

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// gate limits the requests that are under way on a connection: to any number, or to one that is
// alone. It admits them in order of asking. Of several that are to be alone, only one at a time
// waits for that, so that nobody else waits for more than one of them.
type gate struct {
	room *semaphore.Weighted // a request takes one; one that is alone takes all
	turn *semaphore.Weighted // of those that are to be alone
}

const wholeRoom = math.MaxInt64

func newGate() gate {
	return gate{room: semaphore.NewWeighted(wholeRoom), turn: semaphore.NewWeighted(1)}
}

// enter waits until a request may be sent. The error is ctx's.
func (g *gate) enter(ctx context.Context, alone bool) error {
	if !alone {
		return g.room.Acquire(ctx, 1)
	}
	if err := g.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	err := g.room.Acquire(ctx, wholeRoom)
	if err != nil {
		g.turn.Release(1)
	}
	return err
}

// leave is called when a request that has entered is answered, or will not be.
func (g *gate) leave(alone bool) {
	if !alone {
		g.room.Release(1)
		return
	}
	g.room.Release(wholeRoom)
	g.turn.Release(1)
}
