// Trees of znodes: what they promise, what they cost, and that a tree and other watches of one
// session do not take each other's. The decisions are tested in internal/trees.

package session_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// changedIn is what a tree says has changed, as path=data, or path- if it is gone.
func changedIn(t *session.Tree) map[string]string {
	all := map[string]string{}
	for path, n := range t.Changed() {
		switch {
		case n.Unread != nil:
			all[path] = "unread"
		case n.Exists:
			all[path] = string(n.Data)
		default:
			all[path] = "-"
		}
	}
	return all
}

// reads are how many znodes were read, listings included, and frames how many requests of each kind
// there were, since the journal was cleared.
func (w *harness) reads() (reads int, frames map[zktest.Op]int) {
	frames = map[zktest.Op]int{}
	for _, r := range w.srv.Journal() {
		switch frames[r.Op]++; r.Op {
		case zktest.OpGetData, zktest.OpGetChildren2, zktest.OpExists:
			reads++
		case zktest.OpMultiRead:
			reads += len(r.Ops)
		}
	}
	w.srv.ClearJournal()
	return reads, frames
}

// grow makes a znode with a hundred children, each of which has as many.
func (w *harness) grow(path string, each, below int) {
	z := w.srv.Znodes(w)
	for i := range each {
		for k := range below {
			require.NoError(w, z.Create(fmt.Sprintf("%s/%03d/%03d", path, i, k), []byte("old")))
		}
	}
}

// modes are how a tree is followed: by one watch, or by one a znode.
var modes = map[string]func(w *harness){
	"one watch":      func(*harness) {},
	"refused":        func(w *harness) { w.meets(zktest.Fail(zktest.ErrUnimplemented), isOp(jute.OpAddWatch)) },
	"hangs up at it": func(w *harness) { w.hangsUp(isOp(jute.OpAddWatch)) },
}

func isOp(op zktest.Op) func(r *zktest.Request) bool {
	return func(r *zktest.Request) bool { return r.Op == op }
}

func TestWatchTreeFollowsEverythingBelowAPath(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		trees := s.WatchTree(w.ctx, "/a")
		tree := newest(w, trees)
		_, exists := tree.At("")
		require.False(w, exists, "missing, and known to be")
		for path, data := range map[string]string{"/a": "0", "/a/x": "1"} {
			require.NoError(w, s.EnsurePath(w.ctx, path))
			w.write(s, path, []byte(data))
		}
		w.create(s, "/a/x/y", []byte("2"))
		for tree = range trees {
			if n, _ := tree.At("x/y"); string(n.Data) == "2" {
				break
			}
		}
		root, _ := tree.At("")
		require.Equal(w, "0", string(root.Data))
		require.NotZero(w, tree.Zxid)
		w.write(s, "/a/x", []byte("3"))
		tree = newest(w, trees)
		require.Equal(w, map[string]string{"x": "3"}, changedIn(tree))
		below := maps.Collect(tree.Below(""))
		require.Len(w, below, 1)
		require.Equal(w, "3", string(below["x"].Data))
		var all []string
		for path, n := range tree.All() {
			all = append(all, path+"="+string(n.Data))
		}
		require.Equal(w, []string{"=0", "x=3", "x/y=2"}, all)
		require.NoError(w, s.DeleteAll(w.ctx, "/a"))
		for tree = range trees {
			if _, exists := tree.At(""); !exists {
				break
			}
		}
		w.create(s, "/a", []byte("again"))
		tree = newest(w, trees)
		require.Equal(w, map[string]string{"": "again"}, changedIn(tree))
	})
}

// What is done while there is no connection is in the next tree, in an epoch and in the next.
func TestATreeHasWhatWasDoneWithoutAConnection(t *testing.T) {
	each(t, modes, func(w *harness, mode func(w *harness)) {
		mode(w)
		s, other := w.open(), w.open()
		w.grow("/a", 10, 2)
		trees := s.WatchTree(w.ctx, "/a")
		w.pass(10 * time.Second)
		newest(w, trees)
		for _, expired := range []bool{false, true} {
			heal := w.srv.Partition(id(s))
			w.write(other, "/a/007", fmt.Append(nil, "new", expired))
			w.write(other, "/a/008/000", fmt.Append(nil, "new", expired))
			w.create(other, "/a/009/new", fmt.Append(nil, expired))
			require.NoError(w, other.DeleteAll(w.ctx, "/a/001"))
			w.pass(7 * time.Second)
			stale := newest(w, trees)
			require.True(w, stale.Stale)
			require.Empty(w, changedIn(stale))
			if expired {
				w.srv.Expire(id(s))
			}
			heal()
			w.pass(5 * time.Second)
			tree := newest(w, trees)
			require.False(w, tree.Stale)
			require.Equal(w, map[string]string{
				"007": fmt.Sprint("new", expired), "008/000": fmt.Sprint("new", expired), "009/new": fmt.Sprint(expired),
				"001": "-", "001/000": "-", "001/001": "-",
			}, changedIn(tree))
			require.NoError(w, other.Delete(w.ctx, "/a/009/new", -1))
			w.create(other, "/a/001", nil)
			w.create(other, "/a/001/000", nil)
			w.create(other, "/a/001/001", nil)
			newest(w, trees)
		}
	})
}

