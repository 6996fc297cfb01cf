package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session/internal/trees"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// ErrTooMany is the Err of the last [Tree]: there are more znodes than [WithMaxNodes] allows.
var ErrTooMany = errors.New("more znodes than allowed")

const defaultMaxNodes = 100_000

// Tree is the znodes at and below a path, as they were at some moment. It never changes, and is
// shared: receivers must not change the data in it. Its paths are relative to that path, which is
// "" itself.
type Tree struct {
	// Zxid is the last transaction that the tree has seen: it is the server's state right after
	// that. 0: writes outran the reads for a second, so that each znode is as it was at some
	// moment, never older than in the tree before, unless that had it deleted and the next server
	// is behind.
	Zxid int64
	// Stale: the connection is known to be down, and so it was when last seen. For trust, which may
	// end before, see [Status].
	Stale bool
	// Err is nil, or why the channel ends, with an empty tree: [ErrTooMany], bad arguments, or
	// [ErrClosed] if the session was closed before the call.
	Err error

	root, before *trees.Node
}

// TreeNode is a znode of a [Tree].
type TreeNode struct {
	Exists bool // false: it is gone
	Data   []byte
	// Stat is that of the znode when its data were read: what changes without an event (Aversion),
	// or by its children alone (Pzxid, Cversion, NumChildren), may have changed since.
	Stat Stat
	// Unread is nil, or why the znode could not be read: [ErrNoAuth]; or [ErrTooLarge], perhaps of
	// its listing alone, with Data. Nothing below it is in the tree. It is read again after pauses.
	Unread error
}

func treeNode(n *trees.Node) TreeNode {
	if n == nil {
		return TreeNode{}
	}
	return TreeNode{Exists: true, Data: n.Data, Stat: Stat(zkconn.FromWire(&n.Stat)), Unread: n.Unread}
}

// At is the znode at a path, as "eu/1", without a slash in front; false if there is none.
func (t *Tree) At(path string) (TreeNode, bool) {
	n := t.root.At(path)
	return treeNode(n), n != nil
}

// All are the znodes by path, also the one that is watched, whose path is "". A znode comes before
// those below it.
func (t *Tree) All() iter.Seq2[string, TreeNode] { return named(trees.Changed(nil, t.root)) }

// Below are the children of a znode by name, not by path, in the order of the names. There are none
// if there is no such znode.
func (t *Tree) Below(path string) iter.Seq2[string, TreeNode] {
	return named(t.root.At(path).Below())
}

// Changed are the znodes, by path, that are not as they were in the tree that was received before
// from the same channel: written, new, deleted (Exists is false), or made anew, which the Czxid of
// Stat tells. In the first tree these are all, and in one with Err none. A znode comes before those
// below it.
func (t *Tree) Changed() iter.Seq2[string, TreeNode] { return named(trees.Changed(t.before, t.root)) }

func named(nodes iter.Seq2[string, *trees.Node]) iter.Seq2[string, TreeNode] {
	return func(yield func(string, TreeNode) bool) {
		for name, n := range nodes {
			if !yield(name, treeNode(n)) {
				return
			}
		}
	}
}

// TreeOption is an option of [Session.WatchTree].
type TreeOption func(*treeKey) error

// treeKey is what readers have to agree in to share a tree.
type treeKey struct {
	path        string
	depth, most int
}

// WithDepth leaves out what is more than so many levels below the path: with 1 a tree has the znode
// and its children. Without it a tree has all.
func WithDepth(levels int) TreeOption {
	return func(k *treeKey) error {
		if k.depth = levels; levels < 1 {
			return fmt.Errorf("WithDepth: %d is less than 1", levels)
		}
		return nil
	}
}

// WithMaxNodes limits how many znodes a tree has: 100,000 without it. If there are more, the
// channel ends with [ErrTooMany].
func WithMaxNodes(n int) TreeOption {
	return func(k *treeKey) error {
		if k.most = n; n < 1 {
			return fmt.Errorf("WithMaxNodes: %d is less than 1", n)
		}
		return nil
	}
}

// WatchTree subscribes to everything at and below a path: the present state first, whole, then each
// newer one, which replaces one that was not received. States in between may be left out, the last
// one never is; a change that was made while the connection was down is in the tree after it. The
// subscription goes on in the next epochs. The path need not exist. Before the first connection no
// tree comes.
//
// Nothing is promised across trees of different paths or sessions, nor of znodes that may not be
// read: a server may not tell that they come, go, or may be read now. See docs/trees.md.
//
// Readers of the same path with the same options share one persistent recursive watch and its
// reads. Servers before 3.6 lack those watches: then each znode has plain ones, which stay until
// they fire or the epoch ends, and the log says so once.
//
// The channel closes when ctx or the session ends. It closes early behind a tree with [Tree.Err].
func (s *Session) WatchTree(ctx context.Context, path string, opts ...TreeOption) <-chan *Tree {
	key := treeKey{path: path, most: defaultMaxNodes}
	err := seam.Apply(&key, opts)
	if err == nil {
		err = s.sender.ready(path)
	}
	r := &treeReader{c: make(chan *Tree, 1)}
	if err != nil {
		r.c <- &Tree{Err: s.space.failed("watch tree", path, err)}
		close(r.c)
		return r.c
	}
	if t, first := s.trees.join(ctx, s, key, r); first && !s.tasks.run(t.run) {
		t.end(nil, nil)
	}
	return r.c
}

// treeReader is what a reader has: the newest tree that it has not received.
type treeReader struct {
	c                 chan *Tree
	received, offered *trees.Node
	stop              func() bool // the end of its context is awaited no more
}

// offer never waits: only this sends, under the set's mutex, and the one place is free then.
func (r *treeReader) offer(t Tree) {
	select {
	case <-r.c: // the one before was not received
	default:
		r.received = r.offered
	}
	if t.Err == nil { // else nothing has changed
		t.before, r.offered = r.received, t.root
	}
	r.c <- &t
}
