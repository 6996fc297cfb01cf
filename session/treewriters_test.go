// The sentences of docs/trees.md, over random writers and faults: what is received is kept, and
// compared with the transactions at the end.

package session_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// version is a znode as a transaction has left it.
type version struct {
	czxid, mzxid int64
	data         string
}

// past is what writers have done: the znodes, by absolute path, after each transaction.
type past struct {
	mu     sync.Mutex
	zxids  []int64
	states []map[string]version
}

func (p *past) add(zxid int64, state map[string]version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.zxids, p.states = append(p.zxids, zxid), append(p.states, maps.Clone(state))
}

// at is the state right after a transaction, at and below a root, by relative path.
func (p *past) at(zxid int64, root string, depth int) map[string]version {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearch(p.zxids, zxid)
	if !found {
		i--
	}
	below := map[string]version{}
	if i < 0 {
		return below
	}
	for path, v := range p.states[i] {
		if path == root {
			below[""] = v
		} else if rest, is := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/"); is && (depth == 0 || strings.Count(rest, "/") < depth) {
			below[rest] = v
		}
	}
	return below
}

// follower is a reader of a tree that checks what it receives.
type follower struct {
	root  string
	depth int
	trees <-chan *session.Tree
	kept  []kept
}

type kept struct {
	zxid  int64
	stale bool
	all   map[string]version
}

func follow(ctx context.Context, s *session.Session, root string, depth int) *follower {
	var opts []session.TreeOption
	if depth > 0 {
		opts = append(opts, session.WithDepth(depth))
	}
	return &follower{root: root, depth: depth, trees: s.WatchTree(ctx, root, opts...)}
}

func versionOf(n session.TreeNode) version {
	return version{n.Stat.Czxid, n.Stat.Mzxid, string(n.Data)}
}

// counts leaves out what is not the writer's.
func (f *follower) counts(path string) bool {
	return f.root != "/" || path == "a" || strings.HasPrefix(path, "a/")
}

// take takes a tree, and checks what can be checked by itself: what has changed leads from the one
// before to this one, and no znode is older.
func (f *follower) take(t testing.TB, tree *session.Tree) {
	require.NoError(t, tree.Err)
	k := kept{tree.Zxid, tree.Stale, map[string]version{}}
	var walk func(path string)
	walk = func(path string) {
		if n, exists := tree.At(path); exists {
			require.NoError(t, n.Unread, path)
			if f.counts(path) {
				k.all[path] = versionOf(n)
			}
			for name := range tree.Below(path) {
				walk(strings.TrimPrefix(path+"/"+name, "/"))
			}
		}
	}
	walk("")
	after := map[string]version{}
	if len(f.kept) > 0 {
		last := f.kept[len(f.kept)-1]
		after = maps.Clone(last.all)
		for path, was := range last.all {
			if is, exists := k.all[path]; exists {
				require.GreaterOrEqual(t, is.mzxid, was.mzxid, "%s at %d, after %d", path, k.zxid, last.zxid)
			}
		}
	}
	for path, n := range tree.Changed() {
		if was, before := after[path]; !f.counts(path) {
			continue
		} else if n.Exists {
			require.False(t, before && was == versionOf(n), "%s has not changed", path)
			after[path] = versionOf(n)
		} else {
			require.True(t, before, "%s is gone, and was not there", path)
			delete(after, path)
		}
	}
	require.Equal(t, k.all, after, "what has changed, at %d after %d others", k.zxid, len(f.kept))
	f.kept = append(f.kept, k)
}

// poll takes a tree if there is one.
func (f *follower) poll(t testing.TB) {
	select {
	case tree := <-f.trees:
		f.take(t, tree)
	default:
	}
}

// check compares everything with the transactions, and the last tree with the last state.
func (f *follower) check(t testing.TB, p *past) (exact int) {
	last := int64(0)
	for _, k := range f.kept {
		switch {
		case k.zxid != 0:
			exact++
			require.GreaterOrEqual(t, k.zxid, last)
			last = k.zxid
			require.Equal(t, p.at(k.zxid, f.root, f.depth), k.all, "%s, %d levels, at %d", f.root, f.depth, k.zxid)
		default:
			for path, v := range k.all { // each is one that was there
				require.Equal(t, p.at(v.mzxid, f.root, f.depth)[path], v, path)
			}
		}
	}
	require.NotEmpty(t, f.kept)
	end := f.kept[len(f.kept)-1]
	require.False(t, end.stale)
	require.NotZero(t, end.zxid)
	require.Equal(t, p.at(1<<62, f.root, f.depth), end.all, "the last state of %s, %d levels", f.root, f.depth)
	return exact
}

