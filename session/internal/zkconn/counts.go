package zkconn

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

const ms = time.Millisecond

// Bounds are the upper bounds of the times by which requests are counted, but for the longest.
var Bounds = []time.Duration{ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second}

// Counts are the requests of a session, over all its connections. Memory is taken when an operation
// has an outcome for the first time.
type Counts [jute.OpMultiRead + 2]struct { // by operation; the last is OpGetEphemerals
	active atomic.Int64
	ended  sync.Map // uint8, the code without its sign, to *buckets
}

type buckets [15]struct{ count, took atomic.Int64 }

func (c *Counts) began(r *request) {
	if c != nil {
		c[min(r.ask.Op, jute.OpMultiRead+1)].active.Add(1)
	}
}

// over counts a request that has a reply, or was lost with its connection.
func (c *Counts) over(r *request, lost bool) {
	if c == nil {
		return
	}
	code := r.reply.Err
	for i := 0; r.ask.Op == jute.OpMulti && i < len(r.reply.Results) && (code == jute.OK || code == jute.RuntimeInconsistency); i++ {
		code = r.reply.Results[i].Err // that of the operation that failed; the others have RuntimeInconsistency
	}
	switch {
	case lost:
		code = jute.ConnectionLoss // which no server sends
	case code == codeTooLarge:
		code = jute.MarshallingError
	}
	of := &c[min(r.ask.Op, jute.OpMultiRead+1)]
	all, known := of.ended.Load(uint8(-code))
	if !known {
		all, _ = of.ended.LoadOrStore(uint8(-code), new(buckets))
	}
	took := time.Since(r.sentAt)
	at, _ := slices.BinarySearch(Bounds, took)
	all.(*buckets)[at].took.Add(int64(took))
	all.(*buckets)[at].count.Add(1)
	of.active.Add(-1)
}

// Each calls op for each operation that was ever asked, and then bucket for its buckets that are
// not empty, with the error in a word, "" if there is none, and the upper bound, 0 if there is
// none.
func (c *Counts) Each(op func(name string, active int64), bucket func(failed string, upTo time.Duration, count int64, took time.Duration)) {
	for i := range c {
		name, asked := jute.Op(i), false
		if name > jute.OpMultiRead {
			name = jute.OpGetEphemerals
		}
		active := c[i].active.Load()
		c[i].ended.Range(func(code, all any) bool {
			if !asked {
				op(name.String(), active)
			}
			asked = true
			var failed string
			if code := -jute.Code(code.(uint8)); code != jute.OK {
				failed = strings.ReplaceAll(code.String(), " ", "_")
			}
			for at, upTo := range append(slices.Clone(Bounds), 0) {
				if b := &all.(*buckets)[at]; b.count.Load() > 0 {
					bucket(failed, upTo, b.count.Load(), time.Duration(b.took.Load()))
				}
			}
			return true
		})
		if active > 0 && !asked {
			op(name.String(), active)
		}
	}
}