// However large a tree, a reconnection takes few requests, and only what has changed is read.
func TestAReconnectionReadsWhatHasChanged(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		w.grow("/services/of/a/cluster", 100, 99) // ten thousand
		trees := s.WatchTree(w.ctx, "/services/of/a/cluster")
		newest(w, trees)
		w.srv.Disconnect(id(s))
		w.write(other, "/services/of/a/cluster/007/007", []byte("new"))
		w.write(other, "/services/of/a/cluster/042", []byte("new"))
		w.reads()
		w.pass(time.Second)
		require.Equal(w, map[string]string{"007/007": "new", "042": "new"}, changedIn(newest(w, trees)))
		reads, frames := w.reads()
		require.Equal(w, 2, reads)
		require.Equal(w, 1, frames[jute.OpAddWatch])
		require.LessOrEqual(w, frames[zktest.OpSetWatches], 8)
		w.srv.Disconnect(id(s))
		w.pass(time.Second)
		require.LessOrEqual(w, len(w.srv.Znodes(w).Watches()), 1+2*10_001, "those that fire once end with their connection")
	})
}

// Sixty-four readers cost one watch, and one read a change.
func TestReadersOfATreeShareIt(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		w.grow("/a", 3, 3)
		ctx, cancel := context.WithCancel(w.ctx)
		var readers []<-chan *session.Tree
		for range 64 {
			readers = append(readers, s.WatchTree(ctx, "/a"))
		}
		for _, trees := range readers {
			newest(w, trees)
		}
		_, frames := w.reads()
		require.Equal(w, 1, frames[jute.OpAddWatch])
		w.write(other, "/a/001", []byte("new"))
		w.settle()
		reads, _ := w.reads()
		require.Equal(w, 1, reads)
		w.create(other, "/a/001/x", nil)
		require.NoError(w, other.Delete(w.ctx, "/a/002/001", -1))
		for i, trees := range readers {
			require.Equal(w, map[string]string{"001": "new", "001/x": "", "002/001": "-"}, changedIn(newest(w, trees)), "reader %d, which has received none since", i)
		}
		reads, _ = w.reads()
		require.Equal(w, 2, reads)
		cancel()
		w.settle()
		_, open := <-readers[0]
		require.False(w, open)
		require.Empty(w, w.srv.Znodes(w).Watches(), "it was given back")
	})
}

func TestATreeThatCannotBe(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.grow("/a", 3, 3)
		for name, c := range map[string]struct {
			trees <-chan *session.Tree
			err   error
		}{
			"too many": {s.WatchTree(w.ctx, "/a", session.WithMaxNodes(12)), session.ErrTooMany},
			"path":     {s.WatchTree(w.ctx, "a"), session.ErrInvalidPath},
			"depth":    {s.WatchTree(w.ctx, "/a", session.WithDepth(0)), nil},
			"nodes":    {s.WatchTree(w.ctx, "/a", session.WithMaxNodes(0)), nil},
		} {
			last := <-c.trees
			require.Error(w, last.Err, name)
			if c.err != nil {
				require.ErrorIs(w, last.Err, c.err)
			}
			require.Empty(w, changedIn(last))
			_, open := <-c.trees
			require.False(w, open, name)
		}
		require.Len(w, changedIn(newest(w, s.WatchTree(w.ctx, "/a", session.WithDepth(1)))), 4)
		full := s.WatchTree(w.ctx, "/a", session.WithMaxNodes(13))
		require.Len(w, changedIn(newest(w, full)), 13)
		w.create(s, "/a/one too many", nil)
		last := newest(w, full)
		require.ErrorIs(w, last.Err, session.ErrTooMany)
		require.Empty(w, changedIn(last), "that a tree ends deletes nothing")
	})
}