// writer makes transactions of one to four writes at and below /a.
type writer struct {
	rng   *rand.Rand
	state map[string]version
	n     int
}

var places = []string{
	"/a", "/a/ü", "/a/a b", "/a/%2f", "/a/b", "/a/b/1", "/a/b/2", "/a/b/1/x", "/a/b/1/y", "/a/ü/x", "/a/ü/x/1",
}

// next are the writes of the next transaction; state is what they leave, but for the zxids.
func (q *writer) next() (ops []session.Op, touched []string) {
	for range 1 + q.rng.IntN(4) {
		path := places[q.rng.IntN(len(places))]
		_, exists := q.state[path]
		_, above := q.state[path[:strings.LastIndexByte(path, '/')]]
		leaf := true
		for p := range q.state {
			leaf = leaf && !strings.HasPrefix(p, path+"/")
		}
		q.n++
		data := "same" // what is made again has what it had
		if q.rng.IntN(2) == 0 {
			data = string([]byte{0, 255, byte(q.n), byte(q.n >> 8)})
		}
		switch {
		case !exists && (above || path == "/a"):
			ops = append(ops, session.CreateOp(path, []byte(data)))
			q.state[path] = version{data: data}
		case exists && leaf && q.rng.IntN(2) == 0:
			ops = append(ops, session.DeleteOp(path, -1))
			delete(q.state, path)
		case exists:
			ops = append(ops, session.SetOp(path, []byte(data), -1))
			q.state[path] = version{czxid: q.state[path].czxid, data: data}
		default:
			continue
		}
		touched = append(touched, path)
	}
	return ops, touched
}

// wrote takes in the transaction.
func (q *writer) wrote(zxid int64, touched []string) {
	for _, path := range touched {
		if v, exists := q.state[path]; exists {
			if v.mzxid = zxid; v.czxid == 0 {
				v.czxid = zxid
			}
			q.state[path] = v
		}
	}
}

// However transactions of several znodes, losses of connections and replies, servers that are
// behind, overload and expiries come together, trees with one root or with roots within each other
// keep what docs/trees.md says, and so does who watches the data and the children of their roots.
func TestTreesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	for name, mode := range modes {
		for seed, version := range []string{"3.9.6", "3.8.0"} {
			t.Run(name+", "+version, func(t *testing.T) {
				inBubble(t, func(w *harness) {
					mode(w)
					w.keepPromises(uint64(seed))
				}, append([]zktest.Option{zktest.WithVersion(version)}, threeTicking...)...)
			})
		}
	}
}

