package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

func znodes(a *app) []*cobra.Command {
	set := setter(a, "set PATH DATA", "Replace the data of a znode that exists", false)
	return []*cobra.Command{znodeLs(a), getter(a, "Print the data of a znode"), set, znodeRm(a), znodeTree(a), znodeStat(a)}
}

func znodeLs(a *app) *cobra.Command {
	deep, kinds, limit := false, false, uint(0)
	cmd := a.command("ls PATH", "List the paths of a znode's children", func(ctx context.Context, s *session.Session, args []string) error {
		if kinds {
			return a.kinds(ctx, s, args[0], int(limit))
		}
		all, err := a.below(ctx, s, args[0], choose(deep, math.MaxInt, 1), math.MaxInt)
		return a.found(all[min(1, len(all)):], err)
	})
	cmd.Flags().BoolVarP(&deep, "recursive", "R", false, "list all that is below it")
	cmd.Flags().BoolVar(&kinds, "kinds", false, "list what is used for something, from PATH on, in place of children")
	cmd.Flags().UintVar(&limit, "limit", 10_000, "--kinds: znodes to look at, at most")
	cmd.Long = `List the paths of a znode's children. With --kinds: each lock, election, queue, group, double barrier and transaction from PATH on, with who holds
it, how many wait, and its depth: items of a queue, members of a group, parties of a round, sites of a transaction, contenders of the others. Nothing is
changed. A barrier is a znode like any other, and is not told from one; nor is a group without members.`
	return cmd
}

func znodeTree(a *app) *cobra.Command {
	var depth uint16
	cmd := a.command("tree PATH", "Draw what is below a znode", func(ctx context.Context, s *session.Session, args []string) error {
		return a.found(a.below(ctx, s, args[0], int(depth), 50))
	})
	cmd.Flags().Uint16Var(&depth, "depth", 3, "how many levels below it")
	cmd.Long = "Draw what is below a znode, at most 50 children of each. Where children are left out their number is shown."
	return cmd
}

// found is a znode of a listing.
type found struct {
	Path     string `json:"path"`
	Children int    `json:"children,omitempty"` // if they were counted
	line     string // as printed: the path, or a line of the drawing
}

// below are a znode and depth levels below it, parents before children: the first children of each,
// at most width, as a tree; with width math.MaxInt all, as paths. Znodes that vanish meanwhile are
// left out. A lack of rights is an error beside the result, unless it is at the first znode.
func (a *app) below(ctx context.Context, s *session.Session, top string, depth, width int) (all []found, refused error) {
	var visit func(path, line, indent string, depth int) error
	visit = func(path, line, indent string, depth int) error {
		at := len(all)
		if all = append(all, found{Path: path, line: line}); len(all)%1000 == 0 {
			fmt.Fprintf(a.log, "found %d\n", len(all))
		}
		if depth == 0 && width == math.MaxInt {
			return nil
		}
		names, _, err := s.Children(ctx, path)
		switch {
		case path != top && errors.Is(err, session.ErrNoNode):
			all = all[:at]
			return nil
		case path != top && errors.Is(err, session.ErrNoAuth):
			refused, err = err, nil
		}
		slices.Sort(names)
		for i, shown := 0, min(len(names), width); i < shown && depth > 0 && err == nil; i++ {
			last := i == shown-1
			child, line := znode.Join(path, names[i]), indent+choose(last, "└── ", "├── ")+names[i]
			if width == math.MaxInt {
				line = child
			}
			err = visit(child, line, indent+choose(last, "    ", "│   "), depth-1)
		}
		if all[at].Children = len(names); len(names) > width || len(names) > 0 && depth == 0 {
			all[at].line += fmt.Sprintf(" (children: %d)", len(names))
		}
		return err
	}
	if err := visit(top, top, "", depth); err != nil {
		return nil, err
	}
	return all, refused
}

// found prints a line for each znode, or a JSON array.
func (a *app) found(all []found, err error) error {
	if a.json && (err == nil || len(all) > 0) {
		return errors.Join(asJSON(a.out, all, "  "), err)
	}
	for _, f := range all {
		fmt.Fprintln(a.out, escaped(f.line))
	}
	return err
}

