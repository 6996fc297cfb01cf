package zkserver

import (
	"errors"
	"fmt"
	"math"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// begin fills a new server, which nobody has seen yet, with what its configuration says. So nothing
// needs to be a transaction, and nothing is held twice.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Tree != nil {
		if err := s.read(); err != nil {
			return fmt.Errorf("zkserver: %w: %w", ErrTree, err)
		}
	}
	s.resume()
	return nil
}

// read takes what Config.Tree holds.
func (s *Server) read() error {
	r := restorer{s: s, zxid: s.zxid + 1, now: s.now(), implied: make(map[string]bool), counted: make(map[string]bool)}
	s.tree.Walk(func(n *tree.Node) { r.implied[n.Saved().Path] = true })
	fresh := len(r.implied)
	err := treefile.Read(s.cfg.Tree, treefile.Visitor{Server: r.server, Session: r.session, Znode: r.znode})
	s.cfg.Tree = nil
	switch {
	case err != nil:
		return err
	case r.state:
		s.zxid = max(s.cfg.FirstZxid, nextEpoch(r.zxid))
	case s.tree.Len() > fresh || r.znodes > 0:
		s.zxid++ // as if all had come in one transaction
	}
	return nil
}

// nextEpoch is where the zxids of a server begin that goes on where another one ended: whoever has
// seen the last of that one's has seen nothing later.
func nextEpoch(zxid int64) int64 { return (zxid>>32 + 1) << 32 }

// restorer takes what a file holds.
type restorer struct {
	s       *Server
	state   bool            // the file is a server's whole state
	zxid    int64           // of what has no stat
	now     int64           // the same
	znodes  int             // how many came
	implied map[string]bool // paths of znodes that are there without having come from the file
	counted map[string]bool // paths of znodes with a count of their own
}

func (r *restorer) server(zxid int64) error {
	if r.znodes > 0 || zxid < 0 {
		return fmt.Errorf("zxid 0x%x: it is negative or stands behind znodes", uint64(zxid))
	}
	if nextEpoch(zxid) < 0 {
		return fmt.Errorf("zxid 0x%x: there is no higher epoch", zxid)
	}
	r.state, r.zxid = true, zxid
	return nil
}

func (r *restorer) session(saved treefile.Session) error {
	if r.s.sessions[saved.ID] != nil || !tree.Ephemeral(saved.ID) || saved.ID > lastSessionID {
		return errors.New("it occurs twice, or is no id of a session")
	}
	r.s.restoreSession(saved)
	return nil
}

// restoreSession brings back a session of an earlier process. Its time runs from resume on.
func (s *Server) restoreSession(saved treefile.Session) {
	ss := &session{id: saved.ID, password: passwordOf(saved.ID), timeout: saved.Timeout}
	if len(saved.Password) == len(ss.password) {
		copy(ss.password[:], saved.Password)
	}
	s.sessions[ss.id] = ss
}

func (r *restorer) znode(z *treefile.Znode) error {
	saved, err := r.saved(z)
	if err != nil {
		return err
	}
	r.znodes++
	node := r.s.tree.Get(z.Path)
	switch {
	case node == nil:
		err = r.parents(z.Path)
	case !r.implied[z.Path]:
		return errors.New("it occurs twice")
	case (tree.Special(z.Path) || z.Path == "/") && saved.Owner != 0:
		return fmt.Errorf("it exists: %w", jute.NodeExists)
	}
	if err != nil {
		return err
	}
	delete(r.implied, z.Path)
	if z.Sequence >= 0 {
		r.counted[z.Path] = true
	}
	return r.put(saved)
}

// put also counts the children of those that don't say how many there have been.
func (r *restorer) put(saved tree.Saved) error {
	isNew := r.s.tree.Get(saved.Path) == nil
	n, err := r.s.tree.Restore(saved)
	if err != nil {
		return err
	}
	if p := n.Parent(); isNew && !r.counted[p.Saved().Path] {
		r.s.tree.SetCreations(p.Path(), p.Creations()+1)
	}
	return nil
}

// parents makes those that the file has not named so far.
func (r *restorer) parents(path string) error {
	if !tree.Valid(path) {
		return jute.BadArguments
	}
	for i, c := range path {
		parent := path[:i]
		if c != '/' || i == 0 || r.s.tree.Get(parent) != nil {
			continue
		}
		implied := tree.Saved{Path: parent, ACL: jute.OpenACL(), Creations: -1}
		r.stamp(&implied, nil)
		if err := r.put(implied); err != nil {
			return fmt.Errorf("its parent %q: %w", parent, err)
		}
		r.implied[parent] = true
	}
	return nil
}

func (r *restorer) saved(z *treefile.Znode) (tree.Saved, error) {
	saved := tree.Saved{Path: z.Path, Data: z.Data, ACL: z.ACL, Owner: z.Owner, Creations: z.Sequence}
	r.stamp(&saved, z.Stat)
	if saved.ACL == nil {
		saved.ACL = jute.OpenACL()
	}
	var code jute.Code
	if saved.ACL, _, code = tree.Fix(saved.ACL, nil, math.MaxInt, true); code != jute.OK {
		return saved, code
	}
	kind := z.Container || z.TTL > 0
	switch {
	case z.Owner != 0 && (kind || !tree.Ephemeral(z.Owner)):
		return saved, errors.New("an owner that can't be")
	case z.Container:
		saved.Owner = tree.OwnerContainer
	case z.TTL > 0 && r.s.cfg.NoTTL:
		return saved, jute.Unimplemented
	case z.TTL.Milliseconds() > tree.MaxTTL:
		return saved, jute.BadArguments
	case z.TTL > 0:
		saved.Owner = tree.OwnerTTL(z.TTL.Milliseconds())
	}
	return saved, nil
}

// stamp gives a znode its stat, or one as if it had just been made.
func (r *restorer) stamp(saved *tree.Saved, stat *treefile.Stat) {
	if stat == nil {
		stat = &treefile.Stat{Czxid: r.zxid, Mzxid: r.zxid, Pzxid: r.zxid, Ctime: r.now, Mtime: r.now}
	}
	saved.Czxid, saved.Mzxid, saved.Pzxid = stat.Czxid, stat.Mzxid, stat.Pzxid
	saved.Ctime, saved.Mtime = stat.Ctime, stat.Mtime
	saved.Version, saved.Aversion = stat.Version, stat.Aversion
}

// resume lets the time of restored sessions run, each for its whole timeout, as the real server
// does; ephemerals without a session go.
func (s *Server) resume() {
	for _, f := range s.fronts {
		f.applied = s.zxid
	}
	for _, ss := range s.sorted() {
		s.expiry.add(s, ss)
		s.nextID = max(s.nextID, ss.id+1)
	}
	for _, owner := range s.tree.EphemeralOwners() {
		if s.sessions[owner] == nil {
			s.commit(&txn{changes: s.tree.CloseSession(owner), ends: owner}, nil)
		}
	}
	s.armReaper()
}
