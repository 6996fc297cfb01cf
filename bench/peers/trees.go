//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	troupe "github.com/troupe-go/troupe/session"
)

// The rows about trees follow the znodes below forest: branches, and leaves of 100 bytes on each.
const (
	forest           = "/forest"
	branches, onEach = 100, 99 // 10,000 znodes, and the one at their top
	changes          = 10      // leaves that change while the connection is down
)

// trees reports whether the row follows a tree. A contender of treereconnect follows it when it is
// opened. Its lock waits until it has seen all changes of the cycle; that of treechange makes one.
func (r *row) trees() bool { return strings.HasPrefix(r.kind, "tree") }

// leaf is one of the znodes that change.
func leaf(path string, i int) string { return fmt.Sprintf("%s/007/%03d", path, i) }

// grow makes the znodes, with a session that later changes them.
func grow(ctx context.Context, servers []string) (*troupe.Session, error) {
	s, err := troupe.Open(ctx, servers, troupe.WithTimeout(30*time.Second))
	if err != nil {
		return nil, err
	}
	root := forest + "-0" // as contenders have it
	ops := []troupe.Op{troupe.CreateOp(root, nil)}
	for i := range branches {
		ops = append(ops, troupe.CreateOp(fmt.Sprintf("%s/%03d", root, i), nil))
		for k := range onEach {
			ops = append(ops, troupe.CreateOp(fmt.Sprintf("%s/%03d/%03d", root, i, k), make([]byte, 100)))
		}
	}
	_, err = s.Pipeline(ctx, ops...)
	return s, err
}

// apart cuts all connections through the proxies, and lets some leaves change to the number of the
// cycle meanwhile. Then the connections may come back.
func (t *table) apart() error {
	for _, x := range t.e.Proxies() {
		x.Cut()
		defer x.Heal()
	}
	t.cycle++
	for i := range changes {
		if _, err := t.writer.Set(context.Background(), leaf(forest+"-0", i), fmt.Append(nil, t.cycle), -1); err != nil {
			return err
		}
	}
	return nil
}

// tree is a contender of raw requests.
func (b bare) tree(ctx context.Context, r *row, path string) (contender, error) {
	read := func() error {
		w, err := b.dial(ctx, r, path)
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); w, err = b.dial(ctx, r, path) {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			return err
		}
		return errors.Join(w.tree(), w.Close())
	}
	if r.kind != "treechange" {
		return contender{read, nothing, nil}, nil
	}
	_, _, seen, err := b.GetW(leaf(path, 0))
	change := func() error {
		_, err := b.Set(leaf(path, 0), nil, -1)
		if err == nil {
			err = (<-seen).Err
		}
		if err == nil {
			_, _, seen, err = b.GetW(leaf(path, 0))
		}
		return err
	}
	return contender{change, nothing, nil}, err
}

func nothing() error { return nil }

// tree reads all znodes, level by level.
func (w *wire) tree() error {
	for level := []string{w.dir}; len(level) > 0; {
		var asks []jute.Request
		for _, path := range level {
			asks = append(asks, jute.Request{Op: jute.OpGetData, Path: path}, jute.Request{Op: jute.OpGetChildren2, Path: path})
		}
		level = nil
		err := w.exchange(asks, func(ask *jute.Request, reply *jute.Reply) {
			for _, name := range reply.Names {
				level = append(level, ask.Path+"/"+name)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tree is a contender that follows with WatchTree.
func (o ours) tree(ctx context.Context, r *row, path string) (contender, error) {
	var cancel context.CancelFunc
	var trees <-chan *troupe.Tree
	begin := func() error {
		var following context.Context
		following, cancel = context.WithCancel(ctx) //nolint:gosec // end calls it, or ctx has ended
		trees = o.WatchTree(following, path)
		first, is := <-trees
		if !is {
			return context.Cause(following)
		}
		if _, whole := first.At(fmt.Sprintf("%03d/%03d", branches-1, onEach-1)); !whole {
			return fmt.Errorf("the first tree is not whole: %w", first.Err)
		}
		return nil
	}
	end := func() error {
		cancel()
		for range trees { // until it is closed: the next tree would be this one otherwise
		}
		return nil
	}
	if r.kind == "tree" {
		return contender{begin, end, nil}, nil
	}
	cycle, awaited := 0, 1
	if r.kind == "treereconnect" {
		awaited = changes
	}
	see := func() error {
		cycle++
		want := fmt.Sprint(cycle)
		if r.kind == "treechange" {
			if _, err := o.Set(ctx, leaf(path, 0), []byte(want), -1); err != nil {
				return err
			}
		}
		for t := range trees {
			seen := 0
			for i := range awaited {
				if n, _ := t.At(strings.TrimPrefix(leaf("", i), "/")); string(n.Data) == want {
					seen++
				}
			}
			if seen == awaited {
				return nil
			}
		}
		return errors.New("the tree has ended")
	}
	return contender{see, nothing, nil}, begin()
}