func znodeRm(a *app) *cobra.Command {
	var deep, dry bool
	cmd := a.withYes(a.command("rm PATH", "Delete a znode", func(ctx context.Context, s *session.Session, args []string) error {
		top := args[0]
		if at := s.Path(top) + "/"; at == "//" || strings.HasPrefix(at, "/zookeeper/") {
			return fmt.Errorf("rm %s: what is ZooKeeper's own is not deleted", top)
		}
		stat, exists, err := s.Exists(ctx, top)
		doomed := []found{{Path: top, line: top}}
		switch {
		case err == nil && !exists:
			err = &session.OpError{Op: "rm", Path: top, Err: session.ErrNoNode}
		case err == nil && stat.NumChildren > 0 && !deep:
			err = fmt.Errorf("rm %s: it has children, %d: -R deletes them too, -R --dry-run lists them", top, stat.NumChildren)
		case err == nil && deep:
			doomed, err = a.below(ctx, s, top, math.MaxInt, math.MaxInt)
		}
		if err == nil && !dry {
			err = a.confirm("delete %s%s and %d below it", top, choose(stat.EphemeralOwner != 0, " (ephemeral)", ""), len(doomed)-1)
		}
		switch {
		case err != nil:
			return err
		case dry:
			return a.found(doomed, nil)
		case !deep:
			return s.Delete(ctx, top, stat.Version)
		}
		slices.Reverse(doomed) // children first
		for done := 0; done < len(doomed); done += 100 {
			if done > 0 && done%1000 == 0 {
				fmt.Fprintf(a.log, "deleted %d of %d\n", done, len(doomed))
			}
			var ops []session.Op
			for _, f := range doomed[done:min(done+100, len(doomed))] {
				ops = append(ops, session.DeleteOp(f.Path, -1))
			}
			if _, err := s.Multi(ctx, ops...); err != nil { // others may be at work here: the rest is listed anew
				if err = s.DeleteAll(ctx, top); err != nil {
					err = failure{1, fmt.Errorf("of %d at least %d are deleted: %w", len(doomed), done, err)}
				}
				return err
			}
		}
		return nil
	}))
	cmd.Flags().BoolVarP(&deep, "recursive", "R", false, "delete all that is below it too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list what would be deleted")
	cmd.Long = "Delete a znode, unless it is changed before that is confirmed. With -R, if that is cut short, a part is gone. / and /zookeeper are refused."
	return cmd
}

// facts are a znode's Stat and ACL.
type facts struct {
	Owner           sessionID `json:"ephemeral_owner"`
	Created         time.Time `json:"created"`
	Changed         time.Time `json:"changed"`
	CreatedIn       int64     `json:"czxid"`
	ChangedIn       int64     `json:"mzxid"`
	ChildrenIn      int64     `json:"pzxid"`
	Version         int32     `json:"version"`
	ChildrenVersion int32     `json:"children_version"`
	ACLVersion      int32     `json:"acl_version"`
	Bytes           int32     `json:"bytes"`
	Children        int32     `json:"children"`
	ACL             []string  `json:"acl"`
}

func znodeStat(a *app) *cobra.Command {
	cmd := a.command("stat PATH", "Tell what ZooKeeper keeps about a znode", func(ctx context.Context, s *session.Session, args []string) error {
		acl, stat, err := s.ACL(ctx, args[0])
		if err != nil {
			return err
		}
		all := []string{}
		for _, entry := range acl {
			if entry.Scheme == "digest" {
				entry.ID, _, _ = strings.Cut(entry.ID, ":") // not the hash of a password
			}
			words := []string{entry.Scheme + ":" + entry.ID, "may"}
			for i, right := range []string{"read", "write", "create", "delete", "administer"} {
				if entry.Perms&(1<<i) != 0 {
					words = append(words, right)
				}
			}
			all = append(all, strings.Join(words, " "))
		}
		return show(a, facts{
			sessionID(stat.EphemeralOwner), stat.Ctime.UTC(), stat.Mtime.UTC(), stat.Czxid, stat.Mzxid, stat.Pzxid,
			stat.Version, stat.Cversion, stat.Aversion, stat.DataLength, stat.NumChildren, all,
		})
	})
	cmd.Long = "Tell what ZooKeeper keeps about a znode. It does not tell containers and znodes with a TTL from persistent ones."
	return cmd
}
