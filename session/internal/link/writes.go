package link

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// Create creates a znode and returns its path, which has a number appended if mode is sequential.
// ttl is for the modes with a time to live only.
func (c *Conn) Create(path string, data []byte, mode Mode, ttl time.Duration, acl []ACL) (string, error) {
	op := Op{Kind: OpCreate, Path: path, Data: data, Mode: mode, ACL: acl}
	r := &request{op: jute.OpCreate, path: path, size: SizeAlone(op)}
	data, rights := solid(data), toACL(acl)
	call := func() (string, error) { return c.zk.Create(path, data, int32(mode), rights) }
	switch mode {
	case Container:
		if c.lacksContainers() {
			return "", ErrUnsupported
		}
		r.op = jute.OpCreateContainer
		call = func() (string, error) { return c.zk.CreateContainer(path, data, int32(mode), rights) }
	case TTL, SequentialTTL:
		r.op = jute.OpCreateTTL
		call = func() (string, error) { return c.zk.CreateTTL(path, data, int32(mode), rights, ttl) }
	}
	var made string
	err := c.ask(r, func() (err error) {
		made, err = call()
		return err
	})
	if mode == Container && r.line != nil && !errors.Is(err, ErrNotSent) && !errors.Is(err, ErrEnded) { // it was sent
		c.mu.Lock()
		c.containers.learn(err)
		c.mu.Unlock()
	}
	if err != nil {
		return "", err
	}
	return made, nil
}

// lacksContainers: the servers don't know containers, which is remembered: those that hang up at
// them would do so each time.
func (c *Conn) lacksContainers() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.containers.lacking
}

// Set replaces a znode's data if it has this version; -1 stands for any.
func (c *Conn) Set(path string, data []byte, version int32) (Stat, error) {
	var stat *zk.Stat
	r := &request{op: jute.OpSetData, path: path, size: SizeAlone(Op{Kind: OpSet, Path: path, Data: data})}
	err := c.ask(r, func() (err error) {
		stat, err = c.zk.Set(path, solid(data), version)
		return err
	})
	if err != nil {
		return Stat{}, err
	}
	return fromStat(stat), nil
}

// Delete deletes a childless znode if it has this version; -1 stands for any.
func (c *Conn) Delete(path string, version int32) error {
	r := &request{op: jute.OpDelete, path: path, size: SizeAlone(Op{Kind: OpDelete, Path: path})}
	r.ask.Version = version
	return c.direct(r)
}

// SetACL replaces a znode's ACL if that has this version; -1 stands for any.
func (c *Conn) SetACL(path string, acl []ACL, version int32) (Stat, error) {
	var stat *zk.Stat
	r := &request{op: jute.OpSetACL, path: path, size: sizeHeader + sizeText(path) + sizeACL(acl) + sizeVersion}
	err := c.ask(r, func() (err error) {
		stat, err = c.zk.SetACL(path, toACL(acl), version)
		return err
	})
	if err != nil {
		return Stat{}, err
	}
	return fromStat(stat), nil
}

// Multi carries out all operations, or none of them: then the error is that of the operation that
// failed, and there is a result for each.
func (c *Conn) Multi(ops []Op) ([]Result, error) {
	r := &request{op: jute.OpMulti, size: Size(ops...)}
	asks, err := toMulti(ops)
	if err != nil || len(asks) == 0 {
		return nil, err
	}
	var answers []zk.MultiResponse
	err = c.ask(r, func() (err error) {
		answers, err = c.zk.Multi(asks...)
		return err
	})
	if len(answers) != len(ops) {
		if err == nil {
			err = ErrNoReply // an answer that is none
		}
		return nil, err
	}
	results := make([]Result, len(answers))
	for i, a := range answers {
		results[i] = Result{Path: a.String, Stat: fromStat(a.Stat), Err: fromLibrary(a.Error)}
	}
	return results, err
}

func toMulti(ops []Op) ([]any, error) {
	asks := make([]any, len(ops))
	for i, op := range ops {
		switch op.Kind {
		case OpCreate:
			if op.Mode > EphemeralSequential || op.Mode < Persistent {
				return nil, ErrUnsupported
			}
			asks[i] = &zk.CreateRequest{Path: op.Path, Data: solid(op.Data), Acl: toACL(op.ACL), Flags: int32(op.Mode)}
		case OpSet:
			asks[i] = &zk.SetDataRequest{Path: op.Path, Data: solid(op.Data), Version: op.Version}
		case OpDelete:
			asks[i] = &zk.DeleteRequest{Path: op.Path, Version: op.Version}
		case OpCheck:
			asks[i] = &zk.CheckVersionRequest{Path: op.Path, Version: op.Version}
		default:
			return nil, ErrBadArguments
		}
	}
	return asks, nil
}

// solid makes no data empty data: others stumble over znodes without.
func solid(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func toACL(acl []ACL) []zk.ACL {
	all := make([]zk.ACL, len(acl))
	for i, a := range acl {
		all[i] = zk.ACL{Perms: int32(a.Perms), Scheme: a.Scheme, ID: a.ID}
	}
	return all
}

func fromACL(acl []zk.ACL) []ACL {
	all := make([]ACL, len(acl))
	for i, a := range acl {
		all[i] = ACL{Perms: Perms(a.Perms), Scheme: a.Scheme, ID: a.ID}
	}
	return all
}

// Prove has a quorum of the servers agree to a transaction that changes nothing: the check of a
// znode. A leader that was deposed can't answer it, as it can a sync. What the check finds is of no
// interest: one that fails takes a quorum too.
func (c *Conn) Prove(path string) error {
	r := &request{
		op: jute.OpMulti, size: Size(Op{Kind: OpCheck, Path: path}), sign: true,
		ask: jute.Request{Ops: []jute.Request{{Op: jute.OpCheck, Path: path, Version: -1}}},
	}
	return c.direct(r)
}
