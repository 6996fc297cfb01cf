package zkconn

import (
	"errors"
	"path"

	"github.com/troupe-go/troupe/internal/jute"
)

// Entry describes the znode of a contender, for Enter.
type Entry struct {
	Path  string
	Data  []byte
	Flags int32 // without a time to live
	ACL   []jute.ACL

	Replace string // a znode to delete in the same transaction; "": none
	List    string // the znode whose children to list right after that, in the same round trip; "": none
}

// Entered is the result of Enter.
type Entered struct {
	Path string
	Stat Stat // of the new znode; zero if the server has no create2, or one was replaced; in a group, Czxid and owner

	Names []string // of the listing
	Err   error    // of the listing: the znode is created nevertheless

	Missing bool // with ErrNoNode: the znode to replace does not exist
}

// Enter creates a znode, in one transaction with the deletion of the one to replace, if any, and
// lists its siblings.
func (c *Conn) Enter(e Entry) (Entered, error) {
	if e.Replace != "" {
		return c.enter(&e, e.request(jute.OpMulti)) // in which the Stat of a create2 is empty, at least in 3.8
	}
	if e.Flags == jute.FlagEphemeralSequential {
		return c.together(&member{request: e.request(jute.OpCreate), entry: e, parent: path.Dir(e.Path)})
	}
	return c.enterAlone(&e, e.request(jute.OpCreate))
}

func (c *Conn) enterAlone(e *Entry, r *request) (Entered, error) {
	if !c.lacks(jute.OpCreate2) { // which replies with the new znode's Stat; ZooKeeper has it since 3.5
		r.ask.Op = jute.OpCreate2
		if made, err := c.enter(e, r); !errors.Is(err, ErrUnsupported) {
			return made, err
		}
	}
	return c.enter(e, e.request(jute.OpCreate)) // r may have been sent
}

func (c *Conn) enter(e *Entry, r *request) (Entered, error) {
	rs := []*request{r}
	if e.List != "" {
		rs = append(rs, reading(jute.OpGetChildren2, e.List, false))
	}
	if err := c.do(rs...); err != nil {
		return Entered{}, err
	}
	made, err := rs[0].entered()
	if err == nil && e.List != "" {
		if made.Err = rs[1].outcome(); made.Err == nil {
			made.Names = rs[1].reply.Names
		}
	}
	return made, err
}

func (e *Entry) request(op jute.Op) *request {
	r := new(request) // no literal: copies of it on the stack would make that grow
	create := &r.ask
	if op == jute.OpMulti {
		r.ask.Op, r.ask.Ops = op, []jute.Request{{Op: jute.OpDelete, Path: e.Replace, Version: -1}, {}}
		create, op = &r.ask.Ops[1], jute.OpCreate
	}
	create.Op, create.Path, create.Data, create.Flags, create.ACL = op, e.Path, e.Data, e.Flags, e.ACL
	notNull(create)
	return r
}

// entered is the result of a create or a transaction.
func (r *request) entered() (Entered, error) {
	if r.ask.Op != jute.OpMulti {
		if err := r.outcome(); err != nil {
			return Entered{}, err
		}
		return Entered{Path: r.reply.Path, Stat: fromWire(&r.reply.Stat)}, nil
	}
	results, err := r.results()
	if err != nil {
		return Entered{Missing: len(results) > 0 && results[0].Err == jute.NoNode}, err
	}
	return Entered{Path: results[1].Path}, nil
}
