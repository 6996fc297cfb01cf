package jute

// Stat is what ZooKeeper keeps about a znode, in wire order.
type Stat struct {
	Czxid          int64
	Mzxid          int64
	Ctime          int64 // ms since 1970
	Mtime          int64
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// Encode writes the stat.
func (s *Stat) Encode(w *Writer) {
	w.Long(s.Czxid)
	w.Long(s.Mzxid)
	w.Long(s.Ctime)
	w.Long(s.Mtime)
	w.Int(s.Version)
	w.Int(s.Cversion)
	w.Int(s.Aversion)
	w.Long(s.EphemeralOwner)
	w.Int(s.DataLength)
	w.Int(s.NumChildren)
	w.Long(s.Pzxid)
}

// Decode reads a stat.
func (s *Stat) Decode(r *Reader) {
	s.Czxid = r.Long()
	s.Mzxid = r.Long()
	s.Ctime = r.Long()
	s.Mtime = r.Long()
	s.Version = r.Int()
	s.Cversion = r.Int()
	s.Aversion = r.Int()
	s.EphemeralOwner = r.Long()
	s.DataLength = r.Int()
	s.NumChildren = r.Int()
	s.Pzxid = r.Long()
}
