package zkconn

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// mostReads is how many reads a multiRead has at most, so that neither it nor the reply is large.
const mostReads = 64

// Look does several reads, in this order, in one trip: as multiReads, or, if the servers lack that
// (ZooKeeper has it since 3.6) or refuse it, as single requests. An error leaves open what came of
// any of them.
func (c *Conn) Look(queries []Query) ([]Found, error) {
	found := make([]Found, len(queries))
	var asks []jute.Request
	var of []*Found // the results
	for i, q := range queries {
		ask := jute.Request{Op: jute.OpGetData, Path: q.Path}
		if q.Children {
			ask.Op = jute.OpGetChildren
		}
		if !validPath(&ask) {
			found[i].Err = ErrInvalidPath
			continue
		}
		asks, of = append(asks, ask), append(of, &found[i])
	}
	if len(asks) == 0 {
		return found, nil
	}
	results, err := c.multiRead(asks)
	if err != nil && !passing(err) {
		results, err = c.reads(asks)
	}
	if err != nil {
		return nil, err
	}
	as := request{as: c.cfg.Auth}
	for i, r := range results {
		*of[i] = Found{Data: r.Data, Names: r.Names, Stat: fromWire(&r.Stat), Err: as.verdict(&asks[i], r.Err)}
	}
	return found, nil
}

// passing tells whether an error says nothing about the request itself.
func passing(err error) bool {
	return errors.Is(err, ErrNotSent) || errors.Is(err, ErrNoReply) || errors.Is(err, ErrEnded) || errors.Is(err, ErrThrottled)
}

// multiRead does the reads in as few requests as possible, in one write.
func (c *Conn) multiRead(asks []jute.Request) ([]jute.Result, error) {
	if c.lacks(jute.OpMultiRead) {
		return nil, ErrUnsupported
	}
	var rs []*request
	for some := range slices.Chunk(asks, mostReads) {
		rs = append(rs, &request{ask: jute.Request{Op: jute.OpMultiRead, Ops: some}})
	}
	if err := c.do(rs...); err != nil {
		return nil, err
	}
	var results []jute.Result
	for _, r := range rs {
		if err := r.outcome(); err != nil {
			return nil, err
		}
		results = append(results, r.reply.Results...)
	}
	if len(results) != len(asks) {
		return nil, ErrUnsupported // whatever that server takes the operation for
	}
	return results, nil
}

// reads does the reads in a request each, in one write.
func (c *Conn) reads(asks []jute.Request) ([]jute.Result, error) {
	rs := make([]*request, len(asks))
	for i := range asks {
		rs[i] = &request{ask: asks[i]}
	}
	if err := c.do(rs...); err != nil {
		return nil, err
	}
	results := make([]jute.Result, len(rs))
	for i, r := range rs {
		if err := r.outcome(); err != nil && passing(err) {
			return nil, err
		}
		results[i] = jute.Result{Err: r.reply.Err, Data: r.reply.Data, Stat: r.reply.Stat, Names: r.reply.Names}
	}
	return results, nil
}
