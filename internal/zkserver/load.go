package zkserver

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Load adds the znodes of a text (package treefile has the form) to the tree, in one transaction:
// all of them, or, if something is wrong with one, none. Data and ACLs of those that exist are
// replaced. ACLs don't stop it.
func (s *Server) Load(text io.Reader) error {
	znodes, err := treefile.Read(text)
	if err != nil {
		return fmt.Errorf("tree: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return Admin{s}.load(znodes)
}

// load is Load with the lock held.
func (a Admin) load(znodes []treefile.Znode) error {
	s := a.Server
	plan := s.tree.Plan(tree.Caller{Who: super, IPv6: true})
	var counts []tree.Change // of children that ever were: they come last
	for i := range znodes {
		z := &znodes[i]
		if err := s.plant(plan, z, jute.FlagPersistent); err != nil {
			return fmt.Errorf("tree: %q: %w", z.Path, err)
		}
		if z.Sequence >= 0 {
			counts = append(counts, tree.Change{Kind: tree.Count, Path: z.Path, Creations: z.Sequence})
		}
	}
	if len(plan.Changes) > 0 {
		s.commit(&txn{changes: append(plan.Changes, counts...)}, nil)
	}
	return nil
}

// plant adds to a transaction the changes that make a znode as it is described, its parents
// included. The flags say whether it is ephemeral, and whether a number is added to its path.
func (s *Server) plant(plan *tree.Plan, z *treefile.Znode, flags int32) error {
	if flags == jute.FlagPersistent && plan.Exists(z.Path) {
		if z.Owner != 0 {
			return fmt.Errorf("it exists: %w", jute.NodeExists)
		}
		return add(plan,
			&jute.Request{Op: jute.OpSetData, Path: z.Path, Data: z.Data, Version: -1},
			&jute.Request{Op: jute.OpSetACL, Path: z.Path, ACL: z.ACL, Version: -1})
	}
	if flags&jute.FlagSequential == 0 && !tree.Valid(z.Path) { // else the number makes it valid, or not
		return jute.BadArguments
	}
	for i, c := range z.Path {
		if parent := z.Path[:i]; c == '/' && i > 0 && !plan.Exists(parent) {
			if err := add(plan, &jute.Request{Op: jute.OpCreate, Path: parent, ACL: jute.OpenACL(), TTL: -1}); err != nil {
				return err
			}
		}
	}
	q := jute.Request{Op: jute.OpCreate, Path: z.Path, Data: z.Data, ACL: z.ACL, Flags: flags, TTL: -1}
	switch ttl, ok := tree.TTL(z.Owner); {
	case z.Owner == 0:
	case flags != jute.FlagPersistent:
		return jute.BadArguments // an ephemeral znode has no other kind
	case z.Owner == tree.OwnerContainer:
		q.Op, q.Flags = jute.OpCreateContainer, jute.FlagContainer
	case ok && s.cfg.NoTTL:
		return jute.Unimplemented
	case ok:
		q.Op, q.Flags, q.TTL = jute.OpCreateTTL, jute.FlagPersistentTTL, ttl
	}
	return add(plan, &q)
}

// add adds requests to a transaction; the error is a code of ZooKeeper's.
func add(plan *tree.Plan, qs ...*jute.Request) error {
	for _, q := range qs {
		if code := plan.Add(q); code != jute.OK {
			return code
		}
	}
	return nil
}

// super is the caller that may do everything.
var super = tree.NewWho(jute.Identity{Scheme: tree.SuperScheme})

// SetSequence sets how many children a znode is taken to have had: the sequence number of the next
// sequential one.
func (s *Server) SetSequence(parent string, next int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree.Get(parent) == nil {
		return fmt.Errorf("sequence of %q: %w", parent, jute.NoNode)
	}
	s.tree.SetCreations(parent, next)
	for _, f := range s.fronts {
		if f.behind {
			f.tree.SetCreations(parent, next) // a copy of its own
		}
	}
	return nil
}

// Save writes the tree in the form that Load reads. No client waits for the writing: the data are
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
		z := treefile.Znode{Path: named(n.Path()), Data: n.Data(), ACL: n.ACL(), Owner: n.Owner(), Sequence: n.Creations()}
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

// made is how many of a node's children Load creates: its counter after that, without a sequence.
func made(n *tree.Node, fresh *tree.Tree) (count int32) {
	n.Children(func(c *tree.Node) {
		if !tree.Ephemeral(c.Owner()) && fresh.Get(c.Path()) == nil {
			count++
		}
	})
	return count
}
