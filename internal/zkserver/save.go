package zkserver

import (
	"io"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Save writes the server's whole state, from which another one can go on: see Config.Tree. Nobody
// waits for the writing: of a server that is still open a copy of the tree is written, which shares
// its data.
func (s *Server) Save(out io.Writer) error {
	t, f := s.snapshot()
	fresh := tree.New()
	t.Walk(func(n *tree.Node) {
		z, stat := written(n), n.Stat()
		if z.Stat = &stat; z.Sequence == made(n, fresh, true) {
			z.Sequence = -1
		}
		f.Znodes = append(f.Znodes, z)
	})
	return f.Write(out)
}

// snapshot is the state at an instant.
func (s *Server) snapshot() (*tree.Tree, *treefile.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &treefile.File{Zxid: s.zxid}
	for _, ss := range s.sorted() {
		f.Sessions = append(f.Sessions, treefile.Session{ID: ss.id, Timeout: ss.timeout, Password: ss.password[:]})
	}
	if s.closed {
		return s.tree, f
	}
	return s.tree.Clone(), f
}

// written is a znode as a file has it, without its stat.
func written(n *tree.Node) treefile.Znode {
	z := treefile.Znode{Path: n.Path(), Data: n.Data(), ACL: n.ACL(), Owner: n.Owner(), Sequence: n.Creations()}
	if n.Parent() == nil {
		z.Path = "/"
	}
	return z
}

// Znodes are those that Load would bring back: all but ephemerals and what every new server has.
func (s *Server) Znodes() []treefile.Znode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []treefile.Znode
	fresh := tree.New()
	s.tree.Walk(func(n *tree.Node) {
		z := written(n)
		if tree.Ephemeral(z.Owner) {
			return
		}
		if z.Sequence == made(n, fresh, false) {
			z.Sequence = -1
		}
		if old := fresh.Get(z.Path); old != nil && z.Sequence < 0 && string(old.Data()) == string(z.Data) && slices.Equal(old.ACL(), z.ACL) {
			return
		}
		all = append(all, z)
	})
	return all
}

// made is how many children a node will be taken to have had when it has been loaded.
func made(n *tree.Node, fresh *tree.Tree, ephemerals bool) (count int32) {
	n.Children(func(c *tree.Node) {
		if (ephemerals || !tree.Ephemeral(c.Owner())) && fresh.Get(c.Path()) == nil {
			count++
		}
	})
	return count
}

// Tree is the text of the znodes, in the form that Load reads.
func (s *Server) Tree() (string, error) {
	var b strings.Builder
	f := treefile.File{Zxid: -1, Znodes: s.Znodes()}
	err := f.Write(&b)
	return b.String(), err
}