// What may not be read is Unread, and read again after pauses; the rest goes on.
func TestATreeGoesOnWhereSomethingMayNotBeRead(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, owner := w.open(), w.open(session.WithAuth("digest", []byte("a:b")))
		w.grow("/a", 3, 3)
		secret := []session.ACL{{Perms: session.PermAll, Scheme: "auth"}}
		require.NoError(w, errOf(owner.SetACL(w.ctx, "/a/001", secret, -1)))
		trees := s.WatchTree(w.ctx, "/a")
		tree := newest(w, trees)
		n, exists := tree.At("001")
		require.True(w, exists)
		require.ErrorIs(w, n.Unread, session.ErrNoAuth)
		require.NotZero(w, tree.Zxid)
		w.write(owner, "/a/002", []byte("new"))
		require.Equal(w, map[string]string{"002": "new"}, changedIn(newest(w, trees)))
		w.reads()
		w.pass(time.Minute)
		quiet(w, trees)
		reads, _ := w.reads()
		require.LessOrEqual(w, reads, 7, "after 1, 2, 4, ... seconds")
		require.NoError(w, errOf(owner.SetACL(w.ctx, "/a/001", []session.ACL{{Perms: session.PermAll, Scheme: "world", ID: "anyone"}}, -1)))
		w.pass(time.Minute)
		require.Equal(w, map[string]string{"001": "", "001/000": "old", "001/001": "old", "001/002": "old"}, changedIn(newest(w, trees)))
	})
}

// A listing that is too large marks its znode; the rest goes on.
func TestAListingThatIsTooLargeIsUnread(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open(session.WithMaxPacket(2 << 10))
		w.grow("/a", 2, 1)
		z := w.srv.Znodes(w)
		for i := range 1000 {
			require.NoError(w, z.Create(fmt.Sprintf("/a/000/%040d", i), nil))
		}
		tree := newest(w, s.WatchTree(w.ctx, "/a"))
		n, _ := tree.At("000")
		require.ErrorIs(w, n.Unread, session.ErrTooLarge)
		n, exists := tree.At("001/000")
		require.True(w, exists)
		require.NoError(w, n.Unread)
	})
}

// orders are all orders in which so many things begin and end: thing i begins where i comes first,
// and ends where it comes again.
func orders(n int) (all [][]int) {
	var extend func(order []int, left []int)
	extend = func(order, left []int) {
		if len(order) == 2*n {
			all = append(all, slices.Clone(order))
			return
		}
		for i := range left {
			if left[i] > 0 {
				left[i]--
				extend(append(order, i), left)
				left[i]++
			}
		}
	}
	extend(nil, slices.Repeat([]int{2}, n))
	return all
}

// inOrder lets a tree, the other subscriptions, and a recipe that waits as a semaphore does, begin
// and end at one path. After each step each of those that are there sees the next change.
func (w *harness) inOrder(s *session.Session, path string, order []int, settles bool) {
	require.NoError(w, s.EnsurePath(w.ctx, path))
	made := w.children(s, path)
	stops := map[int]context.CancelFunc{}
	var trees <-chan *session.Tree
	var data <-chan session.Data
	var children <-chan session.Children
	var waiter *client
	for step, what := range order {
		if stop := stops[what]; stop != nil {
			stop()
			stops[what] = nil
		} else {
			var ctx context.Context
			ctx, stops[what] = context.WithCancel(w.ctx)
			switch what {
			case 0:
				trees = s.WatchTree(ctx, path)
			case 1:
				data = s.WatchData(ctx, path)
			case 2:
				children = s.WatchChildren(ctx, path)
			case 3:
				waiter = w.client(s)
				context.AfterFunc(ctx, waiter.Leave)
			}
		}
		if settles {
			w.settle()
		}
		if stops[3] != nil {
			for again := true; again; again = len(waiter.told()) > 0 { // a watch may fire without a change when a tree has ended
				waiter.list(w, 1, path, true)
			}
		}
		text := fmt.Sprint(step)
		w.write(s, path, []byte(text))
		w.create(s, path+"/"+text, nil)
		want := len(made) + step + 1
		if stops[0] != nil {
			bubble.Await(w, trees, fmt.Sprint("the tree in ", order, step), func(t *session.Tree) bool {
				root, _ := t.At("")
				return string(root.Data) == text && len(maps.Collect(t.Below(""))) == want
			})
		}
		if stops[1] != nil {
			bubble.Await(w, data, fmt.Sprint("the data in ", order, step), func(d session.Data) bool { return string(d.Bytes) == text })
		}
		if stops[2] != nil {
			bubble.Await(w, children, fmt.Sprint("the children in ", order, step), func(c session.Children) bool { return len(c.Names) == want })
		}
		if stops[3] != nil {
			w.settle()
			require.NotEmpty(w, waiter.told(), "in %v, %d", order, step)
		}
	}
}

