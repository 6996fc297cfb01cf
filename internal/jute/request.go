package jute

// Request is a request of any operation; each uses the fields that it has.
type Request struct {
	Xid     int32
	Op      Op
	Path    string
	Data    []byte // also the credentials of setAuth
	ACL     []ACL
	Flags   int32 // the mode of a create, FlagEphemeral and so on; also the mode of addWatch
	TTL     int64 // ms; -1: a create has none
	Version int32
	Watch   bool
	Scheme  string // setAuth
	Kind    int32  // which watches checkWatches and removeWatches mean; also the type of setAuth, which clients set to 0

	Ops []Request // multi, multiRead

	Names []string // reconfig: the servers that join, leave, or are to be

	Zxid      int64    // setWatches: what the client saw last; reconfig: the configuration to be replaced
	DataW     []string // the watches to set again
	ExistW    []string
	ChildW    []string
	PersistW  []string // setWatches2
	RecursW   []string
	truncated bool // see Malformed
}

// Reset empties the request for another use.
func (q *Request) Reset() { *q = Request{} }

// Malformed reports whether the body could not be read as what the operation needs.
func (q *Request) Malformed() bool { return q.truncated }

// Decode reads a frame. The error is about the header alone: without it there is nothing to answer.
// A body that can't be read is no error but makes the request Malformed, since the server answers
// it.
func (q *Request) Decode(r *Reader) error {
	q.Xid = r.Int()
	q.Op = Op(r.Int())
	if err := r.Err(); err != nil {
		return err
	}
	q.body(r)
	q.truncated = q.truncated || r.Err() != nil
	return nil
}

func (q *Request) body(r *Reader) {
	switch q.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		q.Path = r.Text()
		q.Data = r.Buffer()
		q.ACL = readACLs(r)
		q.Flags = r.Int()
		q.TTL = -1
		if q.Op == OpCreateTTL {
			q.TTL = r.Long()
		}
	case OpDelete, OpCheck:
		q.Path = r.Text()
		q.Version = r.Int()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		q.Path = r.Text()
		q.Watch = r.Bool()
	case OpSetData:
		q.Path = r.Text()
		q.Data = r.Buffer()
		q.Version = r.Int()
	case OpGetACL, OpSync, OpGetEphemerals, OpCountChildren:
		q.Path = r.Text()
	case OpSetACL:
		q.Path = r.Text()
		q.ACL = readACLs(r)
		q.Version = r.Int()
	case OpCheckWatches, OpRemoveWatches:
		q.Path = r.Text()
		q.Kind = r.Int()
	case OpAddWatch:
		q.Path = r.Text()
		q.Flags = r.Int()
	case OpMulti, OpMultiRead:
		q.multi(r)
	case OpReconfig:
		q.Names = []string{r.Text(), r.Text(), r.Text()}
		q.Zxid = r.Long()
	case OpSetAuth:
		q.Kind = r.Int()
		q.Scheme = r.Text()
		q.Data = r.Buffer()
	case OpSASL:
		q.Data = r.Buffer()
	case OpSetWatches, OpSetWatches2:
		q.watches(r)
	}
}

func (q *Request) watches(r *Reader) {
	q.Zxid = r.Long()
	q.DataW, q.ExistW, q.ChildW = r.Texts(), r.Texts(), r.Texts()
	if q.Op == OpSetWatches2 {
		q.PersistW, q.RecursW = r.Texts(), r.Texts()
	}
}

// multiOp reports whether an operation may stand inside a multi (or, reading, inside a multiRead).
func multiOp(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck, OpGetData, OpGetChildren:
		return true
	}
	return false
}

func (o Op) reads() bool { return o == OpGetData || o == OpGetChildren }

func (q *Request) multi(r *Reader) {
	for {
		op, done, _ := Op(r.Int()), r.Bool(), r.Int()
		if done || r.Err() != nil {
			return
		}
		if !multiOp(op) {
			q.truncated = true
			return
		}
		part := Request{Op: op}
		part.body(r)
		if r.Err() != nil {
			return
		}
		if len(q.Ops) > 0 && q.Ops[0].Op.reads() != op.reads() { // reads and writes don't mix
			q.truncated = true
			return
		}
		q.Ops = append(q.Ops, part)
	}
}

// Encode writes the request with its header.
func (q *Request) Encode(w *Writer) {
	w.Int(q.Xid)
	w.Int(int32(q.Op))
	q.encodeBody(w)
}

func (q *Request) encodeBody(w *Writer) {
	switch q.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		w.Text(q.Path)
		w.Buffer(q.Data)
		writeACLs(w, q.ACL)
		w.Int(q.Flags)
		if q.Op == OpCreateTTL {
			w.Long(q.TTL)
		}
	case OpDelete, OpCheck:
		w.Text(q.Path)
		w.Int(q.Version)
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		w.Text(q.Path)
		w.Bool(q.Watch)
	case OpSetData:
		w.Text(q.Path)
		w.Buffer(q.Data)
		w.Int(q.Version)
	case OpGetACL, OpSync, OpGetEphemerals, OpCountChildren:
		w.Text(q.Path)
	case OpSetACL:
		w.Text(q.Path)
		writeACLs(w, q.ACL)
		w.Int(q.Version)
	case OpCheckWatches, OpRemoveWatches:
		w.Text(q.Path)
		w.Int(q.Kind)
	case OpAddWatch:
		w.Text(q.Path)
		w.Int(q.Flags)
	case OpMulti, OpMultiRead:
		q.encodeMulti(w)
	case OpReconfig:
		for _, list := range q.Names {
			w.Text(list)
		}
		w.Long(q.Zxid)
	case OpSetAuth:
		w.Int(q.Kind)
		w.Text(q.Scheme)
		w.Buffer(q.Data)
	case OpSASL:
		w.Buffer(q.Data)
	case OpSetWatches, OpSetWatches2:
		w.Long(q.Zxid)
		w.Texts(q.DataW)
		w.Texts(q.ExistW)
		w.Texts(q.ChildW)
		if q.Op == OpSetWatches2 {
			w.Texts(q.PersistW)
			w.Texts(q.RecursW)
		}
	}
}

func (q *Request) encodeMulti(w *Writer) {
	for i := range q.Ops {
		w.Int(int32(q.Ops[i].Op))
		w.Bool(false)
		w.Int(-1)
		q.Ops[i].encodeBody(w)
	}
	w.Int(-1)
	w.Bool(true)
	w.Int(-1)
}
