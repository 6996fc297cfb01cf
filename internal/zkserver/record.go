package zkserver

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// What a server keeps on disk are records, encoded with jute: transactions in the log; in a
// snapshot the zxid, the sessions, and the znodes.
const (
	recordTxn int32 = iota + 1
	recordZxid
	recordSession
	recordZnode
)

var errRecord = errors.New("zkserver: a record that makes no sense")

func encodeTxn(b []byte, t *txn) []byte {
	w := jute.NewWriter(b)
	w.Int(recordTxn)
	w.Long(t.zxid)
	w.Long(t.time)
	w.Long(t.ends)
	w.Bool(t.opens != nil)
	if t.opens != nil {
		encodeSession(w, t.opens.saved())
	}
	w.Int(int32(len(t.changes)))
	for i := range t.changes {
		encodeChange(w, &t.changes[i])
	}
	return w.Bytes()
}

func encodeChange(w *jute.Writer, c *tree.Change) {
	w.Int(int32(c.Kind))
	w.Buffer([]byte(c.Path)) // as it is: jute would take characters apart
	switch c.Kind {
	case tree.Create:
		w.Buffer(c.Data)
		encodeACL(w, c.ACL)
		w.Long(c.Owner)
		w.Int(c.Creations)
	case tree.SetData:
		w.Buffer(c.Data)
		w.Int(c.Version)
	case tree.SetACL:
		encodeACL(w, c.ACL)
		w.Int(c.Version)
	case tree.Count:
		w.Int(c.Creations)
	}
}

func decodeChange(r *jute.Reader) tree.Change {
	c := tree.Change{Kind: tree.Kind(r.Int()), Path: string(r.Buffer())}
	switch c.Kind {
	case tree.Create:
		c.Data, c.ACL, c.Owner, c.Creations = r.Buffer(), decodeACL(r), r.Long(), r.Int()
	case tree.SetData:
		c.Data, c.Version = r.Buffer(), r.Int()
	case tree.SetACL:
		c.ACL, c.Version = decodeACL(r), r.Int()
	case tree.Count:
		c.Creations = r.Int()
	}
	return c
}

func encodeACL(w *jute.Writer, acl []jute.ACL) {
	w.Int(int32(len(acl)))
	for _, a := range acl {
		w.Int(int32(a.Perms))
		w.Buffer([]byte(a.Scheme))
		w.Buffer([]byte(a.ID))
	}
}

func decodeACL(r *jute.Reader) []jute.ACL {
	all := make([]jute.ACL, max(0, r.Count(12)))
	for i := range all {
		all[i] = jute.ACL{Perms: jute.Perms(r.Int()), Scheme: string(r.Buffer()), ID: string(r.Buffer())}
	}
	return all
}

func (ss *session) saved() treefile.Session {
	return treefile.Session{ID: ss.id, Timeout: ss.timeout, Password: ss.password[:]}
}

func encodeSession(w *jute.Writer, s treefile.Session) {
	w.Long(s.ID)
	w.Long(int64(s.Timeout))
	w.Buffer(s.Password)
}

func decodeSession(r *jute.Reader) treefile.Session {
	return treefile.Session{ID: r.Long(), Timeout: time.Duration(r.Long()), Password: r.Buffer()}
}

func encodeZnode(w *jute.Writer, n tree.Saved) {
	w.Int(recordZnode)
	w.Buffer([]byte(n.Path))
	w.Buffer(n.Data)
	encodeACL(w, n.ACL)
	for _, v := range []int64{n.Owner, n.Czxid, n.Mzxid, n.Pzxid, n.Ctime, n.Mtime} {
		w.Long(v)
	}
	for _, v := range []int32{n.Version, n.Aversion, n.Creations} {
		w.Int(v)
	}
}

func decodeZnode(r *jute.Reader) tree.Saved {
	return tree.Saved{
		Path: string(r.Buffer()), Data: r.Buffer(), ACL: decodeACL(r), Owner: r.Long(), Czxid: r.Long(), Mzxid: r.Long(), Pzxid: r.Long(),
		Ctime: r.Long(), Mtime: r.Long(), Version: r.Int(), Aversion: r.Int(), Creations: r.Int(),
	}
}

// image is a server's state as records make it.
type image struct {
	tree     *tree.Tree
	zxid     int64
	sessions map[int64]treefile.Session
}

func newImage() *image {
	return &image{tree: tree.New(), sessions: make(map[int64]treefile.Session)}
}

// add takes one more record. It keeps nothing of the bytes.
func (m *image) add(record []byte) error {
	r := jute.NewReader(record)
	err := error(nil)
	switch kind := r.Int(); kind {
	case recordTxn:
		err = m.apply(r)
	case recordZxid:
		m.zxid = r.Long()
	case recordSession:
		err = m.open(decodeSession(r))
	case recordZnode:
		n := decodeZnode(r)
		if r.Err() == nil {
			_, err = m.tree.Restore(n)
		}
	default:
		err = fmt.Errorf("%w: its kind is %d", errRecord, kind)
	}
	if r.Err() != nil || r.Len() > 0 && err == nil {
		return errors.Join(errRecord, r.Err())
	}
	return err
}

func (m *image) apply(r *jute.Reader) error {
	zxid, now, ends := r.Long(), r.Long(), r.Long()
	if r.Bool() {
		if err := m.open(decodeSession(r)); err != nil {
			return err
		}
	}
	changes := make([]tree.Change, max(0, r.Count(8)))
	for i := range changes {
		changes[i] = decodeChange(r)
	}
	if r.Err() != nil || zxid < m.zxid {
		return errRecord
	}
	for i := range changes {
		m.tree.Apply(&changes[i], zxid, now)
	}
	m.zxid = zxid
	delete(m.sessions, ends)
	return nil
}

func (m *image) open(s treefile.Session) error {
	if !tree.Ephemeral(s.ID) || s.Timeout <= 0 {
		return errRecord
	}
	m.sessions[s.ID] = s
	return nil
}

// records are those of a snapshot.
func (m *image) records(put func(record []byte) error) error {
	w := jute.NewWriter(nil)
	flush := func() error {
		err := put(w.Bytes())
		w.Reset(w.Bytes()[:0])
		return err
	}
	w.Int(recordZxid)
	w.Long(m.zxid)
	err := flush()
	for _, s := range m.sessions {
		if err == nil {
			w.Int(recordSession)
			encodeSession(w, s)
			err = flush()
		}
	}
	m.tree.Walk(func(n *tree.Node) {
		if err == nil {
			encodeZnode(w, n.Saved())
			err = flush()
		}
	})
	return err
}