// Before 3.9 a session has one watch a path, of the mode that was set last, and gives all of it
// back (ZOOKEEPER-4466).
func TestATreeAndOtherWatchesOfOnePathInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				s := w.open()
				for i, order := range orders(4) {
					if i%7 == 0 { // all of them take seconds
						w.inOrder(s, fmt.Sprintf("/a/%d", i), order, i%2 == 0)
					}
				}
				w.settle()
				require.Empty(w, w.srv.Znodes(w).Watches(), "they were given back")
			}, zktest.WithVersion(version))
		})
	}
	t.Run("real server", func(t *testing.T) {
		tier.Real(t)
		t.Parallel()
		w := onReal(t)
		s := w.open(session.WithNamespace("/tree-in-order"))
		for i, order := range orders(3) {
			w.inOrder(s, fmt.Sprintf("/a/%d", i), order, false)
		}
	})
}

// Trees with one root, or with the root of one within another, have nothing of each other's: one
// ends, or begins while one ends, and the connection is lost, and the others go on.
func TestTreesWithinOneAnother(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.8.0", "3.9.2"} {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				s, other := w.open(), w.open()
				w.grow("/a", 3, 3)
				data := s.WatchData(w.ctx, "/a/001")
				newest(w, data)
				ctx, cancel := context.WithCancel(w.ctx)
				stay := map[string]<-chan *session.Tree{"002": s.WatchTree(w.ctx, "/a"), "2": s.WatchTree(w.ctx, "/a/001")}
				changes := func(step string, trees ...map[string]<-chan *session.Tree) {
					w.write(other, "/a/000", []byte(step))
					w.write(other, "/a/001", []byte(step))
					for _, some := range trees {
						for name, c := range some {
							at := map[string]string{"002": "001", "02": "001", "2": ""}[name]
							bubble.Await(w, c, fmt.Sprint(step, " in ", name), func(t *session.Tree) bool {
								n, _ := t.At(at)
								beside, exists := t.At("000")
								return string(n.Data) == step && (name == "2" || exists && string(beside.Data) == step)
							})
						}
					}
					bubble.Await(w, data, step, func(d session.Data) bool { return string(d.Bytes) == step })
				}
				changes("one", stay)
				more := map[string]<-chan *session.Tree{"02": s.WatchTree(ctx, "/a", session.WithDepth(2)), "2": s.WatchTree(ctx, "/a/001", session.WithDepth(1))}
				changes("two", stay, more)
				w.srv.Disconnect(id(s))
				changes("three", stay, more)
				cancel()
				w.settle()
				changes("four", stay)
				changes("four again", stay) // which no watch tells that the reconnection has left
				for i := range 20 {         // one ends while the next begins
					ctx, cancel := context.WithCancel(w.ctx)
					only := s.WatchTree(ctx, "/a/002")
					if i%2 == 0 {
						newest(w, only)
					}
					cancel()
					ctx, cancel = context.WithCancel(w.ctx)
					again := s.WatchTree(ctx, "/a/002")
					newest(w, again)
					w.settle()
					w.write(other, "/a/002", []byte{byte(i)})
					require.Equal(w, map[string]string{"": string([]byte{byte(i)})}, changedIn(newest(w, again)))
					cancel()
				}
				w.srv.Disconnect(id(s))
				changes("five", stay)
			}, zktest.WithVersion(version))
		})
	}
}

