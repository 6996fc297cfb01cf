package zkconn

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

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
	return fromWire(&reply.Stat), err
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
	return fromWire(&reply.Stat), err
}

// Multi carries out all operations, or none of them: then the error is that of the operation that
// failed, and there is a result for each.
func (c *Conn) Multi(ops []jute.Request) ([]Result, error) { return c.MultiWhile(nil, ops) }

// MultiWhile is Multi for operations that are to be sent only while something stands: else it
// returns ErrCalledOff. stands is asked in the moment in which the place of the transaction among
// the requests of the session is fixed: whatever is sent after stands has become false comes behind
// it, or it is not sent. stands must not block; nil: always.
func (c *Conn) MultiWhile(stands func() bool, ops []jute.Request) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	r, err := transaction(ops)
	if err != nil {
		return nil, err
	}
	r.stands = stands
	if err := c.do(r); err != nil {
		return nil, err
	}
	answers, err := r.results()
	if len(answers) != len(ops) {
		return nil, err
	}
	results := make([]Result, len(answers))
	for i := range answers {
		results[i] = Result{Path: answers[i].Path, Stat: fromWire(&answers[i].Stat), Err: r.verdict(&r.ask.Ops[i], answers[i].Err)}
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
// znode. A leader that was deposed can't answer it, as it can a sync. What the check finds is of no
// interest: one that fails takes a quorum too.
func (c *Conn) Prove(path string) error {
	check := jute.Request{Op: jute.OpCheck, Path: path, Version: -1}
	_, err := c.one(&request{ask: jute.Request{Op: jute.OpMulti, Ops: []jute.Request{check}}, probe: true})
	return err
}
