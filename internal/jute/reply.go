package jute

// Reply is the answer to a request of any operation; each uses the fields that it has. If Err is
// set there is no body.
type Reply struct {
	Xid  int32
	Zxid int64
	Err  Code

	Path     string // create, create2, sync
	Data     []byte
	Stat     Stat
	ACL      []ACL
	Names    []string // children, ephemerals
	Results  []Result // multi, multiRead
	Count    int32    // getAllChildrenNumber
	Identity []Identity
}

// Result is the outcome of one operation inside a multi. Op is [OpError] for all of them if one
// failed: Err is then the reason for that one, OK for those before it and RuntimeInconsistency for
// those after it.
type Result struct {
	Op    Op
	Err   Code
	Path  string
	Stat  Stat
	Data  []byte
	Names []string
}

// Encode writes the reply to a request of operation op.
func (p *Reply) Encode(w *Writer, op Op) {
	w.Int(p.Xid)
	w.Long(p.Zxid)
	w.Int(int32(p.Err))
	if p.Err != OK {
		return
	}
	switch op {
	case OpCreate, OpSync:
		w.Text(p.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		w.Text(p.Path)
		p.Stat.Encode(w)
	case OpExists, OpSetData, OpSetACL:
		p.Stat.Encode(w)
	case OpGetData:
		w.Buffer(p.Data)
		p.Stat.Encode(w)
	case OpSASL:
		w.Buffer(p.Data)
	case OpGetACL:
		writeACLs(w, p.ACL)
		p.Stat.Encode(w)
	case OpGetChildren, OpGetEphemerals:
		w.Texts(p.Names)
	case OpGetChildren2:
		w.Texts(p.Names)
		p.Stat.Encode(w)
	case OpCountChildren:
		w.Int(p.Count)
	case OpAddWatch:
		w.Int(int32(OK))
	case OpMulti, OpMultiRead:
		for i := range p.Results {
			p.Results[i].encode(w)
		}
		w.Int(-1)
		w.Bool(true)
		w.Int(-1)
	case OpWhoAmI:
		w.Int(int32(len(p.Identity)))
		for _, id := range p.Identity {
			w.Text(id.Scheme)
			w.Text(id.ID)
		}
	}
}

// DecodeHeader reads the header that every frame from the server has.
func (p *Reply) DecodeHeader(r *Reader) error {
	p.Xid = r.Int()
	p.Zxid = r.Long()
	p.Err = Code(r.Int())
	return r.Err()
}

// DecodeBody reads what follows the header in the reply to a request of operation op.
func (p *Reply) DecodeBody(r *Reader, op Op) error {
	if p.Err != OK {
		return r.Err()
	}
	switch op {
	case OpCreate, OpSync:
		p.Path = r.Text()
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		p.Path = r.Text()
		p.Stat.Decode(r)
	case OpExists, OpSetData, OpSetACL:
		p.Stat.Decode(r)
	case OpGetData:
		p.Data = r.Buffer()
		p.Stat.Decode(r)
	case OpSASL:
		p.Data = r.Buffer()
	case OpGetACL:
		p.ACL = readACLs(r)
		p.Stat.Decode(r)
	case OpGetChildren, OpGetEphemerals:
		p.Names = r.Texts()
	case OpGetChildren2:
		p.Names = r.Texts()
		p.Stat.Decode(r)
	case OpCountChildren:
		p.Count = r.Int()
	case OpAddWatch:
		r.Int()
	case OpMulti, OpMultiRead:
		return p.DecodeMulti(r, r.Len())
	case OpWhoAmI:
		for range max(0, r.Count(8)) { // two lengths of four bytes each at least
			p.Identity = append(p.Identity, Identity{Scheme: r.Text(), ID: r.Text()})
		}
	}
	return r.Err()
}

// DecodeMulti is DecodeBody for the reply to a transaction of so many operations. More results than
// that are an error, before they take memory.
func (p *Reply) DecodeMulti(r *Reader, operations int) error {
	for p.Err == OK && r.Err() == nil {
		op, done, _ := Op(r.Int()), r.Bool(), r.Int()
		switch {
		case done || r.Err() != nil:
			return r.Err()
		case len(p.Results) == operations:
			r.fail(ErrLength)
			return r.Err()
		}
		part := Result{Op: op}
		part.decode(r)
		p.Results = append(p.Results, part)
	}
	return r.Err()
}

func (s *Result) encode(w *Writer) {
	w.Int(int32(s.Op))
	w.Bool(false)
	w.Int(int32(s.Err))
	switch s.Op {
	case OpError:
		w.Int(int32(s.Err))
	case OpCreate:
		w.Text(s.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		w.Text(s.Path)
		s.Stat.Encode(w)
	case OpSetData:
		s.Stat.Encode(w)
	case OpGetData:
		w.Buffer(s.Data)
		s.Stat.Encode(w)
	case OpGetChildren:
		w.Texts(s.Names)
	}
}

func (s *Result) decode(r *Reader) {
	switch s.Op {
	case OpError:
		s.Err = Code(r.Int())
	case OpCreate:
		s.Path = r.Text()
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		s.Path = r.Text()
		s.Stat.Decode(r)
	case OpSetData:
		s.Stat.Decode(r)
	case OpGetData:
		s.Data = r.Buffer()
		s.Stat.Decode(r)
	case OpGetChildren:
		s.Names = r.Texts()
	}
}
