package zkserver

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Load adds the znodes of a text in JSON or YAML (package treefile has the form) to the tree, in
// one transaction: all of them, or, if something is wrong with one, none. Data and ACLs of those
// that exist are replaced. ACLs don't stop it. Of a server's whole state it takes what a tree has:
// neither sessions and their ephemerals nor stats.
func (s *Server) Load(text []byte) error {
	znodes, err := treefile.Parse(text)
	if err != nil {
		return fmt.Errorf("zkserver: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	znodes = slices.DeleteFunc(znodes, func(z treefile.Znode) bool { return z.Owner != 0 })
	plan := s.tree.Plan(tree.Caller{Who: super})
	for i := range znodes {
		if err := s.plant(plan, &znodes[i]); err != nil {
			return fmt.Errorf("zkserver: tree: %q: %w", znodes[i].Path, err)
		}
	}
	for i := range znodes {
		if z := &znodes[i]; z.Sequence >= 0 {
			plan.Changes = append(plan.Changes, tree.Change{Kind: tree.Count, Path: z.Path, Creations: z.Sequence})
		}
	}
	if len(plan.Changes) > 0 {
		s.commit(&txn{changes: plan.Changes}, nil)
	}
	return nil
}

// plant adds to a transaction what makes a znode as it is described, its parents included.
func (s *Server) plant(plan *tree.Plan, z *treefile.Znode) error {
	acl := z.ACL
	if acl == nil {
		acl = jute.OpenACL()
	}
	if plan.Exists(z.Path) {
		if z.Container || z.TTL > 0 {
			return fmt.Errorf("it exists: %w", jute.NodeExists)
		}
		return add(plan,
			&jute.Request{Op: jute.OpSetData, Path: z.Path, Data: z.Data, Version: -1},
			&jute.Request{Op: jute.OpSetACL, Path: z.Path, ACL: acl, Version: -1})
	}
	if !tree.Valid(z.Path) {
		return jute.BadArguments
	}
	for i, c := range z.Path {
		if parent := z.Path[:i]; c == '/' && i > 0 && !plan.Exists(parent) {
			if err := add(plan, &jute.Request{Op: jute.OpCreate, Path: parent, ACL: jute.OpenACL(), TTL: -1}); err != nil {
				return err
			}
		}
	}
	q := jute.Request{Op: jute.OpCreate, Path: z.Path, Data: z.Data, ACL: acl, TTL: -1}
	switch {
	case z.Container:
		q.Op, q.Flags = jute.OpCreateContainer, jute.FlagContainer
	case z.TTL > 0 && s.cfg.NoTTL:
		return jute.Unimplemented
	case z.TTL > 0:
		q.Op, q.Flags, q.TTL = jute.OpCreateTTL, jute.FlagPersistentTTL, z.TTL.Milliseconds()
	}
	return add(plan, &q)
}

func add(plan *tree.Plan, qs ...*jute.Request) error {
	for _, q := range qs {
		if code := plan.Add(q); code != jute.OK {
			return code
		}
	}
	return nil
}

// super is who may do everything.
var super = tree.NewWho(jute.Identity{Scheme: tree.SuperScheme})

// Znodes are those that Load would bring back: all but ephemerals and what every new server has.
func (s *Server) Znodes() []treefile.Znode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []treefile.Znode
	fresh := tree.New()
	s.tree.Walk(func(n *tree.Node) {
		path := n.Path()
		if path == "" {
			path = "/"
		}
		if tree.Ephemeral(n.Owner()) {
			return
		}
		z := treefile.Znode{Path: path, Data: n.Data(), ACL: n.ACL(), Container: n.Owner() == tree.OwnerContainer, Sequence: -1}
		z.TTL, _ = n.TTL()
		if next := n.Creations(); next != lasting(n, fresh) {
			z.Sequence = next
		}
		if old := fresh.Get(path); old != nil && z.Sequence < 0 && string(old.Data()) == string(z.Data) && slices.Equal(old.ACL(), z.ACL) {
			return
		}
		all = append(all, z)
	})
	return all
}

// lasting is how many children a node will be taken to have had when it has been loaded.
func lasting(n *tree.Node, fresh *tree.Tree) (count int32) {
	n.Children(func(c *tree.Node) {
		if !tree.Ephemeral(c.Owner()) && fresh.Get(c.Path()) == nil {
			count++
		}
	})
	return count
}

// WriteTree writes the znodes, without stats, in the form that the ending of a file's name asks
// for.
func (s *Server) WriteTree(name string) ([]byte, error) {
	var b bytes.Buffer
	w := treefile.NewWriter(&b, treefile.FormOf(name))
	for _, z := range s.Znodes() {
		if err := w.Znode(&z); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
