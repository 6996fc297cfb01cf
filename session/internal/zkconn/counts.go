package zkconn

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

const ms = time.Millisecond

// Bounds are the upper bounds of the times by which requests are counted, but for the longest.
var Bounds = [...]time.Duration{ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second}

// Counts are the requests of a session, over all its connections.
type Counts struct {
	active [128]atomic.Int32 // those that have not ended, by Op

	mu    sync.Mutex
	ended map[Kind]*Times
}

// UnderWay is no code of a server.
const UnderWay jute.Code = 1

// Kind is what requests that are counted together have in common.
type Kind struct {
	Op   jute.Op
	Code jute.Code // UnderWay: they have not ended
}

// Times are how many requests there are for each of Bounds, and at last how many took longer, with
// the time that they took, together.
type Times [len(Bounds) + 1]struct {
	N    int64
	Took time.Duration
}

// over counts a request that has a reply, or was lost with its connection.
func (c *Counts) over(r *request, took time.Duration, lost bool) {
	c.active[r.ask.Op].Add(-1)
	k := Kind{r.ask.Op, r.reply.Err}
	for i := 0; i < len(r.reply.Results) && (k.Code == jute.OK || k.Code == jute.RuntimeInconsistency); i++ {
		k.Code = r.reply.Results[i].Err // that of the operation that failed; the others have RuntimeInconsistency
	}
	switch {
	case lost:
		k.Code = jute.ConnectionLoss // which no server sends
	case k.Code == codeTooLarge:
		k.Code = jute.MarshallingError
	case !k.Code.Known():
		k.Code = jute.APIError // a server may make up many
	}
	at, _ := slices.BinarySearch(Bounds[:], took)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = make(map[Kind]*Times)
	}
	times := c.ended[k]
	if times == nil {
		times = new(Times)
		c.ended[k] = times
	}
	times[at].N++
	times[at].Took += took
}

// All are the present counts. Those under way are the first of their times.
func (c *Counts) All() map[Kind]Times {
	all := make(map[Kind]Times)
	for op := range c.active {
		if n := c.active[op].Load(); n > 0 {
			all[Kind{jute.Op(op), UnderWay}] = Times{{N: int64(n)}}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, times := range c.ended {
		all[k] = *times
	}
	return all
}
