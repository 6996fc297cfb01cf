package zkserver

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Load adds the znodes of a text (package treefile has the form) to the tree, in one transaction:
// all of them, or, if something is wrong with one, none. Data and ACLs of those that exist are
// replaced. ACLs don't stop it. Of a server's whole state it takes what a tree has: neither
// sessions and their ephemerals nor stats.
func (s *Server) Load(text []byte) error {
	f, err := treefile.Read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("zkserver: tree: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Znodes = slices.DeleteFunc(f.Znodes, func(z treefile.Znode) bool { return tree.Ephemeral(z.Owner) })
	changes, err := s.plan(f.Znodes)
	if err != nil {
		return fmt.Errorf("zkserver: tree: %w", err)
	}
	if len(changes) > 0 {
		s.commit(&txn{changes: append(changes, counts(f.Znodes)...)}, nil)
	}
	return nil
}

// plan is what makes znodes, but for the counts of children that ever were, which come last.
func (s *Server) plan(znodes []treefile.Znode) ([]tree.Change, error) {
	plan := s.tree.Plan(tree.Caller{Who: super, IPv6: true})
	for i := range znodes {
		if err := s.plant(plan, &znodes[i]); err != nil {
			return nil, fmt.Errorf("%q: %w", znodes[i].Path, err)
		}
	}
	return plan.Changes, nil
}

func counts(znodes []treefile.Znode) (changes []tree.Change) {
	for i := range znodes {
		if z := &znodes[i]; z.Sequence >= 0 {
			changes = append(changes, tree.Change{Kind: tree.Count, Path: z.Path, Creations: z.Sequence})
		}
	}
	return changes
}

// plant adds to a transaction what makes a znode as it is described, its parents included.
func (s *Server) plant(plan *tree.Plan, z *treefile.Znode) error {
	if plan.Exists(z.Path) {
		if z.Owner != 0 {
			return fmt.Errorf("it exists: %w", jute.NodeExists)
		}
		return add(plan,
			&jute.Request{Op: jute.OpSetData, Path: z.Path, Data: z.Data, Version: -1},
			&jute.Request{Op: jute.OpSetACL, Path: z.Path, ACL: z.ACL, Version: -1})
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
	q := jute.Request{Op: jute.OpCreate, Path: z.Path, Data: z.Data, ACL: z.ACL, TTL: -1}
	switch ttl, ok := tree.TTL(z.Owner); {
	case z.Owner == tree.OwnerContainer:
		q.Op, q.Flags = jute.OpCreateContainer, jute.FlagContainer
	case ok && s.cfg.NoTTL:
		return jute.Unimplemented
	case ok:
		q.Op, q.Flags, q.TTL = jute.OpCreateTTL, jute.FlagPersistentTTL, ttl
	case z.Owner != 0:
		q.Flags = jute.FlagEphemeral
		plan.As(z.Owner)
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
