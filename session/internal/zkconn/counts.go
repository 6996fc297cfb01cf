package zkconn

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

const ms = time.Millisecond

// Bounds are the upper bounds of the times by which requests are counted, but for the longest.
var Bounds = []time.Duration{ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second}

// Counts are the requests of a session, over all its connections.
type Counts struct {
	mu  sync.Mutex
	all map[Kind]Count
}

// UnderWay is no code of a server.
const UnderWay jute.Code = 1

// Kind is what requests that are counted together have in common.
type Kind struct {
	Op   jute.Op
	Code jute.Code     // UnderWay: they have not ended
	UpTo time.Duration // the upper bound; 0: there is none
}

// Count is how many requests there are of a kind, and the time that they took, together.
type Count struct {
	N    int64
	Took time.Duration
}

func (c *Counts) add(k Kind, n int64, took time.Duration) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[Kind]Count)
	}
	c.all[k] = Count{c.all[k].N + n, c.all[k].Took + took}
}

// over counts a request that has a reply, or was lost with its connection.
func (c *Counts) over(r *request, lost bool) {
	k, took := Kind{Op: r.ask.Op, Code: r.reply.Err}, time.Since(r.sentAt)
	for i := 0; k.Op == jute.OpMulti && i < len(r.reply.Results) && (k.Code == jute.OK || k.Code == jute.RuntimeInconsistency); i++ {
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
	if at, _ := slices.BinarySearch(Bounds, took); at < len(Bounds) {
		k.UpTo = Bounds[at]
	}
	c.add(k, 1, took)
	c.add(Kind{Op: k.Op, Code: UnderWay}, -1, 0)
}

// All are the present counts.
func (c *Counts) All() map[Kind]Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.all)
}