// Where each znode has its own watches, those that the session gives back stay for the tree.
func TestAPlainTreeKeepsItsWatches(t *testing.T) {
	inBubble(t, func(w *harness) {
		modes["refused"](w)
		s, other := w.open(), w.open()
		w.grow("/a", 2, 2)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		for _, down := range []bool{false, true} {
			ctx, cancel := context.WithCancel(w.ctx)
			newest(w, s.WatchData(ctx, "/a/001"))
			newest(w, s.WatchChildren(ctx, "/a/001"))
			if down {
				heal := w.srv.Partition(id(s))
				w.pass(7 * time.Second)
				cancel()
				w.settle()
				heal()
				w.pass(time.Second)
				require.False(w, newest(w, trees).Stale)
			}
			cancel()
			w.settle()
			w.write(other, "/a/001", fmt.Append(nil, down))
			w.create(other, "/a/001/"+fmt.Sprint(down), nil)
			require.Equal(w, map[string]string{"001": fmt.Sprint(down), "001/" + fmt.Sprint(down): ""}, changedIn(newest(w, trees)))
		}
	})
}

// When the servers have lost their data, the same transactions are others.
func TestATreeIsReadAnewAfterALossOfData(t *testing.T) {
	inBubble(t, func(w *harness) {
		reaches(w, w.srv, 1000)
		s, r := w.onRoads(1)
		w.grow("/a", 3, 1)
		trees := s.WatchTree(w.ctx, "/a")
		newest(w, trees)
		other := w.another()
		for i := range 3 {
			require.NoError(w, other.Znodes(w).Create(fmt.Sprintf("/a/%03d/000", i), []byte("other")))
		}
		r.lead(place{other, 0})
		require.NoError(w, w.srv.Close())
		require.Len(w, changedIn(bubble.Await(w, trees, "the other tree", func(t *session.Tree) bool {
			n, _ := t.At("000/000")
			return string(n.Data) == "other"
		})), 7, "each znode is another")
		require.ErrorIs(w, s.Status().Cause, session.ErrDataLoss)
	})
}

// However writes, lost connections and expiries come together: a tree is the state at its Zxid, and
// the last one is the last state. Names and data are any that servers take.
func TestATreeIsTheStateAtItsZxid(t *testing.T) {
	each(t, modes, func(w *harness, mode func(w *harness)) {
		mode(w)
		s := w.open()
		z := w.srv.Znodes(w)
		rng := rand.New(rand.NewPCG(1, 2))
		names := []string{"/a", "/a/ü", "/a/a b", "/a/%2f", "/a/ü/x", "/a/ü/y", "/a/ü/x/1"}
		state, at := map[string]string{}, []int64{0}
		history := []map[string]string{maps.Clone(state)}
		trees := s.WatchTree(w.ctx, "/a")
		var last map[string]string
		exact := 0
		check := func() {
			select {
			case tree := <-trees:
				last = map[string]string{}
				flatten(tree, "", last)
				if tree.Zxid != 0 {
					exact++
					i := sort.Search(len(at), func(i int) bool { return at[i] > tree.Zxid }) - 1
					require.Equal(w, history[i], last, "at %d", tree.Zxid)
				}
			default:
			}
		}
		for step := range 600 {
			path := names[rng.IntN(len(names))]
			data := []byte{0, 255, byte(step)}
			_, exists := state[path]
			var err error
			switch {
			case exists && rng.IntN(3) > 0:
				err = z.Set(path, data)
			case exists:
				err = z.Delete(path) // with all below it, in one transaction
				maps.DeleteFunc(state, func(p, _ string) bool { return strings.HasPrefix(p+"/", path+"/") })
			default:
				if _, above := state[path[:strings.LastIndexByte(path, '/')]]; !above && path != "/a" {
					continue
				}
				err = z.Create(path, data)
			}
			require.NoError(w, err)
			if z.Exists(path) {
				state[path] = string(data)
			}
			at, history = append(at, lastZxid(w, w.srv)), append(history, maps.Clone(state))
			switch rng.IntN(30) {
			case 0:
				w.srv.Disconnect(id(s))
			case 1:
				w.srv.Expire(id(s))
				w.pass(time.Second)
			case 2, 3, 4:
				w.pass(time.Duration(rng.IntN(300)) * time.Millisecond)
			case 5, 6, 7, 8, 9, 10, 11, 12:
				w.settle()
			}
			check()
		}
		w.pass(time.Minute)
		check()
		require.Equal(w, state, last)
		require.Greater(w, exact, 20)
	})
}

// flatten puts the data of a tree's znodes into a map, by absolute path.
func flatten(t *session.Tree, path string, into map[string]string) {
	n, exists := t.At(path)
	if !exists {
		return
	}
	into["/"+strings.TrimSuffix("a/"+path, "/")] = string(n.Data)
	for name := range t.Below(path) {
		flatten(t, strings.TrimPrefix(path+"/"+name, "/"), into)
	}
}
