package zkserver

import (
	"io"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Save writes the tree in the form that Load reads. Nobody waits for the writing: the data are
// shared, and never altered.
func (s *Server) Save(out io.Writer) error { return treefile.Write(out, s.znodes()) }

// Tree is the text that Save writes.
func (s *Server) Tree() (string, error) {
	var b strings.Builder
	err := s.Save(&b)
	return b.String(), err
}

// znodes are those that Load would bring back: all but ephemerals and what every new server has.
func (s *Server) znodes() []treefile.Znode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []treefile.Znode
	fresh := tree.New()
	s.tree.Walk(func(n *tree.Node) {
		z := treefile.Znode{Path: n.Path(), Data: n.Data(), ACL: n.ACL(), Owner: n.Owner(), Sequence: n.Creations()}
		if n.Parent() == nil {
			z.Path = "/"
		}
		if tree.Ephemeral(z.Owner) {
			return
		}
		if z.Sequence == made(n, fresh) {
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
func made(n *tree.Node, fresh *tree.Tree) (count int32) {
	n.Children(func(c *tree.Node) {
		if !tree.Ephemeral(c.Owner()) && fresh.Get(c.Path()) == nil {
			count++
		}
	})
	return count
}