func (w *harness) keepPromises(seed uint64) {
	s, roads := w.onRoads(1)
	home := w.openAt(0)
	rng := rand.New(rand.NewPCG(seed, 1))
	q, p := &writer{rng: rng, state: map[string]version{}}, new(past)
	faults := rand.New(rand.NewPCG(seed, 2)) // under the mutex of interceptors
	calm := false
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		if calm || r.SessionID == 0 || r.SessionID == id(home) || r.Op == zktest.OpConnect || r.Op == zktest.OpPing {
			return zktest.Pass
		}
		switch dice := faults.IntN(1000); {
		case dice < 8:
			roads.lead(w.ofThree()[faults.IntN(3)]) // which may be behind
			return zktest.CutBefore
		case dice < 12:
			return zktest.CutAfter
		case dice < 300 && r.Op == zktest.OpSetWatches && r.Xid > 0, // not of a handshake
			dice < 24 && (r.Op == jute.OpAddWatch || r.Op == zktest.OpGetData || r.Op == zktest.OpGetChildren2):
			return zktest.Fail(zktest.ErrThrottled)
		case dice < 60:
			return zktest.Delay(time.Duration(faults.IntN(40)) * time.Millisecond)
		}
		return zktest.Pass
	})
	w.create(home, "/log", nil) // each transaction writes it too, which tells its zxid
	var all []*follower
	for _, root := range []string{"/a", "/", "/a/b", "/a/b/1"} {
		all = append(all, follow(w.ctx, s, root, 0), follow(w.ctx, s, root, 1+len(all)/2))
	}
	data, children := s.WatchData(w.ctx, "/a/b"), s.WatchChildren(w.ctx, "/a/b")
	for range 3000 {
		before := maps.Clone(q.state)
		if ops, touched := q.next(); len(ops) > 0 {
			results, err := home.Multi(w.ctx, append(ops, session.SetOp("/log", nil, -1))...)
			require.NoError(w, err)
			zxid := results[len(ops)].Stat.Mzxid // there are others: of sessions that begin and end
			q.wrote(zxid, touched)
			p.add(zxid, q.state)
		} else {
			q.state = before
		}
		switch rng.IntN(60) {
		case 0:
			w.srv.Disconnect(id(s))
		case 1:
			if rng.IntN(3) == 0 {
				w.srv.Expire(id(s))
			}
		case 2:
			w.srv.Lag(1+rng.IntN(2), rng.IntN(6)) // the last one leads, and stays behind when its clients come
		case 3:
			roads.lead(w.ofThree()[rng.IntN(3)])
		case 4:
			heal := w.srv.Partition(id(s))
			time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, heal)
		case 5, 6, 7, 8:
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		case 9:
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30:
			w.settle()
		}
		for i, f := range all {
			if rng.IntN(1+i) == 0 { // some receive all, some few
				f.poll(w)
			}
		}
	}
	w.script(func() { calm = true })
	for i := range 3 {
		w.srv.Lag(i, 0)
	}
	w.pass(2 * time.Minute)
	var exact int
	for _, f := range all {
		f.poll(w)
		exact += f.check(w, p)
	}
	w.Log(exact)
	require.Greater(w, exact, 100)
	d, c := <-data, <-children
	var names []string
	for path := range p.at(1<<62, "/a/b", 1) {
		if path != "" {
			names = append(names, path)
		}
	}
	require.Equal(w, q.state["/a/b"].data, string(d.Bytes))
	require.ElementsMatch(w, names, c.Names)
}

// The same on real servers that are killed, with connections that break. What each transaction
// writes elsewhere tells as well whether it was carried out if its answer was lost.
func TestRealTreesKeepTheirPromises(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 3)
	s := w.openOn(servers.Proxied(), session.WithTimeout(15*time.Second))
	home := w.openOn(servers.Servers(), session.WithTimeout(30*time.Second))
	w.create(home, "/log", nil)
	var all []*follower
	for i, root := range []string{"/a", "/a/b", "/"} {
		all = append(all, follow(w.ctx, s, root, 0), follow(w.ctx, s, root, 1+i))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	q, p := &writer{rng: rng, state: map[string]version{}}, new(past)
	stop, killed := make(chan struct{}), make(chan struct{})
	go func() { // ends with the writer
		defer close(killed)
		for i := 0; ; i++ {
			servers.Kill(i % 3)
			if err := servers.Restart(i % 3); err != nil {
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(1500 * time.Millisecond):
			}
		}
	}()
	for n, until := 0, time.Now().Add(8*time.Second); time.Now().Before(until); n++ {
		before := maps.Clone(q.state)
		ops, touched := q.next()
		if len(ops) == 0 {
			q.state = before
			continue
		}
		_, err := home.Multi(w.ctx, append(ops, session.SetOp("/log", []byte(strconv.Itoa(n)), -1))...)
		log, stat, readErr := home.Get(w.ctx, "/log")
		require.NoError(w, readErr)
		if done := string(log) == strconv.Itoa(n); done {
			q.wrote(stat.Mzxid, touched)
			p.add(stat.Mzxid, q.state)
		} else {
			require.Error(w, err)
			q.state = before
		}
		if rng.IntN(40) == 0 {
			servers.Proxies()[rng.IntN(3)].Reset()
		}
		for i, f := range all {
			if rng.IntN(1+i) == 0 {
				f.poll(w)
			}
		}
	}
	close(stop)
	<-killed
	exact := 0
	for _, f := range all {
		want := p.at(1<<62, f.root, f.depth)
		w.eventually("the last state", func() bool {
			f.poll(w)
			last := f.kept[max(0, len(f.kept)-1):]
			return len(last) > 0 && last[0].zxid != 0 && !last[0].stale && maps.Equal(last[0].all, want)
		})
		exact += f.check(w, p)
	}
	w.Log(exact, "trees of", len(p.zxids), "transactions")
	require.Greater(w, exact, 20)
}
