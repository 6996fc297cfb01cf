package zkconn

import (
	"errors"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seam"
)

type (
	// Stat describes a znode: what ZooKeeper keeps beside its data.
	Stat = seam.Stat
	// Query is one of the reads of [Conn.MultiRead].
	Query = seam.Query
	// Found is the result of a [Query].
	Found = seam.Found
)

// FromWire is a Stat as servers send it.
func FromWire(s *jute.Stat) Stat {
	if *s == (jute.Stat{}) {
		return Stat{} // not the times of 1970
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: time.UnixMilli(s.Ctime), Mtime: time.UnixMilli(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}

// Result is the result of one operation of a transaction or of a [Pipeline].
type Result struct {
	Path  string   // of a create: the path of the new znode, sequence number included
	Stat  Stat     // of a set or a read
	Data  []byte   // of a read, as Names
	Names []string // of the children
	Err   error    // of a transaction: nil for all, or the cause for the one that failed, nil for those before it and [ErrRolledBack] for those behind it
}

// NewCreate returns the request for a znode, with the operation that its flags need.
func NewCreate(path string, data []byte, flags int32, ttl time.Duration, acl []jute.ACL) jute.Request {
	op := jute.OpCreate
	switch flags {
	case jute.FlagContainer:
		op = jute.OpCreateContainer
	case jute.FlagPersistentTTL, jute.FlagPersistentSequentialTTL:
		op = jute.OpCreateTTL
	}
	return jute.Request{Op: op, Path: path, Data: data, Flags: flags, TTL: ttl.Milliseconds(), ACL: acl}
}

// notNull replaces null by empty data: other clients may not expect znodes without data.
func notNull(ask *jute.Request) {
	if ask.Data == nil {
		ask.Data = []byte{} // operations without data ignore it
	}
}

// Size is how large a request is for a server, which takes it if this is at most its
// jute.maxbuffer: see Config.MaxPacket.
func Size(ask jute.Request) int {
	frame := encoder()
	defer release(frame)
	frame.Begin()
	ask.Encode(frame)
	return frame.End()
}

// SizeOf is the Size of the transaction of these operations. SizeOf() is that of an empty one; each
// operation adds SizeOf(op)-SizeOf().
func SizeOf(ops ...jute.Request) int { return Size(jute.Request{Op: jute.OpMulti, Ops: ops}) }

// The requests that follow block until the answer comes or the connection goes, and report one of
// the errors of this package.

// Get reads a znode's data and, with watch, arms a watch that fires at NodeDataChanged or
// NodeDeleted. A missing znode arms nothing.
func (c *Conn) Get(path string, watch bool) ([]byte, Stat, error) {
	reply, err := c.one(reading(jute.OpGetData, path, watch))
	return reply.Data, FromWire(&reply.Stat), err
}

// Exists tells whether a znode exists and, with watch, arms a watch: on an existing one as Get
// does, on a missing one it fires at NodeCreated.
func (c *Conn) Exists(path string, watch bool) (stat Stat, exists bool, err error) {
	reply, err := c.one(reading(jute.OpExists, path, watch))
	switch err {
	case nil:
		return FromWire(&reply.Stat), true, nil
	case ErrNoNode:
		return Stat{}, false, nil
	default:
		return Stat{}, false, err
	}
}

// Children lists the names of a znode's children, in no order, and, with watch, arms a watch that
// fires at NodeChildrenChanged or NodeDeleted. A missing znode arms nothing.
func (c *Conn) Children(path string, watch bool) ([]string, Stat, error) {
	reply, err := c.one(reading(jute.OpGetChildren2, path, watch))
	return reply.Names, FromWire(&reply.Stat), err
}

// Ephemerals are the paths of the session's own ephemeral znodes that begin with prefix, whatever
// their ACLs. Servers before 3.6 do not know this request.
func (c *Conn) Ephemerals(prefix string) ([]string, error) {
	reply, err := c.one(reading(jute.OpGetEphemerals, prefix, false))
	return reply.Names, err
}

// GetACL reads a znode's ACL.
func (c *Conn) GetACL(path string) ([]jute.ACL, Stat, error) {
	reply, err := c.one(reading(jute.OpGetACL, path, false))
	return reply.ACL, FromWire(&reply.Stat), err
}

// Sync waits until the server has seen all that the leader had when it was asked. The leader
// answers by itself, and need not have carried out what followers have: see [Conn.Prove].
func (c *Conn) Sync(path string) error {
	r := reading(jute.OpSync, path, false)
	r.probe = true
	_, err := c.one(r)
	return err
}

func reading(op jute.Op, path string, watch bool) *request {
	return &request{ask: jute.Request{Op: op, Path: path, Watch: watch}}
}

// Create creates a znode and returns its path, which has a number appended if the flags are
// sequential. ttl is for those with a time to live only.
func (c *Conn) Create(path string, data []byte, flags int32, ttl time.Duration, acl []jute.ACL) (string, error) {
	if flags < jute.FlagPersistent || flags > jute.FlagPersistentSequentialTTL {
		return "", ErrBadArguments
	}
	if flags == jute.FlagContainer && c.lacks(jute.OpCreateContainer) {
		return "", ErrUnsupported
	}
	r := &request{ask: NewCreate(path, data, flags, ttl, acl)}
	notNull(&r.ask)
	reply, err := c.one(r)
	return reply.Path, err
}

// Set replaces a znode's data if it has this version; -1 stands for any.
func (c *Conn) Set(path string, data []byte, version int32) (Stat, error) {
	r := &request{ask: jute.Request{Op: jute.OpSetData, Path: path, Data: data, Version: version}}
	notNull(&r.ask)
	reply, err := c.one(r)
	return FromWire(&reply.Stat), err
}

// Delete deletes a childless znode if it has this version; -1 stands for any.
func (c *Conn) Delete(path string, version int32) error {
	r := new(request)
	r.ask.Op, r.ask.Path, r.ask.Version = jute.OpDelete, path, version
	_, err := c.together(&member{request: r})
	return err
}

// SetACL replaces a znode's ACL if that has this version; -1 stands for any.
func (c *Conn) SetACL(path string, acl []jute.ACL, version int32) (Stat, error) {
	reply, err := c.one(&request{ask: jute.Request{Op: jute.OpSetACL, Path: path, ACL: acl, Version: version}})
	return FromWire(&reply.Stat), err
}

// Multi carries out all operations, or none of them: then the error is that of the operation that
// failed, and there is a result for each.
func (c *Conn) Multi(ops []jute.Request) ([]Result, error) { return c.MultiWhile(nil, ops) }

// MultiWhile is Multi for operations that are to be sent only while a condition holds: else it
// returns ErrCalledOff. holds is called in the moment in which the place of the transaction among
// the requests of the session is fixed. So a request that is sent after holds has become false
// comes behind the transaction, or the transaction is not sent. holds must not block; nil: always.
func (c *Conn) MultiWhile(holds func() bool, ops []jute.Request) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	r, err := transaction(ops)
	if err != nil {
		return nil, err
	}
	r.holds = holds
	if err := c.do(r); err != nil {
		return nil, err
	}
	answers, err := r.results()
	if len(answers) != len(ops) {
		return nil, err
	}
	results := make([]Result, len(answers))
	for i := range answers {
		results[i] = Result{Path: answers[i].Path, Stat: FromWire(&answers[i].Stat), Err: r.verdict(&r.ask.Ops[i], answers[i].Err)}
	}
	return results, err
}

func transaction(ops []jute.Request) (*request, error) {
	r := &request{ask: jute.Request{Op: jute.OpMulti, Ops: slices.Clone(ops)}}
	for i := range r.ask.Ops {
		switch op := &r.ask.Ops[i]; op.Op {
		case jute.OpCreate:
			if op.Flags < jute.FlagPersistent || op.Flags > jute.FlagEphemeralSequential {
				return nil, ErrUnsupported
			}
			notNull(op)
		case jute.OpSetData:
			notNull(op)
		case jute.OpDelete, jute.OpCheck:
		default:
			return nil, ErrBadArguments
		}
	}
	return r, nil
}

// Prove has a quorum of the servers agree to a transaction that changes nothing: the check of a
// znode. A leader that was deposed can't answer it, as it can a sync. The result of the check does
// not matter: a check that fails takes a quorum too.
func (c *Conn) Prove(path string) error {
	check := jute.Request{Op: jute.OpCheck, Path: path, Version: -1}
	_, err := c.one(&request{ask: jute.Request{Op: jute.OpMulti, Ops: []jute.Request{check}}, probe: true})
	return err
}

// mostReads is how many reads a multiRead has at most, so that neither it nor the reply is large.
const mostReads = 64

// MultiRead does several reads, in this order, in one trip: as multiReads, or, if the servers lack
// that (ZooKeeper has it since 3.6) or refuse it, as single requests. With an error, the result of
// each of them is unknown.
func (c *Conn) MultiRead(queries []Query) ([]Found, error) {
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
	as := request{as: c.core.cfg.Auth}
	for i, r := range results {
		*of[i] = Found{Data: r.Data, Names: r.Names, Stat: FromWire(&r.Stat), Err: as.verdict(&asks[i], r.Err)}
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
		return nil, ErrUnsupported // that server takes the operation for another one
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
