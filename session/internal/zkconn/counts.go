package zkconn

import (
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

const ms = time.Millisecond

// Bounds are the upper bounds of the times by which requests are counted, but for the longest.
var Bounds = [...]time.Duration{ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second}

// Counts are the requests of a session that have ended, over all its connections.
type Counts struct {
	mu  sync.Mutex
	all map[Kind]*Times
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
	if c == nil {
		return
	}
	k := Kind{r.ask.Op, r.reply.Err}
	for i := 0; i < len(r.reply.Results) && (k.Code == jute.OK || k.Code == jute.RuntimeInconsistency); i++ {
		k.Code = r.reply.Results[i].Err // that of the operation that failed; the others have RuntimeInconsistency
	}
	if lost {
		k.Code = jute.ConnectionLoss // which no server sends
	}
	at, _ := slices.BinarySearch(Bounds[:], took)
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.all[k]
	if times == nil {
		times = c.first(k)
	}
	times[at].N++
	times[at].Took += took
}

// first makes the times of a kind that are not in the map, unless they are there under another code:
// a server may make up many.
func (c *Counts) first(k Kind) *Times {
	if k.Code == codeTooLarge {
		k.Code = jute.MarshallingError
	} else if !k.Code.Known() {
		k.Code = jute.APIError
	}
	if c.all == nil {
		c.all = make(map[Kind]*Times)
	}
	if c.all[k] == nil {
		c.all[k] = new(Times)
	}
	return c.all[k]
}

// All are the present counts, with those under way of a connection in the first of their times. It
// may be nil.
func (c *Counts) All(of *Conn) map[Kind]Times {
	all := make(map[Kind]Times)
	if of != nil {
		of.core.underWay(all)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, times := range c.all {
		all[k] = *times
	}
	return all
}

func (c *core) underWay(all map[Kind]Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket == nil {
		return
	}
	for _, r := range c.socket.order {
		if k := (Kind{r.ask.Op, UnderWay}); !r.isPing() {
			times := all[k]
			times[0].N++
			all[k] = times
		}
	}
}
