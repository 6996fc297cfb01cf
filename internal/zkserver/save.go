package zkserver

import (
	"io"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Save writes the server's whole state, from which another one can go on: see Config.Tree. Nobody
// waits for the writing: of a server that is still open a copy of the tree is written, which shares
// its data.
func (s *Server) Save(out io.Writer, form treefile.Form) error {
	t, zxid, sessions := s.snapshot()
	w := treefile.NewWriter(out, form)
	err := w.Server(zxid)
	for i := 0; i < len(sessions) && err == nil; i++ {
		err = w.Session(sessions[i])
	}
	t.Walk(func(n *tree.Node) {
		if err == nil {
			err = w.Znode(written(n))
		}
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func (ss *session) saved() treefile.Session {
	return treefile.Session{ID: ss.id, Timeout: ss.timeout, Password: ss.password[:]}
}

// snapshot is the state at an instant.
func (s *Server) snapshot() (*tree.Tree, int64, []treefile.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sessions []treefile.Session
	for _, ss := range s.sorted() {
		sessions = append(sessions, ss.saved())
	}
	if s.closed {
		return s.tree, s.zxid, sessions
	}
	return s.tree.Clone(), s.zxid, sessions
}

// written is a znode as a file has it.
func written(n *tree.Node) *treefile.Znode {
	saved := n.Saved()
	z := treefile.Znode{
		Path: saved.Path, Data: saved.Data, ACL: saved.ACL, Container: saved.Owner == tree.OwnerContainer, Sequence: -1,
		Stat: &treefile.Stat{
			Czxid: saved.Czxid, Mzxid: saved.Mzxid, Pzxid: saved.Pzxid, Ctime: saved.Ctime, Mtime: saved.Mtime,
			Version: saved.Version, Aversion: saved.Aversion,
		},
	}
	z.TTL, _ = n.TTL()
	if saved.Creations > 0 || n.NumChildren() > 0 { // else it is known
		z.Sequence = saved.Creations
	}
	if tree.Ephemeral(saved.Owner) {
		z.Owner = saved.Owner
	}
	return &z
}
