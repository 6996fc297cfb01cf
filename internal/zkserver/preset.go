package zkserver

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// SetSequence sets how many children a znode is taken to have had: the sequence number of the next
// sequential one.
func (s *Server) SetSequence(parent string, next int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.Get(parent)
	if n == nil {
		return fmt.Errorf("zkserver: no znode %q", parent)
	}
	s.each(func(t *tree.Tree) { t.SetCreations(parent, next) })
	return nil
}

// each visits the tree and the copies of those that are behind.
func (s *Server) each(visit func(*tree.Tree)) {
	visit(s.tree)
	for _, f := range s.fronts {
		if f.behind {
			visit(f.tree)
		}
	}
}

// SetZxid sets the number that the next transaction follows. It can only grow.
func (s *Server) SetZxid(zxid int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if zxid < s.zxid {
		return fmt.Errorf("zkserver: zxid 0x%x lies before the present one, 0x%x", zxid, s.zxid)
	}
	s.zxid = zxid
	for _, f := range s.fronts {
		if !f.behind {
			f.applied = zxid
		}
	}
	return nil
}
